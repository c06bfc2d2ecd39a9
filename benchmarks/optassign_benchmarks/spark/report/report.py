"""The report on a run: its queries asked of the Parquet files, and their answers as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optassign_benchmarks.spark.presets import HistorySweep
from optassign_benchmarks.spark.report.history_queries import HISTORIES
from optassign_benchmarks.spark.report.plots import PICTURES
from optassign_benchmarks.spark.report.query import Query, list_tables, name_tables, select_run, to_pasteable
from optassign_benchmarks.spark.report.replay_queries import REPLAY
from optassign_benchmarks.spark.report.sweep_queries import SWEEP
from optassign_benchmarks.spark.runs import Run
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.tables.parquet import CONVERGED, FAILED, HISTORY, REPLAYED, RESULT, list_parts, read_rows
from optassign_benchmarks.spark.tables.rewriting import finish_rewriting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Report", "Section", "make_report"]

_ARRANGED = (
    "Groups that exist start from an arrangement by the generator, balanced as optassign measures it: who has another idea of"
    " balance rearranges them first."
)


@dataclass(frozen=True, slots=True)
class Section:
    """One table, the query that it comes from, and its picture."""

    query: Query
    sql: str
    """The query as it can be pasted anywhere."""
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    svg: str


@dataclass(frozen=True, slots=True)
class Report:
    """The report on a run."""

    run: Run
    sections: tuple[Section, ...]
    selected: dict[str, str]
    """Table -> SQL of the rows that the run has in it; only tables that have any."""

    @property
    def title(self) -> str:
        """The heading of the whole."""
        return f"Benchmark {self.run.name}" if self.run.kind == "sweep" else f"Replay of recorded rebalances: {self.run.name}"

    def list_headlines(self) -> list[str]:
        """The winners, and whether anything failed; sentences with the marks of Markdown."""
        found = [
            section.query.headline([dict(zip(section.head, row, strict=True)) for row in section.rows])
            for section in self.sections
            if section.query.headline is not None and section.rows
        ]
        return found or ["There are no rows yet."]

    def list_facts(self) -> list[str]:
        """The scope of the numbers: versions, limits, and requests."""
        run, limits = self.run, self.run.limits
        memory = f"{limits.memory_limit:,} MiB" if limits.memory_limit else "no limit of memory"
        about = (
            f"Run `{run.id}`: optassign {run.optassign}, {run.solver}. An answer has {limits.time_limit:g} s of solving, is"
            f" given up after {limits.answer_limit:g} s (a convergence after {limits.convergence_limit:g} s), and has {memory}."
        )
        if isinstance(run.sweep, HistorySweep):
            sweep = run.sweep
            last = sweep.seed + sweep.count - 1
            return [
                about,
                f"Histories of the suite `{sweep.histories}`, seeds {sweep.seed:,} to {last:,} (docs/reference/simulator.md).",
            ]
        if run.sweep is None:
            return [about, f"Recordings of `{run.recordings}`, at {run.scale} × their size."]
        played = (
            f"Snapshots of up to {run.sweep.converge_up_to:,} tasks are played on until the group rests (`converge_up_to`)."
        )
        return [about, played, _ARRANGED]

    def views_sql(self) -> str:
        """Statements that make a view of each table's rows."""
        return "\n".join(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {sql};" for name, sql in self.selected.items())


def make_report(spark: SparkSession, storage: Storage, run: Run) -> Report:
    """Run all queries on the tables of the run, reading each once. If matplotlib is missing, the report has no pictures."""
    finish_rewriting(storage, run.id)
    names = (RESULT, HISTORY) if run.kind == "sweep" else (REPLAYED, CONVERGED, FAILED)
    present = [name for name in names if list_parts(storage, name, run.id)]
    tables = {name: read_rows(spark, storage, name, run.id).cache() for name in present}
    for name, table in tables.items():
        table.createOrReplaceTempView(name)  # Spark finds what is cached behind a view, not behind an argument of a query
    selected = {name: select_run(storage.folder, name, run.id) for name in present}
    sections = []
    for query in _list_queries(run):
        if not set(list_tables(query.sql)) <= set(present):
            continue
        answer = spark.sql(name_tables(query.sql))
        head, rows = tuple(answer.columns), tuple(tuple(row) for row in answer.collect())
        if rows or not query.optional:
            sections.append(Section(query, to_pasteable(query.sql, selected), head, rows, _draw_picture(query, head, rows)))
    for name, table in tables.items():
        table.unpersist()
        spark.catalog.dropTempView(name)
    return Report(run, tuple(sections), selected)


def _list_queries(run: Run) -> Sequence[Query]:
    if isinstance(run.sweep, HistorySweep):
        return HISTORIES
    return SWEEP if run.kind == "sweep" else REPLAY


def _draw_picture(query: Query, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not query.picture or not rows:
        return ""
    try:
        return PICTURES[query.picture]([dict(zip(head, row, strict=True)) for row in rows])
    except ImportError:
        return ""
