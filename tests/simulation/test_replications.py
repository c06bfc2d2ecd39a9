"""Tests of replications: intervals of the median keep their level, and errors are one line."""

import json
import random
from pathlib import Path

import pytest
from command_line import run_here

from optassign.errors import ArgumentError
from optassign.simulation.timed.replications import estimate_median, find_least_replications, replicate
from optassign.simulation.timed.scenario import read_scenario

SCENARIO = """
name = "tiny"
seed = 5
duration_s = 300
configs = { num_standby_replicas = 1, probing_rebalance_interval_ms = 60000 }
subtopologies = [{ partitions = 4, state = 1000, spread = 1.0 }]
clients = [{ count = 2 }, { name = "new", joins = true }]
events = [{ at = 10, do = "join", clients = ["new1"] }]
"""


def test_any_number_of_values_has_a_median() -> None:
    found = estimate_median([float(number) for number in range(2_000)])
    assert found.low is not None
    assert found.high is not None
    assert found.low < 999.5 < found.high


def test_intervals_contain_the_median_at_their_level() -> None:
    """At least 95% of the intervals of 2,000 samples of 15 skewed values contain the median; the exact level is 96.5%."""
    dice = random.Random(1)
    held = 0
    for _ in range(2_000):
        found = estimate_median([dice.expovariate(1.0) for _ in range(15)])
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.6931 <= found.high
    assert 0.95 <= held / 2_000 <= 0.98


def test_never_compares_as_the_greatest_value() -> None:
    found = estimate_median([1.0, 2.0, 3.0, None, None, None])
    assert (found.low, found.median, found.high) == (1.0, None, None)
    assert estimate_median([4, 1, 2, 3, 6, 5]).median == 3.5


def test_too_few_values_have_no_interval() -> None:
    assert find_least_replications() == 6
    with pytest.raises(ArgumentError, match="values: found 5; allowed: 6 or more"):
        estimate_median([1.0] * 5)


def test_each_run_has_its_seed(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(SCENARIO)
    runs = list(replicate(read_scenario(str(path)), "greedy", 6))
    assert [played.scenario.seed for played in runs] == [5, 6, 7, 8, 9, 10]


def test_the_command_estimates_medians(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(SCENARIO)
    command = ("simulate", str(path), "--assignors", "greedy,sticky", "--replications", "6")
    code, out, _ = run_here(capsys, *command)
    assert code == 0
    assert "seeds 5 to 10" in out
    assert "95% confidence interval over 6 runs, by order statistics" in " ".join(out.split())
    code, out, _ = run_here(capsys, *command, "--json")
    figures = json.loads(out)["assignors"]["greedy"]["moves"]
    assert figures["low"] <= figures["median"] <= figures["high"]
