"""Tiny groups with random weights, orders, limits, tags and racks: the plan of the answer is the best of all enumerated
plans."""

import sys
from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

from case import Case

sys.path.append(str(Path(__file__).parents[1] / "solving"))

from enumeration import Copies, Tiny
from tiny import draw_tiny_state, put_in_racks

from optassign import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.order import UNSERVED, goal_order
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.measuring.spread import count_rack_crossings, count_tag_values

_BY_COUNTING = ("restore_work", "copies_not_caught_up", "actives_not_caught_up", "active_migrations", "standby_migrations")
"""Goals whose values the enumeration computes, in its order."""
_MOST_COMBINATIONS = 300


def draw_tiny_group(random: Random) -> ApplicationState:
    """Return a tiny group with racks or tags, limits, and weights or an order of goals."""
    state = draw_tiny_state(random.getrandbits(30), most=_MOST_COMBINATIONS)
    configs: dict[str, Any] = {}
    options: dict[str, Any] = {}
    places = random.choice(("none", "none", "racks", "tags"))
    if places == "racks":
        state = put_in_racks(state, random)
        configs["rack_aware_assignment_strategy"] = "min_traffic"
    if places == "tags":
        clients = [client.model_copy(update={"tags": {"zone": random.choice(("a", "b"))}}) for client in state.clients]
        state = state.model_copy(update={"clients": tuple(clients)})
        configs["rack_aware_assignment_tags"] = ("zone",)
    if random.random() < 0.5:
        names = ("instance", "subtopology", "stickiness")
        options = {"preset": "weighted", "weights": {name: round(10 ** random.uniform(-1, 4), 1) for name in names}}
    elif random.random() < 0.7:
        first = {"racks": ("rack_traffic",), "tags": ("tag_spread",)}.get(places, ())
        options = {"goals": (*first, *random.sample(_BY_COUNTING, len(_BY_COUNTING)))}
    if random.random() < 0.5:
        options["limits"] = [_draw_limit(random, state) for _ in range(random.randint(1, 2))]
    return state.model_copy(
        update={
            "configs": state.configs.model_copy(update=configs),
            "options": type(state.options).model_validate({**state.options.model_dump(), **options}),
        }
    )


def _draw_limit(random: Random, state: ApplicationState) -> dict[str, Any]:
    ids, tasks = [client.process_id for client in state.clients], [task.id for task in state.tasks]
    some = sorted(random.sample(ids, random.randint(1, max(1, len(ids) // 2))))
    match random.choice(("most_copies", "most_state", "pin", "forbid")):
        case "most_copies":
            return {"kind": "most_copies", "most": random.randint(1, 2 * len(tasks)), "clients": some}
        case "most_state":
            return {"kind": "most_state", "most": random.randint(1, 12) * 100, "clients": some}
        case kind:
            return {"kind": kind, "clients": some, "tasks": sorted(random.sample(tasks, random.randint(1, min(3, len(tasks)))))}


class Enumerated:
    """Tiny groups: the plan of cp-sat's answer has the least cost, or values in their order, of all plans that keep the
    limits."""

    def make(self, random: Random) -> Case:
        """Return the snapshot of a random tiny group."""
        return Case(draw_tiny_group(random).model_dump_json().encode())

    def check(self, case: Case) -> str | None:
        """Return the fault of the answer, or None."""
        state = ApplicationState.model_validate_json(case.content)
        answer = assign(state)
        if answer.report.termination.reason == "fallback":
            return f"fallback: {answer.report.termination.detail}"
        if any(note.startswith(UNSERVED) for note in answer.report.notes):
            return f"unserved: {answer.report.notes}"
        tiny = Tiny(state)
        allowed = [copies for copies in _list_plans(tiny) if _keeps_limits(state, copies)]
        if not allowed:
            return None if any(limit.gave_way for limit in answer.report.limits) else "no limit gives way, and none can be kept"
        if any(limit.gave_way for limit in answer.report.limits):
            return "a limit gives way, and all can be kept"
        placed = planned_placement(state, answer)
        plan: Copies = {task.id: (placed.active[task.id][0], frozenset(placed.standby[task.id])) for task in state.tasks}
        if not _keeps_limits(state, plan):
            return "the plan breaks a limit"
        if state.options.preset == "weighted":
            return _compare_costs(tiny, allowed, plan)
        return _compare_values(tiny, answer, [copies for copies in allowed if tiny.is_balanced(copies)], plan)


def _list_plans(tiny: Tiny) -> Iterator[Copies]:
    return tiny.combine([tiny.list_placements(task) for task in tiny.state.tasks])


def _keeps_limits(state: ApplicationState, copies: Copies) -> bool:
    for limit in state.options.limits:
        for client in limit.clients:
            held = [task for task, (active, standbys) in copies.items() if client == active or client in standbys]
            if limit.kind == "most_copies" and len(held) > (limit.most or 0):
                return False
            if limit.kind == "most_state" and sum(state.full_lags.get(task, 0) for task in held) > (limit.most or 0):
                return False
            if limit.kind == "forbid" and set(held) & set(limit.tasks):
                return False
        if limit.kind == "pin" and any(copies[task][0] not in limit.clients for task in limit.tasks):
            return False
    return True


def _compare_costs(tiny: Tiny, allowed: list[Copies], plan: Copies) -> str | None:
    least, found = min(_weigh(tiny, copies) for copies in allowed), _weigh(tiny, plan)
    return None if found == least else f"weighted: found {float(found)}; least: {float(least)}"


def _weigh(tiny: Tiny, copies: Copies) -> Fraction:
    """Return the weighted sum, as docs/reference/rules.md defines it."""
    weights, state = tiny.state.options.weights, tiny.state
    ends = [tiny.find_end(task) for task in state.tasks if task.logged]
    mean = max(1.0, sum(ends) / len(ends)) if ends else 1.0
    work = _count_hundredths(tiny, copies, mean)
    imbalance = tiny.measure_imbalance(copies)
    sticky = work + tiny.count_active_moves(copies) + tiny.count_standby_migrations(copies)
    sums = (sum(imbalance[:3]), sum(imbalance[3:]), sticky)
    factors = (weights.instance, weights.subtopology, weights.stickiness)
    return sum((Fraction(str(factor)) * value for factor, value in zip(factors, sums, strict=True)), Fraction(0))


def _count_hundredths(tiny: Tiny, copies: Copies, mean: float) -> int:
    """Return the restore work until a plan is reached, in hundredths of the mean changelog, rounded up for each copy."""
    total = 0
    for task in tiny.state.tasks:
        active, standbys = copies[task.id]
        options = []
        for first_active, first_standbys in tiny.list_first_placements(task):
            ranks = [tiny.table[task.id, client] for client in {active, first_active} | standbys | first_standbys]
            options.append(sum(ceil(100.0 * cost / mean) for rank, cost in ranks if rank))
        total += min(options)
    return total


def _compare_values(tiny: Tiny, answer: TaskAssignment, balanced: list[Copies], plan: Copies) -> str | None:
    if not balanced:
        return None
    order = goal_order(tiny.state)
    names = order.names if answer.plan is not None else order.configured
    if not tiny.is_balanced(plan):
        return "the plan is not balanced, and one could be"
    found, least = _value(tiny, plan, names), min(_value(tiny, copies, names) for copies in balanced)
    return None if found == least else f"{names}: found {found}; least: {least}"


def _value(tiny: Tiny, copies: Copies, names: tuple[str, ...]) -> tuple[float, ...]:
    by_counting = dict(zip(_BY_COUNTING, tiny.measure_plan(copies), strict=True))
    active = {task: (client,) for task, (client, _) in copies.items()}
    placed = TaskPlacement(active, {task: tuple(sorted(s)) for task, (_, s) in copies.items()}, dict.fromkeys(copies, ()))
    values = []
    for name in names:
        if name == "rack_traffic":
            values.append(float(count_rack_crossings(tiny.state, placed) or 0))
        elif name == "tag_spread":
            values.append(-float(count_tag_values(tiny.state, placed)[0]))
        elif name in by_counting:
            values.append(float(by_counting[name]))
    return tuple(values)
