"""Weights and orders of goals at four sizes: what is proven, how far the others are from their bound, in what time.

Weights are the default ones and random ones; orders are the default one and six others. Each row has one snapshot of each
shape.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from optassign.assignor import assign
from optassign.formats.state import ApplicationState, Weights
from optassign.generate import SHAPES, Shape, generate
from optassign.goals.order import UNSERVED
from optassign_benchmarks.tables import Table, make_table

SIZES = ((100, 10), (200, 20), (1_000, 100), (10_000, 1_000))
STANDBYS = (0, 1, 2)
VECTORS, LARGEST_VECTORS = 20, 4
"""Random vectors of weights, and those of the largest size."""
LIMIT_S = 60.0
"""Seconds; the default of 10 would make the figures depend on how busy the machine is."""
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
"""Name → goals, most important first; None: the options name no goals."""


@dataclass
class Tally:
    """The counts over the snapshots of one row."""

    seconds: list[float] = field(default_factory=list)
    """Processor seconds, for the whole of `assign`."""
    proven: int = 0
    gaps: list[float] = field(default_factory=list)
    """For each answer that is not proven: of its first goal that is not."""
    unserved: int = 0
    """Answers with a goal that was not served or has no bound."""

    def to_cells(self) -> tuple[object, ...]:
        """Return the cells of the row."""
        worst = f"{max(self.gaps):.2%}" if self.gaps else "–"
        asked = len(self.seconds)
        return asked, self.proven, worst, self.unserved, statistics.median(self.seconds), max(self.seconds)


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """Return two tables, and each row with less than 95% proven or a gap above 0.5%. quick: without the largest size."""
    head = ("tasks × clients", "standbys", "{}", "answers", "proven", "greatest gap", "not served", "median s", "most s")
    wrong: list[str] = []
    tables = []
    for caption, ask in (("weights", _ask_weights), ("order", _ask_orders)):
        rows: list[tuple[object, ...]] = []
        for tasks, clients in SIZES[:3] if quick else SIZES:
            for standbys in STANDBYS:
                for what, tally in ask(tasks, clients, standbys):
                    row = (f"{tasks:,} × {clients:,}", standbys, what, *tally.to_cells())
                    rows.append(row)
                    if tally.proven < 0.95 * len(tally.seconds) or max(tally.gaps, default=0) > _GREATEST_GAP:
                        wrong.append(", ".join(map(str, row)))
        tables.append(make_table(tuple(cell.format(caption) for cell in head), rows, f"By {caption}"))
    return tables, wrong


def _ask_weights(tasks: int, clients: int, standbys: int) -> Iterator[tuple[str, Tally]]:
    """The default weights over all shapes, then random ones."""
    drawing = random.Random(f"weights {tasks} {standbys}")
    default, drawn = Tally(), Tally()
    vectors = VECTORS if tasks * clients < 1_000_000 else LARGEST_VECTORS
    for shape in SHAPES:
        state = generate(shape, tasks, clients, standbys, warmups=max(2, tasks // 100), seed=tasks + standbys)
        _count(default, _weigh(state, Weights()))
        for _ in range(vectors):
            instance, subtopology, stickiness = (round(10 ** drawing.uniform(-1, 4), 3) for _ in range(3))
            _count(drawn, _weigh(state, Weights(instance=instance, subtopology=subtopology, stickiness=stickiness)))
    yield "default", default
    yield f"{vectors} random vectors", drawn


def _weigh(state: ApplicationState, weights: Weights) -> ApplicationState:
    options = state.options.model_copy(update={"preset": "weighted", "weights": weights})
    return state.model_copy(update={"options": options})


def _ask_orders(tasks: int, clients: int, standbys: int) -> Iterator[tuple[str, Tally]]:
    for name, goals in ORDERS.items():
        if goals and goals[0] == "tag_spread" and not standbys:  # a task has one copy: nothing to spread
            continue
        tally = Tally()
        for shape in SHAPES:
            _count(tally, _order(shape, tasks, clients, standbys, goals))
        yield name, tally


def _order(shape: Shape, tasks: int, clients: int, standbys: int, goals: tuple[str, ...] | None) -> ApplicationState:
    """Generate a snapshot, with racks or tags where the first goal asks for them."""
    first = goals[0] if goals else ""
    racks, clusters = _RACKS * first.startswith("rack"), _RACKS * (first == "tag_spread")
    seed, warmups = tasks + standbys, max(2, tasks // 100)
    state = generate(shape, tasks, clients, standbys, warmups, seed=seed, racks=racks, clusters=clusters)
    configs = state.configs.model_copy(update={"rack_aware_assignment_tags": ("cluster",) if clusters else ()})
    options = state.options.model_copy(update={"goals": goals})
    return state.model_copy(update={"options": options, "configs": configs})


def _count(tally: Tally, state: ApplicationState) -> None:
    start = time.process_time()
    answer = assign(state, time_limit=LIMIT_S)
    tally.seconds.append(time.process_time() - start)
    wanted = [goal for goal in answer.report.goals if goal.stage in {"plan", "now"}]
    if state.options.preset == "weighted":
        # A stable group's report has no sum: a stage before has compared the group with the least sum.
        wanted = [goal for goal in wanted if goal.name == "weighted_cost"]
    gaps = [goal.gap for goal in wanted if not goal.proven]
    tally.proven += not gaps
    if gaps and gaps[0] is not None:
        tally.gaps.append(gaps[0])
    tally.unserved += (bool(gaps) and gaps[0] is None) or any(note.startswith(UNSERVED) for note in answer.report.notes)
