"""Tests of replications on Spark: a cluster gives the figures of one process, and an assignor's failure is one line."""

import json
from typing import TYPE_CHECKING

import pytest
from command_line import run_here
from spark_cluster import start_optassign, wait_for_end

from optassign.assignor import AssignorError
from optassign.simulation.timed.replications import replicate
from optassign.simulation.timed.scenario import find_scenario
from optassign.simulation.timed.simulator import summarise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_gives_the_figures_of_one_process(spark: "SparkSession") -> None:
    from optassign_benchmarks.spark.replications import replicate_on_spark

    scenario = find_scenario("third-instance").model_copy(update={"seed": 7})
    found = replicate_on_spark(spark, scenario, ["greedy", "sticky"], 3)
    for name in ("greedy", "sticky"):
        assert found[name] == [summarise(played) for played in replicate(scenario, name, 3)]


def test_an_assignor_that_fails_is_named_with_its_seed(spark: "SparkSession") -> None:
    from optassign_benchmarks.spark.replications import replicate_on_spark

    broken = [("broken", "no_such_module:Broken")]
    with pytest.raises(AssignorError, match="'broken' failed under seed 0"):
        replicate_on_spark(spark, find_scenario("crash"), ["broken"], 1, broken)


@pytest.mark.long
def test_the_command_runs_on_workers(java: None) -> None:
    command = ("simulate", "third-instance", "--assignors", "greedy", "--replications", "6", "--json")
    alone, _ = wait_for_end(start_optassign(*command), code=0)
    spread, _ = wait_for_end(start_optassign(*command, "--master", "local-cluster[2,1,1024]"), code=0)
    assert json.loads(spread) == json.loads(alone)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("crash", "--master", "local[2]"), "found without --replications; allowed: with it"),
        (("crash", "--replications", "6", "--conf", "spark.x=1"), "--conf or --py-files: found without --master"),
    ],
)
def test_options_of_spark_without_it_are_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str) -> None:
    code, _, err = run_here(capsys, "simulate", *words)
    assert code == 2
    assert told in err
