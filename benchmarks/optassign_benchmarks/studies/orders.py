"""Weights and orders of goals at four sizes: proven answers, gaps of unproven answers, and seconds.

Weights are the default and random ones; orders are the default and six others. Each row has a snapshot of each shape.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from itertools import product

from optassign.assignor import assign
from optassign.formats.state import ApplicationState, Weights
from optassign.generating import SHAPES, Shape, generate
from optassign.goals.order import UNSERVED
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow, count, median, total
from optassign_benchmarks.studies.weights import with_weights

SIZES = ((100, 10), (200, 20), (1_000, 100), (10_000, 1_000))
STANDBYS = (0, 1, 2)
VECTORS, LARGEST_VECTORS = 20, 4
"""Number of random weight vectors, and their number at the largest size."""
LIMIT_S = 60.0
"""Seconds; with the default of 10 the figures would depend on the machine's load."""
_GREATEST_GAP = 0.005
_RACKS = 3
_DEFAULT = ("restore_work", "copies_not_caught_up", "actives_not_caught_up", "active_migrations", "standby_migrations")
ORDERS: Mapping[str, tuple[str, ...] | None] = {
    "default": None,
    "rack traffic first": ("rack_traffic", *_DEFAULT),
    "rack cost first": ("rack_cost", *_DEFAULT),
    "tag spread first": ("tag_spread", *_DEFAULT),
    "disk first": ("disk", *_DEFAULT),
    "migrations first": (
        "active_migrations",
        "active_moves",
        "standby_migrations",
        "restore_work",
        "copies_not_caught_up",
        "actives_not_caught_up",
    ),
    "caught-up copies first": (
        "actives_not_caught_up",
        "copies_not_caught_up",
        "restore_work",
        "active_migrations",
        "active_moves",
        "standby_migrations",
    ),
}
"""Name → goals, most important first; None if the options name no goals."""


def _list_weighted(tasks: int, clients: int, standbys: int) -> Iterator[tuple[str, ApplicationState]]:
    """Yield name of the weights and snapshot, for all shapes under the default weights and random ones."""
    drawing = random.Random(f"weights {tasks} {standbys}")
    vectors = VECTORS if tasks * clients < 1_000_000 else LARGEST_VECTORS
    for shape in SHAPES:
        state = generate(shape, tasks, clients, standbys, warmups=max(2, tasks // 100), seed=tasks + standbys)
        yield "default", with_weights(state, Weights())
        for _ in range(vectors):
            instance, subtopology, stickiness = (round(10 ** drawing.uniform(-1, 4), 3) for _ in range(3))
            weights = Weights(instance=instance, subtopology=subtopology, stickiness=stickiness)
            yield f"{vectors} random vectors", with_weights(state, weights)


def _list_ordered(tasks: int, clients: int, standbys: int) -> Iterator[tuple[str, ApplicationState]]:
    """Yield name of the order and snapshot, for all shapes under each order."""
    for (name, goals), shape in product(ORDERS.items(), SHAPES):
        if standbys or not goals or goals[0] != "tag_spread":  # tag spread needs tasks with several copies
            yield name, _order(shape, tasks, clients, standbys, goals)


def _order(shape: Shape, tasks: int, clients: int, standbys: int, goals: tuple[str, ...] | None) -> ApplicationState:
    """Return a snapshot with racks or tags if the first goal needs them."""
    first = goals[0] if goals else ""
    racks, clusters = _RACKS * first.startswith("rack"), _RACKS * (first == "tag_spread")
    seed, warmups = tasks + standbys, max(2, tasks // 100)
    state = generate(shape, tasks, clients, standbys, warmups, seed=seed, racks=racks, clusters=clusters)
    configs = state.configs.model_copy(update={"rack_aware_assignment_tags": ("cluster",) if clusters else ()})
    options = state.options.model_copy(update={"goals": goals})
    return state.model_copy(update={"options": options, "configs": configs})


def prove(state: ApplicationState, assignor: str) -> dict[str, object]:
    """Return processor seconds, whether all goals are proven, and the gap of the first unproven goal.

    `unserved`: whether a goal was not served, or has no bound.
    """
    start = time.process_time()
    answer = assign(state, assignor, LIMIT_S)
    seconds = time.process_time() - start
    wanted = [goal for goal in answer.report.goals if goal.stage in {"plan", "now"}]
    if state.options.preset == "weighted":
        # A stable group's report has no sum: an earlier stage has compared the group with the least sum.
        wanted = [goal for goal in wanted if goal.name == "weighted_cost"]
    gaps = [goal.gap for goal in wanted if not goal.proven]
    return {
        "seconds": seconds,
        "is_proven": not gaps,
        "gap": gaps[0] if gaps else None,
        "unserved": gaps[:1] == [None] or any(note.startswith(UNSERVED) for note in answer.report.notes),
    }


def _find_greatest_gap(rows: list[StudyRow]) -> float | None:
    return max((row.gap for row in rows if row.gap is not None), default=None)


def _format_greatest_gap(rows: list[StudyRow]) -> str:
    gap = _find_greatest_gap(rows)
    return "–" if gap is None else f"{gap:.2%}"


def _find_wrong(rows: list[StudyRow]) -> Iterator[str]:
    """Yield the table's lines with less than 95% proven answers, or a gap above 0.5%."""
    lines: dict[tuple[object, ...], list[StudyRow]] = {}
    for row in rows:
        lines.setdefault((row.by, row.size, row.standbys, row.asked), []).append(row)
    for key, line in lines.items():
        proven = sum(row.is_proven for row in line)
        if proven < 0.95 * len(line) or (_find_greatest_gap(line) or 0) > _GREATEST_GAP:
            yield f"{', '.join(map(str, key))}: {proven} of {len(line)} proven, greatest gap {_format_greatest_gap(line)}"


ORDERS_OF_GOALS = Study(
    cases=lambda quick: (
        StudyCase(
            state.model_copy,
            {"by": by, "size": f"{tasks:,} × {clients:,}", "standbys": standbys, "asked": asked},
        )
        for by, list_states in (("weights", _list_weighted), ("order", _list_ordered))
        for tasks, clients in (SIZES[:3] if quick else SIZES)
        for standbys in STANDBYS
        for asked, state in list_states(tasks, clients, standbys)
    ),
    assignors=("cp-sat",),
    parts=(prove,),
    layouts=tuple(
        Layout(
            {"tasks × clients": "size", "standbys": "standbys", by: "asked"},
            {
                "answers": len,
                "proven": count(lambda row: row.is_proven),
                "greatest gap": _format_greatest_gap,
                "not served": total("unserved"),
                "median s": median("seconds"),
                "most s": lambda rows: max(row.seconds for row in rows),
            },
            caption=f"By {by}",
            keep=lambda row, by=by: row.by == by,  # type: ignore[misc]
        )
        for by in ("weights", "order")
    ),
    demands=_find_wrong,
    jobs=1,
)
