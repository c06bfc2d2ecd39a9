"""Groups with random options: they become stable and stay so, and neutral changes do not affect the answer."""

from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

from altering import with_configs, with_options
from case import Case

from optassign import assign
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.generating.dealing import NotBalancedError
from optassign.generating.snapshots import SHAPES
from optassign.goals.order import goal_order
from optassign.judging.validation import validate
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot

_GOALS = (
    "restore_work",
    "copies_not_caught_up",
    "actives_not_caught_up",
    "active_migrations",
    "active_moves",
    "standby_migrations",
)
_PLACES = ("tag_spread", "rack_traffic", "disk")
_OURS = ("cp-sat", "cp-sat", "greedy")
_REBALANCES = 4
"""Number of consecutive rebalances in which each neutral change is tried."""
_NO_HURRY_S = 120.0
"""Seconds for an answer that is compared with another or a later one, so that work and not time limits the solver (R9)."""


def draw_group(random: Random) -> ApplicationState:
    """Return a small group with random options and random requests of an operator."""
    racks = random.choice((0, 0, 2, 3))
    state = _generate(random, racks)
    configs: dict[str, Any] = {}
    if racks and random.random() < 0.7:
        configs["rack_aware_assignment_tags"] = ("zone",)
    if racks and random.random() < 0.5:
        configs["rack_aware_assignment_strategy"] = "min_traffic"
    options = {**_draw_goals(random), **_draw_operator(random, state)}
    made = type(state.options).model_validate({**state.options.model_dump(), **options})
    return with_configs(state, **configs).model_copy(update={"options": made})


def _generate(random: Random, racks: int) -> ApplicationState:
    """Return a generated group. Clients of unequal threads may have no balanced past; then another group is drawn."""
    while True:
        try:
            return generate(
                random.choice(SHAPES),
                random.randint(4, 36),
                random.randint(2, 6),
                random.randint(0, 2),
                warmups=random.randint(1, 4),
                threads=random.choice((1, (1, 3))),
                seed=random.getrandbits(30),
                stateless=random.choice((0.0, 0.2, 0.5)),
                capacity=random.choice((1.0, 1.0, (0.5, 3.0))),
                weights=random.choice((0.0, 0.0, 0.0, 0.5)),
                racks=racks,
                memory=random.random() < 0.5,
            )
        except NotBalancedError:
            pass


def _draw_goals(random: Random) -> dict[str, Any]:
    """Return a preset with its weights, an order of goals, or neither."""
    drawn = random.random()
    if drawn < 0.3:
        names = ("instance", "subtopology", "stickiness")
        return {"preset": "weighted", "weights": {name: round(10 ** random.uniform(-1, 4), 1) for name in names}}
    if drawn < 0.6:
        goals = random.sample(_GOALS, len(_GOALS))
        return {"goals": (*random.sample(_PLACES, random.choice((0, 0, 1))), *goals)}
    return {}


def _draw_operator(random: Random, state: ApplicationState) -> dict[str, Any]:
    """Return random options that an operator sets temporarily."""
    ids = [client.process_id for client in state.clients]
    drawn: dict[str, Any] = {"balance_factor": random.choice((1, 1, 2)), "followup": random.choice(("estimate", "interval"))}
    if random.random() < 0.2:
        drawn["drain"] = random.sample(ids, random.randint(1, max(1, len(ids) // 3)))
    if random.random() < 0.15:
        drawn["weigh_by"] = "changelog"
    if random.random() < 0.4:
        drawn["limits"] = [_draw_limit(random, state) for _ in range(random.randint(1, 3))]
    return drawn


def _draw_limit(random: Random, state: ApplicationState) -> dict[str, Any]:
    ids, tasks = [client.process_id for client in state.clients], [task.id for task in state.tasks]
    some = sorted(random.sample(ids, random.randint(1, max(1, len(ids) // 2))))
    match random.choice(("most_active_moves", "most_copies", "most_state", "pin", "forbid")):
        case "most_active_moves":
            return {"kind": "most_active_moves", "most": random.randint(1, 4)}
        case "most_copies":
            return {"kind": "most_copies", "most": random.randint(1, 2 * len(tasks)), "clients": some}
        case "most_state":
            return {"kind": "most_state", "most": random.randint(0, 30) * 100_000, "clients": some}
        case kind:
            return {"kind": kind, "clients": some, "tasks": sorted(random.sample(tasks, random.randint(1, 4)))}


class Rest:
    """Groups with random options, assigned until they are stable: no fallback, no broken rule, and no later change."""

    def make(self, random: Random) -> Case:
        """Return a group, and the name of its assignor."""
        return Case(draw_group(random).model_dump_json().encode(), (random.choice(_OURS),))

    def check(self, case: Case) -> str | None:
        """Return the fault of the convergence, or None."""
        state = ApplicationState.model_validate_json(case.content)
        (assignor,) = case.arguments
        first = assign(state, assignor, _NO_HURRY_S)
        if first.report.termination.reason == "fallback":
            return f"fallback: {first.report.termination.detail}"
        played = converge(state, assignor, time_limit=_NO_HURRY_S)
        if played.violations:
            return f"broken: {dict(played.violations)}"
        if not played.settled:
            return f"unsettled after {played.rebalances} rebalances"
        return None if played.rests else "moves again: it does not rest"


class Changes:
    """Neutral changes of groups with random options: over several rebalances no answer changes."""

    def make(self, random: Random) -> Case:
        """Return a group, the name of its assignor, and the name of the change."""
        change = random.choice(sorted(_CHANGES))
        return Case(draw_group(random).model_dump_json().encode(), (random.choice(_OURS), change))

    def check(self, case: Case) -> str | None:
        """Return the fault of the changed answers, or None."""
        state = ApplicationState.model_validate_json(case.content)
        assignor, name = case.arguments
        for number in range(_REBALANCES):
            answer, changed = assign(state, assignor, _NO_HURRY_S), _CHANGES[name](state)
            other = assign(changed, assignor, _NO_HURRY_S)
            if broken := validate(changed, other):
                return f"{name}: {broken[0]}"
            if (_sort(answer), answer.plan) != (_sort(other), other.plan):
                return f"{name}, {assignor}: another answer in rebalance {number + 1}"
            state = make_restored_snapshot(state, answer)
        return None


def _sort(answer: Any) -> list[Any]:
    return sorted(answer.clients, key=lambda client: client.process_id)


def _add_loose_limit(state: ApplicationState) -> ApplicationState:
    """Return the group with a limit that every placement keeps."""
    ids = [client.process_id for client in state.clients]
    copies = len(state.tasks) * (state.configs.num_standby_replicas + 1)
    loose = {"kind": "most_copies", "most": copies, "clients": ids, "name": "loose"}
    options = state.options.model_dump()
    return state.model_copy(
        update={"options": type(state.options).model_validate({**options, "limits": [*options["limits"], loose]})}
    )


def _reverse_clients(state: ApplicationState) -> ApplicationState:
    return state.model_copy(update={"clients": state.clients[::-1]})


def _double_capacities(state: ApplicationState) -> ApplicationState:
    clients = tuple(client.model_copy(update={"capacity": 2 * client.capacity}) for client in state.clients)
    return state.model_copy(update={"clients": clients})


def _triple_weights(state: ApplicationState) -> ApplicationState:
    weights = state.options.weights
    if state.options.preset != "weighted":
        return state
    names = ("instance", "subtopology", "stickiness")
    # Multiplied as decimals, since products of floats would have other ratios.
    tripled = {name: float(3 * Decimal(str(getattr(weights, name)))) for name in names}
    return with_options(state, weights=weights.model_copy(update=tripled))


def _spell_out_defaults(state: ApplicationState) -> ApplicationState:
    if state.options.preset != "lexicographic" or state.options.goals is not None:
        return state
    return with_options(state, goals=tuple(goal_order(state).names))


def _add_tag(state: ApplicationState) -> ApplicationState:
    clients = tuple(
        client.model_copy(update={"tags": {**client.tags, "colour": f"c{number % 3}"}})
        for number, client in enumerate(state.clients)
    )
    return state.model_copy(update={"clients": clients})


_CHANGES: dict[str, Callable[[ApplicationState], ApplicationState]] = {
    "a limit that never binds": _add_loose_limit,
    "clients in another order": _reverse_clients,
    "capacities doubled": _double_capacities,
    "weights tripled": _triple_weights,
    "defaults spelt out": _spell_out_defaults,
    "a tag that is not asked for": _add_tag,
}
