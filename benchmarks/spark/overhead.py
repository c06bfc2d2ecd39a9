"""What Spark costs for each solve, against a plain loop, and how much faster two cores are than one."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from optassign.assignor import assign
from optassign.benchmarks.spark.measuring import measure_columns
from optassign.benchmarks.spark.presets import Row, Sweep
from optassign.benchmarks.spark.runs import Run
from optassign.benchmarks.spark.session import session
from optassign.benchmarks.spark.storage import Storage
from optassign.benchmarks.spark.sweep import run_sweep
from optassign.benchmarks.tables import markdown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run"]

_SMALL = Sweep(
    name="small", shapes=("scale-out", "scale-in"), sizes=((100, 10),), seeds=tuple(range(100)), assignors=("greedy",)
)
_LARGE = Sweep(name="large", shapes=("scale-out",), sizes=((1_000, 100),), seeds=tuple(range(60)), assignors=("cp-sat",))
_WARM = Sweep(name="warm", shapes=("cold",), sizes=((20, 4),), seeds=tuple(range(8)), assignors=("cp-sat", "greedy"))


def run() -> tuple[str, list[str]]:
    """The table; nothing in it can be wrong."""
    rows: list[tuple[object, ...]] = []
    for what, sweep in (("100 × 10, greedy", _SMALL), ("1,000 × 100, cp-sat", _LARGE)):
        todo = sweep.rows(sweep.chosen())
        loop = _loop(todo)
        one, two = _spark(sweep, 1), _spark(sweep, 2)
        number = len(todo)
        rows.append((what, number, loop, one, two, 1000 * loop / number, 1000 * (one - loop) / number, one / two))
    head = (
        "instances, assignor",
        "rows",
        "plain loop s",
        "local[1] s",
        "local[2] s",
        "plain loop ms a row",
        "Spark's overhead ms a row",
        "speed-up, local[1] to local[2]",
    )
    return markdown(head, rows), []


def _loop(todo: list[Row]) -> float:
    """Seconds to generate, solve and measure, one after another in this process."""
    assign(_WARM.specs()[0].generate(), todo[0][1])
    start = time.perf_counter()
    for spec, assignor in todo:
        state = spec.generate()
        measure_columns(state, assign(state, assignor))
    return time.perf_counter() - start


def _spark(sweep: Sweep, cores: int) -> float:
    """Seconds of the same as a Spark job, from asking for it to the last file in its place; its workers run already."""
    with tempfile.TemporaryDirectory() as folder, session(f"local[{cores}]") as spark:
        _timed(spark, folder, _WARM)
        return _timed(spark, folder, sweep)


def _timed(spark: SparkSession, folder: str, sweep: Sweep) -> float:
    asked = Run("sweep", sweep.name, sweep.chosen(), sweep.limits.limits(), sweep)
    start = time.perf_counter()
    run_sweep(spark, Storage(spark, str(Path(folder))), asked)
    return time.perf_counter() - start
