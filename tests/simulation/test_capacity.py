"""Tests of capacity plans: the least capacity that keeps a target, the search without monotonicity, and errors of one line.
They test `optassign.cli.commands.plan_capacity` and `optassign.simulation.timed.capacity`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from command_line import run_here
from rich.console import Console

import optassign
from optassign.cli.show.capacity_tables import render_plan
from optassign.errors import ArgumentError
from optassign.simulation.timed.least import find_least
from optassign.simulation.timed.scaling import Capacity, count_least_instances, read_capacity, scale
from optassign.simulation.timed.scenario import Scenario, find_scenario

STATELESS = [{"partitions": 24, "kind": "stateless", "input_per_s": 10}]
"""The 24 tasks receive 240 records per second in total."""


def make_scenario(**more: Any) -> Scenario:
    given = {
        "name": "sized",
        "duration_s": 300,
        "configs": {"num_standby_replicas": 0, "probing_rebalance_interval_ms": 60_000},
        "subtopologies": STATELESS,
        "clients": [{"count": 3, "process_per_s": 100}],
    }
    return Scenario.model_validate({**given, **more})


def test_load_needs_as_many_instances_as_arithmetic_says() -> None:
    """Three instances run eight of 24 tasks each, 80% of 100 records per second; four run six, 60%."""
    plan = optassign.plan_capacity(make_scenario(), optassign.CapacityTarget(load=0.7))
    assert plan.chosen is not None
    assert (plan.chosen.capacity.instances, plan.chosen.load) == (4, 0.6)
    assert {label: (option.load, option.broken) for label, option in plan.prices.items() if "instance" in label} == {
        "1 instance fewer": (0.8, ("load",)),
        "1 instance more": (0.5, ()),
    }
    html = plan._repr_html_()
    assert "4 instances" in html


def test_a_plan_that_depends_on_chance_says_so() -> None:
    """A larger capacity that breaks the target, or a single seed, leaves the plan in doubt."""
    plan = optassign.plan_capacity(make_scenario(), optassign.CapacityTarget(load=0.7))

    def print_plan(shown: optassign.CapacityPlan) -> str:
        console = Console(width=80, record=True, file=StringIO())
        console.print(*render_plan(shown, 80))
        return " ".join(console.export_text().split())

    assert "played with one seed: --replications 6 plays six" in print_plan(plan)
    more = replace(plan.prices["1 instance more"], load=0.72, broken=("load",))
    doubtful = replace(plan, prices={**plan.prices, "1 instance more": more})
    assert "One instance more breaks load, so the plan depends on chance" in print_plan(doubtful)
    assert "seed" not in print_plan(replace(plan, replications=6))


def test_fewer_warmups_are_tried_where_the_most_break_the_target() -> None:
    """Warm-ups share the disks of six instances: four at once take twice as long as one after the other."""
    scenario = make_scenario(
        duration_s=3_000,
        configs={"num_standby_replicas": 1},
        subtopologies=[{"partitions": 12, "state": 3_000_000, "input_per_s": 800, "writes": 0}],
        clients=[{"count": 6, "threads": 2, "process_per_s": 8_000, "restore_per_s": 20_000}],
        events=[{"at": 600, "do": "crash", "clients": ["c1"], "down_s": 600, "keeps_disk": False}],
    )
    target = optassign.CapacityTarget(balance_s=420)
    ranges = optassign.CapacityRanges(instances=(6, 6), warmups=(1, 4))
    plan = optassign.plan_capacity(scenario, target, ranges=ranges)
    assert plan.chosen is not None
    assert plan.chosen.capacity.warmups < 4
    four = optassign.CapacityRanges(instances=(6, 6), warmups=(4, 4))
    assert optassign.plan_capacity(scenario, target, ranges=four).chosen is None


def test_a_snapshot_is_no_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "snapshot.json").write_text('{"format": 1}\n', encoding="utf-8")
    code, _, err = run_here(capsys, "plan-capacity", str(tmp_path / "snapshot.json"), "--balance", "1min")
    assert code == 2
    assert "allowed: a scenario in TOML" in err


def test_an_application_without_instances_is_out_of_balance() -> None:
    """The only instance crashes for 100 s."""
    crash = [{"at": 60, "do": "crash", "clients": ["c1"], "down_s": 100}]
    scenario = make_scenario(clients=[{"count": 1, "process_per_s": 1_000}], events=crash)
    ranges = optassign.CapacityRanges(instances=(1, 1))
    plan = optassign.plan_capacity(scenario, optassign.CapacityTarget(balance_s=10), ranges=ranges)
    assert plan.chosen is None
    balance = plan.prices["the most of each"].balance_s
    assert balance is not None
    assert balance >= 100


def test_lasting_imbalance_has_no_end() -> None:
    plan = optassign.plan_capacity(make_scenario(), optassign.CapacityTarget(load=0.7))
    assert plan.chosen is not None
    console = Console(width=80, file=StringIO(), record=True)
    console.print(*render_plan(replace(plan, prices={"as planned": replace(plan.chosen, balance_s=None)}), 80))
    assert re.search(r"as planned +no end +60\.0%", console.export_text())


def test_the_loss_of_a_zone_needs_a_standby() -> None:
    scenario = make_scenario(
        configs={"num_standby_replicas": 0, "rack_aware_assignment_tags": ["zone"]},
        subtopologies=[{"partitions": 8, "state": 1_000}],
        clients=[{"name": zone, "count": 2, "tags": {"zone": zone}} for zone in ("a", "b", "d")],
    )
    target = optassign.CapacityTarget(zone_loss=True)
    ranges = optassign.CapacityRanges(instances=(3, 6), standbys=(0, 2))
    plan = optassign.plan_capacity(scenario, target, ranges=ranges)
    assert plan.chosen is not None
    assert plan.chosen.capacity == Capacity(3, 1, 2)
    assert plan.prices["1 standby fewer"].broken == ("zone loss",)
    assert plan.prices["1 standby fewer"].uncopied_task_s > 0
    none = optassign.plan_capacity(scenario, target, ranges=optassign.CapacityRanges(instances=(3, 4)))
    assert none.chosen is None
    assert list(none.prices) == ["the most of each"]


@pytest.mark.parametrize(
    ("target", "given", "found"),
    [
        (
            optassign.CapacityTarget(zone_loss=True),
            {"clients": [{"name": zone, "count": 2, "tags": {"zone": zone}} for zone in ("a", "b")]},
            "no 'zone' in configs.rack_aware_assignment_tags",
        ),
        (optassign.CapacityTarget(load=0.7), {"subtopologies": [{"partitions": 8}]}, "no subtopology with input_per_s"),
    ],
)
def test_a_limit_that_the_scenario_says_nothing_of_is_refused(
    target: optassign.CapacityTarget, given: dict[str, Any], found: str
) -> None:
    """Without tags any number of instances breaks the first limit; without input one instance keeps the second."""
    with pytest.raises(ArgumentError, match=re.escape(found)):
        optassign.plan_capacity(make_scenario(**given), target)


def test_bisection_tries_few_numbers_and_reports_it() -> None:
    asked: list[int] = []

    def keeps(number: int) -> bool:
        asked.append(number)
        return number >= 37

    least, search = find_least("instances", range(2, 101), keeps)
    assert least == 37
    assert search.by_bisection
    assert len(asked) == len(set(asked)) < 12
    assert {36, 37, 38} <= set(search.tried)


@pytest.mark.parametrize("number", [2, 3, 4])
def test_without_monotonicity_each_smaller_number_is_tried(number: int) -> None:
    """Only multiples of `number` keep the target, so a larger number may break it."""
    least, search = find_least("instances", range(1, 41), lambda tried: tried % number == 0)
    assert least == number
    assert not search.by_bisection
    assert set(range(1, number + 1)) <= set(search.tried)


def test_all_numbers_are_tried_if_none_keeps_the_target() -> None:
    least, search = find_least("instances", range(1, 31), lambda tried: False)
    assert least is None
    assert search.tried == tuple(range(1, 31))


def test_instances_come_and_go_by_kind_and_events_keep_theirs() -> None:
    rolling = find_scenario("rolling-restart")
    own = read_capacity(rolling)
    assert scale(rolling, own) == rolling
    more = scale(rolling, Capacity(own.instances + 2, 1, 2))
    assert len(more.events[0].clients) == len(rolling.events[0].clients) + 2  # all of the kind restart, then the same as before
    crash = find_scenario("crash")
    assert count_least_instances(crash) == 1
    assert [name for name, _ in scale(crash, Capacity(2, 1, 2)).list_clients()] == ["c1", "c3"]
    zones = scale(find_scenario("zone-lost"), Capacity(11, 1, 4))
    assert sorted(kind.tags["zone"] for _, kind in zones.list_clients()) == ["a"] * 4 + ["b"] * 4 + ["c"] * 3


@pytest.mark.parametrize(
    ("target", "ranges", "told"),
    [
        ({}, {}, "target: found no limit"),
        ({"load": -1.0}, {}, "target.load: found -1"),
        ({"load": 70}, {}, "target.load: found 70; allowed: a share, 0 to 1"),
        ({"zone_loss": True}, {}, "target.zone_loss: found 0 zones"),
        ({"load": 0.5}, {"instances": (0, 3)}, "ranges.instances: found 0 to 3; allowed: 1 to 100,000"),
        ({"load": 0.5}, {"warmups": (3, 2)}, "ranges.warmups: found 3 to 2"),
    ],
)
def test_impossible_targets_are_refused(target: dict[str, Any], ranges: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        optassign.plan_capacity(make_scenario(), optassign.CapacityTarget(**target), ranges=optassign.CapacityRanges(**ranges))


def test_a_limit_of_another_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"target\.load: found str; allowed: a number"):
        optassign.plan_capacity(make_scenario(), optassign.CapacityTarget(load="70%"))  # type: ignore[arg-type]


def test_kinds_whose_names_end_in_digits_keep_ids_apart() -> None:
    zones = make_scenario(clients=[{"name": f"z{zone}", "count": 1, "tags": {"zone": str(zone)}} for zone in range(3)])
    ids = [name for name, _ in scale(zones, Capacity(9, 0, 2)).list_clients()]
    assert len(ids) == len(set(ids)) == 9


def test_a_short_range_is_tried_from_its_least_number() -> None:
    """Below 17 only 10 keeps the target, and bisection would miss it."""
    least, search = find_least("instances", range(1, 31), lambda tried: tried == 10 or tried >= 17)
    assert (least, search.by_bisection) == (10, False)


def test_an_event_after_the_end_is_refused() -> None:
    with pytest.raises(ValueError, match=r"events.*allowed: a time before the end, 5 min"):
        make_scenario(events=[{"at": "2h", "do": "crash", "clients": ["c1"]}])


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "sized.toml"
    path.write_text(
        'name = "sized"\nduration_s = "5min"\n'
        'subtopologies = [{ partitions = 24, kind = "stateless", input_per_s = 10 }]\n'
        "clients = [{ count = 3, process_per_s = 100 }]\n"
        'events = [{ at = "1min", do = "crash", clients = ["c2"], down_s = "2min" }]\n'
    )
    return path


def test_the_command_writes_a_table_and_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scenario: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command = ("plan-capacity", str(scenario), "--load", "70%", "--balance", "2min")
    code, out, err = run_here(capsys, *command)
    assert code == 0, err
    assert "5 instances" in out.splitlines()[0]  # while one of them is gone, four run all tasks
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run_here(capsys, *command, "--json")
    found = json.loads(out)
    assert found["chosen"]["capacity"]["instances"] == 5
    assert found["prices"]["1 instance fewer"]["broken"]


def test_no_plan_is_exit_code_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scenario: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run_here(capsys, "plan-capacity", str(scenario), "--load", "1%", "--instances", "2-3")
    assert code == 1
    assert "no capacity of the ranges keeps the target" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "target: found no limit; allowed: --balance, --load, --disk, --downtime, --zone-loss"),
        (("--load", "much"), "found 'much'; allowed: a share up to 1, such as 70% or 0.7"),
        (("--load", "70"), "found '70'; allowed: a share up to 1, such as 70% or 0.7"),
        (("--balance", "soon"), "found 'soon'; allowed: seconds, or a duration such as 90s, 15min or 2h"),
        (("--load", "1", "--instances", "many"), "found 'many'; allowed: a number, or a range such as 2-40"),
        (("--load", "1", "--instances", "5-2"), "--instances: found 5 to 2; allowed: 1 to 100,000, the least first"),
        (("--load", "1", "--assignor", "best"), "--assignor: found 'best'"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], scenario: Path, words: tuple[str, ...], told: str) -> None:
    code, out, err = run_here(capsys, "plan-capacity", str(scenario), *words)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
