"""Tests of a table's files: how many a sweep leaves, and that an interrupted rewrite loses and doubles no row."""

import shutil
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from spark_cluster import read_rows

from optassign_benchmarks.spark.presets import PRESETS, Sweep, estimate_seconds, make_batches
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.tables import (
    RESULT,
    RESULTS,
    append_rows,
    finish_rewriting,
    forget_failures,
    merge_small_files,
    spark_schema,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN = "some-run"
ROWS = [("a/one", "ok", 1), ("a/two", "failed", 2), ("b/one", "ok", 3), ("b/two", "timeout", 4), ("c/one", "ok", 5)]


def test_short_rows_share_a_task_and_long_ones_do_not() -> None:
    short = Sweep(name="short", shapes=("cold",), sizes=((20, 4),), seeds=tuple(range(3_000)), assignors=("greedy",))
    rows = short.rows(("greedy",))
    batches = make_batches(rows, 0, cores=2)
    assert list(chain.from_iterable(batches)) == rows
    assert 8 <= len(batches) <= 30
    large = PRESETS["paper"].rows(("cp-sat",))[0]
    assert make_batches([large] * 5, 1_000, cores=1) == [[large]] * 5


@pytest.mark.parametrize("cores", [1, 2, 100])
def test_no_core_is_left_without_work(cores: int) -> None:
    rows = PRESETS["smoke"].rows(("greedy", "sticky"))
    batches = make_batches(rows, 100, cores)
    assert list(chain.from_iterable(batches)) == rows
    assert len(batches) >= min(len(rows), 4 * cores)


def test_rows_that_take_longer_than_expected_get_smaller_batches() -> None:
    rows = PRESETS["smoke"].rows(("cp-sat",)) * 50
    sizes = [max(map(len, make_batches(rows, 100, 1, slowness))) for slowness in (1.0, 4.0, 1000.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    assert estimate_seconds(*rows[0], 100) < 10


@pytest.mark.long
def test_a_finished_sweep_is_one_file(spark: "SparkSession", tmp_path: Path) -> None:
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.solver_process import SolverLimits
    from optassign_benchmarks.spark.sweep import run_sweep

    sweep = Sweep(
        name="many", shapes=("cold", "steady"), sizes=((6, 2),), seeds=tuple(range(30)), assignors=("greedy", "sticky")
    )
    run = Run("sweep", "many", sweep.list_assignors(), SolverLimits(), sweep)
    assert run_sweep(spark, Storage(spark, str(tmp_path)), run) == 120
    assert len(list_parts(tmp_path)) == 1
    keys = [row["key"] for row in read_rows(tmp_path, RESULT)]
    assert keys == sorted(set(keys))
    assert len(keys) == 120


class CutOffError(Exception):
    """The end of the driver."""


class CutOff(Storage):
    """A storage that makes `left` changes and then fails, as if the driver had been killed."""

    left: int

    def _change(self, change: Callable[..., None], *arguments: Any) -> None:
        if not self.left:
            raise CutOffError
        self.left -= 1
        change(*arguments)

    def move(self, *arguments: Any) -> None:
        self._change(super().move, *arguments)

    def delete(self, *arguments: Any) -> None:
        self._change(super().delete, *arguments)

    def write(self, *arguments: Any) -> None:
        self._change(super().write, *arguments)


@pytest.fixture(scope="module")
def parts(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a table in three files; two drivers have solved one of its rows."""
    folder = tmp_path_factory.mktemp("parts")
    storage = Storage(spark, str(folder))
    for rows in (ROWS[:2], ROWS[1:4], ROWS[4:]):
        filled = [{"key": key, "status": status, "restore_work": work} for key, status, work in rows]
        append_rows(storage, spark.createDataFrame(filled, spark_schema(RESULTS)).coalesce(1), RESULT, RUN)
    assert len(list_parts(folder)) == 3
    return folder


def list_parts(folder: Path) -> list[Path]:
    return list(folder.glob("table=results/run=*/*.parquet"))


def read_work(folder: Path) -> list[tuple[str, str, int]]:
    """Return the rows as a reader of the folder sees them, sorted."""
    return sorted((row["key"], row["status"], row["restore_work"]) for row in read_rows(folder, RESULT))


FEWER = {"merge": ROWS, "forget": [row for row in ROWS if row[1] == "ok"]}


@pytest.mark.long
@pytest.mark.parametrize("what", FEWER)
def test_rewriting_can_be_interrupted_anywhere(what: str, parts: Path, spark: "SparkSession", tmp_path: Path) -> None:
    def rewrite(storage: Storage) -> None:
        if what == "merge":
            merge_small_files(spark, storage, RUN)
        else:
            assert forget_failures(spark, storage, RESULT, RUN) == 2  # one of them is there twice

    after = []
    for changes in range(30):
        folder = tmp_path / str(changes)
        shutil.copytree(parts, folder)
        storage = CutOff(spark, str(folder))
        storage.left = changes
        try:
            rewrite(storage)
        except CutOffError:
            finish_rewriting(Storage(spark, str(folder)), RUN)
        else:
            break
        after.append(read_work(folder))
        merge_small_files(spark, Storage(spark, str(folder)), RUN)
        assert len(list_parts(folder)) == 1
        assert read_work(folder) in (ROWS, FEWER[what])
        assert not list(folder.glob("table=results/run=*/_*"))
    assert read_work(folder) == FEWER[what]
    assert len(list_parts(folder)) == 1
    # Before the journal is written no row has changed, afterwards all have.
    untouched = sorted([*ROWS, ROWS[1]])
    counts = Counter("before" if rows == untouched else "after" if rows == FEWER[what] else "broken" for rows in after)
    assert counts["broken"] == 0, after
    assert counts["before"] >= 1
    assert counts["after"] >= 5


@pytest.mark.long
def test_a_reader_deletes_nothing_of_a_rewriting_driver(parts: Path, spark: "SparkSession", tmp_path: Path) -> None:
    shutil.copytree(parts, tmp_path, dirs_exist_ok=True)
    driver = CutOff(spark, str(tmp_path))
    driver.left = 1  # deletes an older draft and writes the new one, but not its journal
    with pytest.raises(CutOffError):
        merge_small_files(spark, driver, RUN)
    drafts = list(tmp_path.glob("table=results/run=*/_rewritten/*.parquet"))
    assert len(drafts) == 1
    finish_rewriting(Storage(spark, str(tmp_path)), RUN)
    assert list(tmp_path.glob("table=results/run=*/_rewritten/*.parquet")) == drafts
    assert len(list_parts(tmp_path)) == 3
