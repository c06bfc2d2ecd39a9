"""Migrations: how often whole convergences move active tasks, compared with the fewest moves that the first answer plans.

With memory and without, while changelogs stand still and while they grow: a few snapshots, a row for each, then many small ones
of every shape, summed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context

from optassign.assignor import create
from optassign.formats.assignment import TaskAssignment
from optassign.generate import SHAPES, Shape
from optassign.generate.dealing import NotBalancedError
from optassign.simulation.convergence import converge
from optassign_benchmarks.grid import Spec, small_specs
from optassign_benchmarks.tables import Table, make_table

SIZES = ((100, 10, 2), (1_000, 100, 20))
"""Tasks, clients, warm-ups."""
PLAYED: tuple[Shape, ...] = ("scale-out", "scale-in", "restart", "partial")
SETTLED = ("scale-out", "scale-in", "restart")
"""Shapes whose group was at rest before something happened to it: only these are held to the fewest moves."""
STATELESS = (0.0, 0.2)
OURS, THEIRS = ("cp-sat", "greedy"), ("high-availability", "sticky")
"""Assignors of optassign and others; the others remember nothing, and are played with memory only."""
GROWTH = 0.02
SEED = 1
"""The seed of the snapshots, and of the growth of their changelogs; small snapshots have seeds of their own."""
HISTORIES = 2_000
"""Small snapshots of all shapes together, or a few more; those are left out of whose kind no settled group exists."""
_MOST_ABOVE_PLAN, _MOST_TWICE = 1.05, 0.02
"""Moves ÷ the fewest of the first plan; tasks moved more than once ÷ tasks moved."""


@dataclass(frozen=True)
class Job:
    """One snapshot, to be played to its end by one assignor."""

    spec: Spec
    assignor: str
    memory: bool
    growth: float

    @property
    def how(self) -> tuple[str, str]:
        """How it is played, as the tables have it."""
        return "yes" if self.memory else "no", f"growing by {self.growth:.0%}" if self.growth else "still"

    def __str__(self) -> str:
        memory, changelogs = self.how
        return f"{self.assignor}, {self.spec.name}, memory: {memory}, changelogs {changelogs}, by seed {self.spec.seed}"


@dataclass(frozen=True)
class Outcome:
    """The result of a job."""

    planned: int | None
    """Goal (e), `active_migrations`, of the first plan, or the moves of a first answer that is its own plan; None: it reports
    none."""
    least: int | None
    """Its bound."""
    moves: int
    logged: int
    twice: int
    """Tasks moved more than once."""
    repeated: int
    """Moves beyond the first of each task."""
    restored: int
    bound: int | None
    """The least that any convergence restores, as the first answer proved it."""
    rebalances: int
    answers: int
    imbalance: int
    """The imbalance of all shares, summed over the rebalances."""
    violations: int
    settled: bool
    rests: bool

    @property
    def tasks(self) -> int:
        """Tasks that moved."""
        return self.moves - self.repeated


def run(*, quick: bool = False, jobs: int = 2) -> tuple[list[Table], list[str]]:
    """Both tables, and each convergence of optassign that moves too much, breaks a rule, or does not settle and rest.

    quick: only the smaller size, and a tenth of the small snapshots.
    """
    some = list(_list_jobs(SIZES[:1] if quick else SIZES))
    small = list(_list_small_jobs(HISTORIES // 10 if quick else HISTORIES))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        outcomes = _join(some, pool.map(play, some))
        small_outcomes = _join(small, pool.map(play, small, chunksize=16))
    return [_make_table(outcomes), _make_small_table(small_outcomes)], [*_find_wrong(outcomes), *_find_broken(small_outcomes)]


def play(job: Job) -> Outcome | None:
    """Play a job; None where the snapshot cannot be."""
    try:
        state = job.spec.generate()
    except NotBalancedError:
        return None
    asked = state if job.memory else state.model_copy(update={"remembered": None})
    planned, least = _find_planned_moves(create(job.assignor).assign(asked))
    played = converge(state, job.assignor, memory=job.memory, growth=job.growth, seed=job.spec.seed)
    return Outcome(
        planned=planned,
        least=least,
        moves=played.moved_active,
        logged=played.moved_logged,
        twice=played.moved_more_than_once,
        repeated=played.moves_repeated,
        restored=played.restored_offsets,
        bound=played.lower_bound,
        rebalances=played.rebalances,
        answers=played.answers,
        imbalance=sum(played.measures.imbalance.values()),
        violations=sum(played.violations.values()),
        settled=played.settled,
        rests=played.rests,
    )


def _find_planned_moves(answer: TaskAssignment) -> tuple[int | None, int | None]:
    """Goal (e) of the plan, or of an answer that is its own plan: its value and its bound, each None where not reported."""
    for goal in answer.report.goals:
        if (goal.stage, goal.name) in {("plan", "active_migrations"), ("now", "active_moves")}:
            return int(goal.value), None if goal.bound is None else math.ceil(goal.bound - 1e-9)
    return None, None


def _list_jobs(sizes: Iterable[tuple[int, int, int]]) -> Iterator[Job]:
    for (tasks, clients, warmups), shape, stateless in product(sizes, PLAYED, STATELESS):
        spec = Spec(shape, tasks, clients, warmups=warmups, seed=SEED, stateless=stateless)
        yield from _vary(spec)


def _list_small_jobs(number: int) -> Iterator[Job]:
    for shape in SHAPES:
        for spec in small_specs(shape, math.ceil(number / len(SHAPES))):
            yield from _vary(spec)


def _vary(spec: Spec) -> Iterator[Job]:
    for memory, growth in product((True, False), (0.0, GROWTH)):
        for assignor in (*OURS, *(THEIRS if memory else ())):
            yield Job(spec, assignor, memory, growth)


def _join(jobs: Iterable[Job], outcomes: Iterable[Outcome | None]) -> dict[Job, Outcome]:
    return {job: outcome for job, outcome in zip(jobs, outcomes, strict=True) if outcome is not None}


def _find_bound(job: Job, outcomes: Mapping[Job, Outcome]) -> int | None:
    """The least that is restored from the job's snapshot: cp-sat has proved it, with memory and without."""
    return outcomes[Job(job.spec, "cp-sat", job.memory, job.growth)].bound


def _make_table(outcomes: Mapping[Job, Outcome]) -> Table:
    head = (
        "tasks × clients",
        "shape",
        "stateless",
        "memory",
        "changelogs",
        "assignor",
        "moves of the first plan (bound)",
        "moves",
        "of them logged",
        "tasks moved more than once",
        "restored ÷ bound",
        "rebalances",
        "imbalance, summed",
    )
    rows = [
        (
            f"{job.spec.tasks:,} × {job.spec.clients}",
            job.spec.shape,
            f"{job.spec.stateless:.0%}",
            *job.how,
            job.assignor,
            _format_planned(found),
            found.moves,
            found.logged,
            found.twice,
            _format_ratio(found.restored, _find_bound(job, outcomes)),
            f"{found.rebalances}{'' if found.settled else ' (not settled)'}",
            found.imbalance,
        )
        for job, found in outcomes.items()
    ]
    return make_table(head, rows)


def _make_small_table(outcomes: Mapping[Job, Outcome]) -> Table:
    head = (
        "assignor",
        "memory",
        "changelogs",
        "answers",
        "rules broken",
        "not settled",
        "not at rest",
        "moves of the first plans",
        "moves",
        "of them logged",
        "tasks moved more than once",
        "restored offsets",
        "÷ bounds",
        "imbalance, summed",
    )
    groups: dict[tuple[str, str, str], list[tuple[Job, Outcome]]] = {}
    for job, found in outcomes.items():
        groups.setdefault((job.assignor, *job.how), []).append((job, found))
    rows = []
    for key, pairs in groups.items():
        each = [found for _, found in pairs]
        bounds = [(found.restored, bound) for job, found in pairs if (bound := _find_bound(job, outcomes)) is not None]
        planned = [found.planned for found in each if found.planned is not None]
        rows.append(
            (
                *key,
                sum(found.answers for found in each),
                sum(found.violations for found in each),
                sum(not found.settled for found in each),
                sum(found.settled and not found.rests for found in each),
                sum(planned) if planned else "–",
                sum(found.moves for found in each),
                sum(found.logged for found in each),
                sum(found.twice for found in each),
                sum(found.restored for found in each),
                _format_ratio(sum(restored for restored, _ in bounds), sum(bound for _, bound in bounds)),
                sum(found.imbalance for found in each),
            )
        )
    return make_table(head, rows, f"{len({job.spec for job in outcomes}):,} small snapshots")


def _find_wrong(outcomes: Mapping[Job, Outcome]) -> Iterator[str]:
    yield from _find_broken(outcomes)
    for job, found in outcomes.items():
        if job.assignor != "cp-sat" or job.spec.shape not in SETTLED:
            continue
        if found.twice > _MOST_TWICE * found.tasks:
            yield f"{job}: {found.twice:,} of {found.tasks:,} tasks moved more than once"
        if found.least is not None and found.moves > _MOST_ABOVE_PLAN * found.least:
            yield f"{job}: {found.moves:,} moves, where the first plan needs {found.least:,} at least"


def _find_broken(outcomes: Mapping[Job, Outcome]) -> Iterator[str]:
    for job, found in outcomes.items():
        if job.assignor in OURS and (found.violations or not (found.settled and found.rests)):
            yield f"{job}: {found.violations} rules broken, settled: {found.settled}, rests: {found.rests}"


def _format_planned(found: Outcome) -> str:
    if found.planned is None:
        return "–"
    return f"{found.planned:,} ({'none known' if found.least is None else f'{found.least:,}'})"


def _format_ratio(restored: int, bound: int | None) -> str:
    if bound is None:
        return "–"
    if not bound:
        return "1.00" if not restored else f"{restored:,} ÷ 0"
    return f"{restored / bound:.2f}"
