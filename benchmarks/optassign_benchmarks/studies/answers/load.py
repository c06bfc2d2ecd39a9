"""Load: the greatest load and, within its tolerance, restore work, each with its bound; moves through a day of drift."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from optassign.assignor import create
from optassign.formats.assignment import GoalReport, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.metrics import measure
from optassign.measuring.load import Loads
from optassign.measuring.placement import planned_placement
from optassign.simulation.successors import make_restored_snapshot
from optassign.solving.situation import read_situation
from optassign_benchmarks.cells import format_ratio, of
from optassign_benchmarks.load_groups import Event, Weights, make_group, reweigh, weights_at
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow
from optassign_models.load.loads import bound_greatest_load, read_loads

SIZES = ((100, 10), (250, 25), (1_000, 100), (10_000, 1_000))
WEIGHTS: tuple[Weights, ...] = ("lognormal", "hot subtopology")
BESIDE = ("cp-sat", "greedy", "high-availability", "sticky", "consumer-sticky")
EVENTS: tuple[Event, ...] = ("steady", "scale-out", "scale-in")
SEED = 1
_OURS = ("cp-sat", "greedy")
_MOST = {"cp-sat": 1.005, "greedy": 1.03}
_MOST_LARGE = 1.01
"""cp-sat's limit beyond 1,000 × 100."""
_SLOW = 2_000
"""Tasks beyond which baselines are not asked."""
_GAPS = {0: 0.03, 1: 0.05}
"""By standbys: the greatest gap of restore work at 1,000 × 100 that is as it should be; with standbys not while growing."""
_DAY = 24
_AVERAGES = ("as they are", "mean, halved in 8 h", "24 h average")
"""The weights that the assignor gets; `options.weigh_by` makes the second from rates."""
_MOST_MOVES = 10
"""In a day of 200 tasks."""
_MOST_BEYOND_OPTIMUM = 1.05
Bounded = tuple[ApplicationState, float]
"""A group, and the least possible greatest load of an instance."""


def format_size(tasks: int, clients: int) -> str:
    """A size as the tables have it."""
    return f"{tasks:,} × {clients:,}"


def make_bounded(event: Event, tasks: int, clients: int, standbys: int, weights: Weights, seed: int) -> Bounded:
    """A group, and the least possible greatest load of an instance."""
    state = make_group(event, tasks, clients, standbys, weights, seed)
    return state, bound_greatest_load(read_loads(read_situation(state).problem))


def _ask(state: ApplicationState, assignor: str, limit: float) -> tuple[TaskAssignment, float]:
    """The answer, and its seconds."""
    start = time.perf_counter()
    answer = create(assignor, time_limit=limit).assign(state)
    return answer, time.perf_counter() - start


def _find(answer: TaskAssignment, name: str) -> GoalReport | None:
    return next((goal for goal in answer.report.goals if goal.name == name and goal.stage in ("now", "plan")), None)


def measure_load(group: Bounded, assignor: str) -> dict[str, object]:
    """The greatest load of the target as a multiple of its bound, and the most that it may be."""
    state, bound = group
    is_large = len(state.tasks) > _SLOW
    answer, seconds = _ask(state, assignor, 10.0 if is_large else 2.0)
    most = _MOST_LARGE if assignor == "cp-sat" and is_large else _MOST.get(assignor, np.inf)
    ratio = Loads(state).find_greatest(planned_placement(state, answer)) / bound
    return {"ratio": ratio, "seconds": seconds, "is_too_much": ratio > most}


def _show_ratio(rows: list[StudyRow]) -> str:
    if not rows:
        return "–"
    (row,) = rows
    return f"{row.ratio:.4f} ({row.seconds:.2f} s)" if row.assignor in _OURS else f"{row.ratio:.3f}"


FRESH = Study(
    cases=lambda quick: (
        StudyCase(
            partial(make_bounded, "fresh", tasks, clients, 1, weights, SEED),
            {"size": format_size(tasks, clients), "weights": weights},
            assignors=_OURS if tasks > _SLOW else None,
        )
        for (tasks, clients), weights in product(SIZES[:2] if quick else SIZES, WEIGHTS)
    ),
    assignors=BESIDE,
    parts=(measure_load,),
    layouts=(
        Layout(
            {"tasks × clients": "size", "weights": "weights"},
            {assignor: of(assignor, _show_ratio) for assignor in BESIDE},
            caption="Fresh groups",
        ),
    ),
    demands=lambda rows: (f"{row}: {row.ratio:.4f}" for row in rows if row.is_too_much),
    jobs=1,
)


def measure_restoring(state: ApplicationState, assignor: str) -> dict[str, object]:
    """Restore work and its bound, the greatest load, and seconds; work is None where the report has no such goal."""
    answer, seconds = _ask(state, assignor, 10.0)
    work, load = _find(answer, "restore_work"), _find(answer, "load")
    if work is None or load is None:
        return {"work": None, "gap": None}
    bound = 0.0 if work.bound is None else work.bound
    whole = sum(task.changelog_end_offset or 0 for task in state.tasks) or 1
    return {
        "work": work.value,
        "bound": bound,
        "gap": (work.value - bound) / max(1.0, work.value),
        "gap_of_state": (work.value - bound) / whole,
        "load": load.value,
        "seconds": seconds,
    }


def _show(name: str, form: str) -> Callable[[list[StudyRow]], object]:
    """A figure of cp-sat."""
    return of("cp-sat", lambda rows: "–" if rows[0].work is None else format(rows[0][name], form))


def _compare(rows: list[StudyRow]) -> str:
    ours, greedys = rows
    return "–" if greedys.work is None else format_ratio(greedys.work, ours.work)


RESTORING = Study(
    cases=lambda quick: (
        StudyCase(
            partial(make_group, event, tasks, clients, standbys, weights, SEED),
            {"size": format_size(tasks, clients), "event": event, "standbys": standbys, "weights": weights},
        )
        for tasks, clients in (SIZES[1:2] if quick else SIZES[2:])
        for event, standbys in product(EVENTS, (0, 1))
        for weights in (WEIGHTS if tasks <= _SLOW else WEIGHTS[:1])
    ),
    assignors=_OURS,
    parts=(measure_restoring,),
    layouts=(
        Layout(
            {"tasks × clients": "size", "group": "event", "standbys": "standbys", "weights": "weights"},
            {
                "offsets": _show("work", ","),
                "bound": _show("bound", ",.0f"),
                "gap": _show("gap", ".2%"),
                "of all state": _show("gap_of_state", ".2%"),
                "load": _show("load", ".4f"),
                "s": _show("seconds", ".1f"),
                "greedy ÷ cp-sat": _compare,
            },
            caption="Groups with state",
        ),
    ),
    demands=lambda rows: (
        f"{row}: gap {row.gap}"
        for row in rows
        if row.assignor == "cp-sat"
        and row.size == format_size(*SIZES[2])
        and not (row.standbys and row.event == "scale-out")
        and (row.gap is None or row.gap > _GAPS[row.standbys])
    ),
    jobs=1,
)


def _average(seen: list[list[float]], average: str) -> list[float]:
    """Average the weights of the hours, the last one being now."""
    if average == _AVERAGES[0]:
        return seen[-1]
    hours = np.arange(len(seen))[::-1]
    shares = np.where(hours < _DAY, 1.0, 0.0) if average == _AVERAGES[2] else 0.5 ** (hours / 8)
    told: list[float] = np.average(seen, axis=0, weights=shares).tolist()
    return told


def play_days(phases: int, average: str, min_gain: float, days: int) -> Iterator[tuple[int, float]]:
    """For each day after the first: moves, and the mean of the greatest loads by the real weights."""
    state = make_group("fresh", 200, 20, 1, "lognormal", SEED)
    state = state.model_copy(update={"options": state.options.model_copy(update={"min_gain": min_gain})})
    base = np.array([task.weight for task in state.tasks])
    phase = np.array([task.task_id.partition % phases for task in state.tasks]) / phases
    rng = np.random.default_rng(SEED)
    seen: list[list[float]] = []
    moves, greatest = 0, []
    for hour in range(_DAY * (days + 1)):
        seen.append(weights_at(base, phase, hour, rng))
        asked = reweigh(state, _average(seen, average))
        answer = create("greedy").assign(asked)
        if hour >= _DAY:
            moves += measure(asked, answer).active_moves
            greatest.append(Loads(reweigh(asked, seen[-1])).find_greatest(planned_placement(asked, answer)))
        state = make_restored_snapshot(asked, answer)
        if hour >= _DAY and hour % _DAY == _DAY - 1:
            yield moves, float(np.mean(greatest))
            moves, greatest = 0, []


def measure_days(day: tuple[int, str, float, int], assignor: str) -> dict[str, object]:
    """Moves a day, and the mean of the greatest loads."""
    moves, loads = zip(*play_days(*day), strict=True)
    return {"moves": float(np.mean(moves)), "load": float(np.mean(loads))}


DAYS = Study(
    cases=lambda quick: (
        StudyCase(
            partial(tuple, (phases, average, min_gain, 2 if quick else 5)),
            {"phases": phases, "weights": average, "min_gain": min_gain},
        )
        for phases, average, min_gain in product((1, 6), _AVERAGES, (0.0, 0.05))
    ),
    assignors=("greedy",),
    parts=(measure_days,),
    layouts=(
        Layout(
            {"phases": "phases", "weights": "weights", "`min_gain`": "min_gain"},
            {
                "moves a day": lambda rows: f"{rows[0].moves:.1f}",
                "greatest load, mean of the hours": lambda rows: f"{rows[0].load:.3f}",
            },
            caption="A day of drifting weights",
        ),
    ),
    demands=lambda rows: (
        f"{row}: {row.moves:.1f} moves in a day"
        for row in rows
        if row.min_gain and (row.phases == 1 or row.weights != _AVERAGES[0]) and row.moves > _MOST_MOVES
    ),
    jobs=1,
)


def make_published(m: int) -> ApplicationState:
    """The known bad case of dealing longest first: its greatest load is 4 m − 1, the least possible 3 m."""
    weights = [float(w) for k in range(2 * m - 1, m, -1) for w in (k, k)] + [float(m)] * 3
    return reweigh(make_group("fresh", len(weights), m, 0, "lognormal", SEED), weights)


def measure_weight(state: ApplicationState, assignor: str) -> dict[str, object]:
    """The greatest load in units of weight."""
    loads = Loads(state)
    return {"greatest": loads.find_greatest(planned_placement(state, create(assignor).assign(state))) * loads.even_spread}


PUBLISHED = Study(
    cases=lambda quick: (
        StudyCase(partial(make_published, m), {"m": m, "optimum": 3 * m, "longest first": 4 * m - 1})
        for m in (2, 3, 4, 6, 8, 12, 20)
    ),
    assignors=_OURS,
    parts=(measure_weight,),
    layouts=(
        Layout(
            {"m": "m", "optimum": "optimum", "longest first": "longest first"},
            {assignor: of(assignor, lambda rows: f"{rows[0].greatest:g}") for assignor in _OURS},
            caption="Multiway partitioning",
        ),
    ),
    demands=lambda rows: (
        f"{row}: {row.greatest:g}"
        for row in rows
        if row.assignor == "cp-sat" and row.greatest > row.optimum * _MOST_BEYOND_OPTIMUM
    ),
    jobs=1,
)

LOAD = (FRESH, RESTORING, DAYS, PUBLISHED)
