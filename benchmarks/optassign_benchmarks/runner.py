"""The runner of all studies: cases × assignors × measures, as rows. Studies run it in a few processes; Spark maps `measure`
over a grid.

A study is a record: a `Study` of snapshots, or a `PlayedStudy`, whose cases play several assignors together.

A *part* is the work on a case: an answer, a convergence, a whole history, or a function of a study. Each part returns columns
by name. The columns of a record are its described measures (`optassign.measuring.described`), so that a new measure is in every
row at once.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Annotated, Any, TypedDict

from optassign.assignor import TaskAssignor, assign
from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.generating.dealing import NotBalancedError
from optassign.judging.metrics import measure as measure_answer
from optassign.measuring.described import About, list_measures
from optassign.measuring.facts import Facts
from optassign.measuring.outlook import asks_to_go_on
from optassign.simulation.convergence import converge
from optassign.simulation.history import draw_history
from optassign.simulation.history_playing import play_history
from optassign_benchmarks.grid import HistorySpec, Spec
from optassign_benchmarks.jvm_planner import create_also_planner
from optassign_benchmarks.results import Table, format_cell, make_table
from optassign_models.policy.constants import TIME_LIMIT

__all__ = [
    "CONVERGED",
    "AnswerGoal",
    "Answered",
    "Layout",
    "PlayedRow",
    "PlayedStudy",
    "Study",
    "StudyCase",
    "StudyRow",
    "by_case",
    "count",
    "count_violations",
    "describe_answer",
    "describe_rebalances",
    "first",
    "format_ratio",
    "measure",
    "median",
    "of",
    "ratio",
    "run",
    "to_columns",
    "total",
]


CONVERGED = "converged_"
"""Prefix of the names of a convergence's measures."""
Begin = Callable[[str], None]
"""Called at the beginning of a step: answering, measuring, converging or playing."""


class AnswerGoal(TypedDict):
    """A goal of a report."""

    stage: str
    name: str
    value: float
    bound: float | None
    gap: float | None
    proven: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """The contents of an answer in addition to its measures."""

    planned_work: Annotated[
        int | None,
        About("offsets", "goal (b): to replay for copies not caught up of answer and plan; null: a follow-up, but no plan"),
    ]
    followup: Annotated[bool, About("", "a follow-up rebalance is asked for, not only at rest")]
    waiting: Annotated[int, About("copies", "planned copies that the follow-up waits for")]
    restore_bound: Annotated[int | None, About("offsets", "least possible `planned_work`, proven with this answer; null: none")]
    goals: Annotated[list[AnswerGoal], About("", "the report's goals: value, bound, gap (null: none known), whether proven")]
    found_by: Annotated[str, About("", "which stage found the answer; empty: not said")]
    termination: Annotated[str, About("", "why solving ended")]
    limit_reached: Annotated[str, About("", "which limit ended it; `none`: none")]
    seconds: Annotated[float | None, About("s", "of the call that answered")]


def to_columns(record: Any, prefix: str = "") -> dict[str, Any]:
    """Return name → value of each measure of a record; a measure with a value for each share becomes columns NAME_SHARE."""
    columns: dict[str, Any] = {}
    for each in list_measures(type(record)):
        value = getattr(record, each.name)
        if "{}" in each.meaning:
            columns |= {f"{prefix}{each.name}_{share}": number for share, number in value.items()}
        else:
            columns[prefix + each.name] = dict(value) if isinstance(value, Mapping) else value
    return columns


def describe_answer(state: ApplicationState, answer: TaskAssignment, seconds: float | None = None) -> dict[str, Any]:
    """Return the columns of one answer: all measures, and the contents of its report."""
    followup = asks_to_go_on(state, answer)
    # If an answer asks for a follow-up and has no plan, the follow-up's result is unknown.
    known = answer.plan is not None or not followup
    answered = Answered(
        planned_work=sum(Facts(state, answer).cold.values()) if known else None,
        followup=followup,
        waiting=len(answer.report.waiting),
        restore_bound=restore_work_bound(answer),
        goals=[
            AnswerGoal(stage=goal.stage, name=goal.name, value=goal.value, bound=goal.bound, gap=goal.gap, proven=goal.proven)
            for goal in answer.report.goals
        ],
        found_by=answer.report.found_by,
        termination=answer.report.termination.reason,
        limit_reached=answer.report.termination.limit,
        seconds=seconds,
    )
    return {**to_columns(measure_answer(state, answer)), **to_columns(answered)}


def _answer(state: ApplicationState, assignor: TaskAssignor, begin: Begin) -> dict[str, Any]:
    """Return the measures and seconds of one answer; `begin` is called with the name of each phase."""
    begin("answering")
    start = time.perf_counter()
    answer = assign(state, assignor)
    seconds = answer.seconds_elsewhere or time.perf_counter() - start
    begin("measuring")
    return describe_answer(state, answer, seconds)


def _converge(state: ApplicationState, assignor: TaskAssignor, begin: Begin, **how: Any) -> dict[str, Any]:
    begin("converging")
    return to_columns(converge(state, assignor, **how), CONVERGED)


def _play_history(spec: HistorySpec, assignor: TaskAssignor, begin: Begin) -> dict[str, Any]:
    history = draw_history(spec.suite, spec.seed)
    begin("playing")
    start = time.perf_counter()
    grades = play_history(history, assignor)
    return {"history": str(history), **to_columns(grades), "seconds": time.perf_counter() - start}


PARTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "answer": _answer,
    "convergence": _converge,
    "history": _play_history,
}
Part = str | Callable[[Any, str], Mapping[str, Any]]
"""A name in `PARTS`, or a function of a study on the source and the assignor's name."""


def measure(
    source: Any,
    name: str,
    parts: Sequence[Part],
    *,
    time_limit: float = TIME_LIMIT,
    begin: Begin = lambda what: None,
    how: Mapping[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the columns of one case under one assignor, part by part.

    source: the snapshot or other object from the case. how: further arguments of `converge`.
    """
    assignor: TaskAssignor | None = None
    for part in parts:
        if callable(part):
            yield dict(part(source, name))
            continue
        if assignor is None:
            assignor = create_also_planner(name, time_limit)  # loads the solver, which is not part of its time
        yield PARTS[part](source, assignor, begin, **((how or {}) if part == "convergence" else {}))


@dataclass(frozen=True)
class StudyCase:
    """A case that assignors answer, usually a snapshot, and the arguments of its convergence."""

    make: Spec | Callable[[], Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Columns of each of its rows."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `converge`."""
    assignors: tuple[str, ...] | None = None
    """None: the study's assignors."""

    def __str__(self) -> str:
        """Return the facts, and the name of a generated snapshot."""
        named = [self.make.name] if isinstance(self.make, Spec) else []
        return ", ".join([*named, *(f"{name} {value}" for name, value in {**self.facts, **self.how}.items())])


class StudyRow(dict[str, Any]):
    """The columns of one case under one assignor: its facts, `case`, `assignor`, and all measures; also as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        """Return assignor and case."""
        return f"{self['assignor']}, {self['case']}"


def run(cases: Iterable[StudyCase], assignors: Sequence[str], parts: Sequence[Part], *, jobs: int = 1) -> Iterator[StudyRow]:
    """Yield the rows of all cases × assignors, in that order. A case whose group cannot be generated has no rows.

    `minimum` in each row: the fewest offsets that any convergence of the case restores, as proven by cp-sat; None without it.
    """
    play = partial(_play, assignors=tuple(assignors), parts=tuple(parts))
    if jobs == 1:
        for case in cases:
            yield from play(case)
        return
    # Spawned, since a forked child would share its parent's JVM.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for rows in pool.map(play, cases):
            yield from rows


def _play(case: StudyCase, assignors: tuple[str, ...], parts: tuple[Part, ...]) -> list[StudyRow]:
    try:
        source = case.make.generate() if isinstance(case.make, Spec) else case.make()
    except NotBalancedError:
        return []
    rows = []
    for name in case.assignors or assignors:
        row = StudyRow({**case.facts, "case": str(case), "assignor": name})
        for columns in measure(source, name, parts, how=case.how):
            row.update(columns)
        rows.append(row)
    minimum = next((row.get(f"{CONVERGED}lower_bound") for row in rows if row["assignor"] == "cp-sat"), None)
    return [StudyRow({**row, "minimum": minimum}) for row in rows]


@dataclass(frozen=True)
class Layout:
    """A table of rows; rows that agree in `by` share a line."""

    by: Mapping[str, str]
    """Label → name of a fact."""
    columns: Mapping[str, Callable[[list[StudyRow]], object]] = field(default_factory=dict)
    """Label → function that returns the cell from the rows of a line."""
    caption: str | Callable[[list[StudyRow]], str] = ""
    keep: Callable[[StudyRow], bool] = lambda row: True
    """Whether a row is in the table."""

    def fill(self, rows: Iterable[StudyRow]) -> Table:
        """Return the table of the rows."""
        lines: dict[tuple[object, ...], list[StudyRow]] = {}
        kept = [row for row in rows if self.keep(row)]
        for row in kept:
            lines.setdefault(tuple(row[name] for name in self.by.values()), []).append(row)
        cells = [(*key, *(cell(line) for cell in self.columns.values())) for key, line in lines.items()]
        caption = self.caption if isinstance(self.caption, str) else self.caption(kept)
        return make_table((*self.by, *self.columns), cells, caption)


@dataclass(frozen=True)
class Study:
    """A study as a record: its cases, assignors, parts and tables."""

    cases: Callable[[bool], Iterable[StudyCase]]
    """Returns the cases; the argument is whether the run is quick."""
    assignors: tuple[str, ...]
    parts: tuple[Part, ...]
    layouts: tuple[Layout, ...]
    finish: Callable[[list[StudyRow]], list[StudyRow]] = lambda rows: rows
    """Adds columns that compare rows with each other."""
    demands: Callable[[list[StudyRow]], Iterable[str]] = lambda rows: ()
    """Returns a line for each result that misses the study's demands."""
    jobs: int = 2
    """Number of processes; 1 if seconds are measured."""

    def run(self, *, quick: bool = False) -> tuple[list[Table], list[str]]:
        """Play all cases, and return the tables and the missed demands."""
        rows = self.finish(list(run(self.cases(quick), self.assignors, self.parts, jobs=self.jobs)))
        return [layout.fill(rows) for layout in self.layouts], list(self.demands(rows))


@dataclass(frozen=True)
class PlayedStudy:
    """A study as a record whose cases give the rows of one table: processes on a broker, or assignors that take turns."""

    cases: Callable[[bool], Iterable[Any]]
    """Returns the cases; the argument is whether the run is quick."""
    play: Callable[[Any, Any], Iterable[PlayedRow]]
    """Yields the rows of a case, played on the object from `open`."""
    open: Callable[[bool], AbstractContextManager[Any]] = lambda quick: nullcontext()
    """Opens the object that all cases share, such as a broker. The argument is whether the run is quick."""
    at_once: int = 1
    """Number of cases that are played at the same time."""
    caption: Callable[[bool], str] = lambda quick: ""

    def run(self, *, quick: bool = False) -> tuple[list[Table], list[str]]:
        """Play all cases, and return the table and the missed demands."""
        rows: list[PlayedRow] = []
        with self.open(quick) as opened, ThreadPoolExecutor(self.at_once) as pool:
            for found in pool.map(lambda case: list(self.play(opened, case)), self.cases(quick)):
                rows += found
                for row in found:
                    print(*map(format_cell, row.cells.values()), sep=" | ", file=sys.stderr, flush=True)
        table = make_table(tuple(rows[0].cells), [tuple(row.cells.values()) for row in rows], self.caption(quick))
        return [table], [fault for row in rows for fault in row.faults]


@dataclass(frozen=True)
class PlayedRow:
    """A row of a played study."""

    cells: Mapping[str, object]
    """Label → cell; all rows of a study have the same labels."""
    faults: tuple[str, ...] = ()
    """Results that miss the study's demands, in words."""


Cell = Callable[[list[StudyRow]], object]


def total(name: str) -> Callable[[list[StudyRow]], Any]:
    """Return a cell with the sum of a measure."""
    return lambda rows: sum(row[name] for row in rows)


def count(holds: Callable[[StudyRow], object]) -> Cell:
    """Return a cell with the number of rows for which `holds` is true."""
    return lambda rows: sum(bool(holds(row)) for row in rows)


def first(name: str) -> Cell:
    """Return a cell with the value of a line's only row."""
    return lambda rows: rows[0][name]


def of(assignor: str, cell: Cell) -> Cell:
    """Return a cell computed from the rows of one assignor."""
    return lambda rows: cell([row for row in rows if row["assignor"] == assignor])


def count_violations(rows: list[StudyRow]) -> int:
    """Return the number of broken rules in whole convergences."""
    return sum(sum(row["converged_violations"].values()) for row in rows)


def by_case(rows: Iterable[StudyRow]) -> Iterator[dict[str, StudyRow]]:
    """Return an iterator over the cases, each as assignor → row."""
    cases: dict[str, dict[str, StudyRow]] = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["assignor"]] = row
    return iter(cases.values())


def ratio(row: StudyRow) -> float:
    """Return restored offsets ÷ the minimum of the case; infinite if only the minimum is 0, and 1 if both are 0."""
    restored, minimum = row["converged_restored_offsets"], row["minimum"] or 0
    return restored / minimum if minimum else math.inf if restored else 1.0


def format_ratio(restored: int, minimum: int | None) -> str:
    """Return restored offsets ÷ the minimum as text; a dash if the minimum is None."""
    if minimum is None:
        return "–"
    if not minimum:
        return "1.00" if not restored else f"{restored:,} ÷ 0"
    return f"{restored / minimum:.2f}"


def describe_rebalances(row: StudyRow) -> str:
    """Return the number of rebalances as text, with a note if the group did not settle."""
    return f"{row['converged_rebalances']}{'' if row['converged_settled'] else ' (not settled)'}"


def median(name: str) -> Cell:
    """Return a cell with the median of a measure."""
    return lambda rows: statistics.median(row[name] for row in rows)
