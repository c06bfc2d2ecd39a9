"""Replications of a simulation on Spark; each run is a task.

A task that is lost with its executor runs again under the same seed and gives the same figures, so that no run is missing or
counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optassign.assignor import AssignorError, describe_failure, register
from optassign.simulation.timed.scenario import Scenario, under_consecutive_seeds
from optassign.simulation.timed.simulator import simulate, summarise
from optassign_benchmarks.spark.runs import ProgressListener, report_progress
from optassign_benchmarks.spark.solver_process import count_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["replicate_on_spark"]

Figures = Mapping[str, float | int | None]


def replicate_on_spark(
    spark: SparkSession,
    scenario: Scenario,
    assignors: Sequence[str],
    number: int,
    registered: Sequence[tuple[str, str]] = (),
    listener: ProgressListener | None = None,
) -> dict[str, list[Figures]]:
    """Play the scenario under each assignor and `number` consecutive seeds, from the scenario's seed on.

    Args:
        registered: name and "module:class" of assignors that the executors must register.
        listener: called with the number of finished runs.

    Returns:
        Assignor → the figures of each run, in the order of the seeds.

    Raises:
        AssignorError: if an assignor fails under some seed.
    """
    seeds = [seeded.seed for seeded in under_consecutive_seeds(scenario, number)]
    runs = [(name, seed) for seed in seeds for name in assignors]
    known = tuple(registered)
    finished = spark.sparkContext.accumulator(0)

    def play(run: tuple[str, int]) -> tuple[str, int, Figures | None, str]:
        found = _play(scenario, run, known)
        count_rows(finished)
        return found

    with report_progress(lambda: finished.value, len(runs), "runs", listener):
        played = spark.sparkContext.parallelize(runs, len(runs)).map(play).collect()
    for name, seed, figures, reason in played:
        if figures is None:
            raise AssignorError(f"assignor {name!r} failed under seed {seed}: {reason}")
    return {name: [figures for of, _, figures, _ in played if of == name and figures is not None] for name in assignors}


def _play(
    scenario: Scenario, run: tuple[str, int], registered: Sequence[tuple[str, str]]
) -> tuple[str, int, Figures | None, str]:
    """Play a run on an executor, and return its assignor, its seed, and its figures, or None and the reason of the failure."""
    name, seed = run
    for known, target in registered:
        register(known, target, replace=True)
    changed: dict[str, Any] = {"seed": seed}
    try:
        return name, seed, summarise(simulate(scenario.model_copy(update=changed), name)), ""
    except Exception as error:  # an assignor may raise anything
        return name, seed, None, describe_failure(error)
