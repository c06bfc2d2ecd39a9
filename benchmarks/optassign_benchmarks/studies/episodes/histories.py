"""Random histories change by change from one and the same rest: what an assignor does with what cp-sat left behind.

A whole history differs from assignor to assignor from the first change on: equally good placements are another starting point
for what comes next. Here every change that finds the group at rest under cp-sat is answered by each assignor from that rest. A
change in which another one restores less than cp-sat, in balance, within the rules, and without reaching fewer tags, counts as
wrong: no goal that comes before restoring can be the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from optassign.simulation.histories.drawing import draw_history
from optassign.simulation.histories.grades import Grades, add_up
from optassign.simulation.histories.playing import list_rests, play_change
from optassign_benchmarks.tables import Table, make_table

ASSIGNORS = ("cp-sat", "greedy", "high-availability", "sticky")
HISTORIES = 300
"""Histories of the suite `small`, by the seeds from 1."""
_HEAD = (
    "assignor",
    "changes",
    "rules broken",
    "not in balance",
    "tags reached ÷ reachable",
    "restored, millions",
    "copies without state",
    "of them active",
    "moves",
    "rounds",
    "restored less than cp-sat",
    "of them in balance, by the rules, tags as good",
)


@dataclass(frozen=True)
class _Answered:
    """One change of one history."""

    seed: int
    number: int
    what: str
    grades: dict[str, Grades]


def run(*, quick: bool = False, jobs: int = 1) -> tuple[list[Table], list[str]]:
    """The table, and each change in which an assignor restored less than cp-sat for no reason of cp-sat's."""
    seeds = range(1, (HISTORIES // 10 if quick else HISTORIES) + 1)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        answered = [change for changes in pool.map(_play, seeds, chunksize=4) for change in changes]
    rows, wrong = [], []
    for name in ASSIGNORS:
        total = add_up(change.grades[name] for change in answered)
        less = [change for change in answered if change.grades[name].restored < change.grades["cp-sat"].restored]
        better = [change for change in less if _is_as_good(change.grades[name], change.grades["cp-sat"])]
        reached, reachable = _count_tags(total)
        wrong += [f"{name} restores less: small history {each.seed}, change {each.number}, {each.what}" for each in better]
        rows.append(
            (
                name,
                len(answered),
                sum(total.violations.values()),
                sum(not _is_balanced(change.grades[name]) for change in answered),
                reached / max(1, reachable),
                total.restored / 1e6,
                total.copies_not_caught_up,
                total.actives_not_caught_up,
                total.moves,
                total.rounds,
                len(less),
                len(better),
            )
        )
    return [make_table(_HEAD, rows)], wrong


def _play(seed: int) -> list[_Answered]:
    return list(_answer_changes(seed))


def _answer_changes(seed: int) -> Iterator[_Answered]:
    history = draw_history("small", seed)
    for number, before in list_rests(history).items():
        grades = {name: play_change(history, number, before, name) for name in ASSIGNORS}
        yield _Answered(seed, number, str(history.changes[number - 1]), grades)


def _is_as_good(mine: Grades, ours: Grades) -> bool:
    return not mine.violations and _is_balanced(mine) and _count_tags(mine)[0] >= _count_tags(ours)[0]


def _is_balanced(grades: Grades) -> bool:
    return bool(grades.rests) and not grades.imbalance and not grades.unsettled


def _count_tags(grades: Grades) -> tuple[int, int]:
    return grades.zone_reached + grades.cluster_reached, grades.zone_reachable + grades.cluster_reachable
