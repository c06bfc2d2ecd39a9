"""Tests of temporary offload: tasks run elsewhere while a client would have too many active tasks for long."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from judging import make_snapshot

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import OffloadPrices
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.generating.dealing import NotBalancedError
from optassign.judging.validation import validate
from optassign.measuring.balance import compute_shares, count_copies
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import simulate

TAKEN = "2026-01-01T00:00:00.000+00:00"
NEVER = OffloadPrices(stateless=10**9, logged=10**9)
both = pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])


def timed(state: ApplicationState, offload: OffloadPrices | None = None, **options: Any) -> ApplicationState:
    """Return the snapshot with a time and a follow-up every ten minutes, so balancing takes at least ten minutes."""
    made = state.options.model_copy(update={"followup": "interval", "relief": offload or OffloadPrices(), **options})
    return state.model_copy(update={"taken_at": TAKEN, "options": made})


def join(**options: Any) -> ApplicationState:
    """Return a group in which a and b share eight logged and four stateless tasks, and an empty third client has joined; one
    warm-up at a time."""
    tasks: dict[str, Any] = {f"0_{n}": 1_000_000 for n in range(8)} | {f"1_{n}": {"stateful": False} for n in range(4)}
    clients: dict[str, Any] = {}
    for name, first in (("a", 0), ("b", 4)):
        logged = [f"0_{n}" for n in range(first, first + 4)]
        active = [*logged, *(f"1_{n}" for n in range(first // 2, first // 2 + 2))]
        clients[name] = {"active": active, "lags": dict.fromkeys(logged, -2)}
    made = make_snapshot(tasks, {**clients, "c": {}}, acceptable_recovery_lag=100, max_warmup_replicas=1)
    return timed(made, **options)


def count_active(state: ApplicationState, answer: TaskAssignment) -> list[int]:
    counted = count_copies(state, TaskPlacement.of(state, answer)).active
    return [counted.get(client.process_id, 0) for client in state.clients]


def goal(answer: TaskAssignment) -> Any:
    return next((row for row in answer.report.goals if row.name == "offload"), None)


@both
def test_stateless_tasks_move_to_clients_below_their_share(assignor: str) -> None:
    state = join()
    answer = assign(state, assignor)
    assert count_active(state, answer) == [4, 4, 4]
    assert not [task for task in answer.by_process_id["c"].active if task.startswith("0_")], "it has no state yet"
    assert validate(state, answer) == []
    assert answer.plan == assign(join(offload=NEVER), assignor).plan, "the plan is what it was"
    assert max(count_active(state, assign(join(offload=NEVER), assignor))) == 5


@both
def test_a_logged_task_changes_roles_with_a_caught_up_standby(assignor: str) -> None:
    """Client a runs all four tasks. Client b has two caught-up standbys; the other two have much to restore."""
    tasks = {f"0_{n}": 1_000_000 for n in range(4)}
    clients = {
        "a": {"active": list(tasks), "lags": dict.fromkeys(tasks, -2)},
        "b": {"standby": list(tasks), "lags": {"0_0": 0, "0_1": 500_000, "0_2": 500_000, "0_3": 0}},
        "c": {},
    }
    made = make_snapshot(tasks, clients, num_standby_replicas=1, acceptable_recovery_lag=100, max_warmup_replicas=1)
    state = timed(made)
    answer = assign(state, assignor)
    assert validate(state, answer) == []
    without = assign(timed(made, NEVER), assignor)
    assert max(count_active(state, answer)) <= max(count_active(state, without))
    for task in tasks:
        copies, before = (TaskPlacement.of(state, each).copies(task) for each in (answer, without))
        assert sorted(copies) == sorted(before), "no copy is anywhere else"


@both
def test_a_short_imbalance_is_left_alone(assignor: str) -> None:
    """No rate is known, and one batch is awaited, which takes three seconds."""
    state = join(followup="estimate")
    short = state.model_copy(update={"configs": state.configs.model_copy(update={"max_warmup_replicas": 20})})
    answer = assign(short, assignor)
    assert answer.report.to_balance_ms == 3_000
    without = assign(short.model_copy(update={"options": short.options.model_copy(update={"relief": NEVER})}), assignor)
    assert answer.clients == without.clients


@both
def test_prices_decide(assignor: str) -> None:
    to_balance = assign(join(), assignor).report.to_balance_ms
    assert to_balance is not None
    worth = to_balance // 1000 // 2  # moves there and back
    assert count_active(join(), assign(join(offload=OffloadPrices(stateless=worth - 1)), assignor)) == [4, 4, 4]
    dear = assign(join(offload=OffloadPrices(stateless=worth + 1)), assignor)
    assert dear.clients == assign(join(offload=NEVER), assignor).clients


@pytest.mark.parametrize("change", [{"preset": "weighted"}, {"goals": ("load", "restore_work")}])
def test_there_is_no_offload_if_balance_means_load(change: dict[str, Any]) -> None:
    answer = assign(join(**change))
    assert goal(answer) is None
    assert answer.clients == assign(join(offload=NEVER, **change)).clients


def test_there_is_no_offload_without_times() -> None:
    state = join().model_copy(update={"taken_at": None})
    answer = assign(state)
    assert (goal(answer), answer.report.to_balance_ms) == (None, None)
    assert max(count_active(state, answer)) == 5


def draw(seed: int, most: int, shapes: tuple[Shape, ...] = SHAPES) -> ApplicationState | None:
    dice = random.Random(seed)
    shape = dice.choice(shapes)
    try:
        made = generate(
            shape, dice.randint(4, most), dice.randint(2, 4), dice.randint(0, 1), dice.randint(1, 2), (1, 2), seed=seed,
            stateless=dice.choice((0.2, 0.5)), acceptable_recovery_lag=dice.choice((0, 10_000)),
        )  # fmt: skip
    except NotBalancedError:
        return None
    return timed(made)


@pytest.mark.parametrize("seed", range(60))
def test_offload_is_optimal_within_the_rules(seed: int) -> None:
    """Value and bound are the least over all placements of actives that restore nothing."""
    state = draw(seed, 9, ("scale-out", "partial"))
    if state is None:
        return
    answer = assign(state)
    row = goal(answer)
    if row is None:
        return
    without = assign(timed(state, NEVER))
    now, plan = TaskPlacement.of(state, without), planned_placement(state, answer)
    within = compute_shares(state).active
    tasks = {task.id: task for task in state.tasks}
    owners = {task: [c.process_id for c in state.clients if task in c.previous_active] for task in tasks}
    lags = {client.process_id: client.lags for client in state.clients}
    ready = state.configs.acceptable_recovery_lag

    to_balance = answer.report.to_balance_ms or 0

    is_crowded = any(number > within[client].high for client, number in count_copies(state, now).active.items())

    def is_ready(task: str, client: str) -> bool:
        lag = lags[client].get(task, 1 << 62)
        return -2 <= lag <= ready

    def list_places(task: str) -> list[str]:
        (here,) = now.active[task]
        if not tasks[task].stateful:
            return [client.process_id for client in state.clients]
        able = [c for c in now.standby[task] if is_ready(task, c)]
        if here in owners[task]:
            return [here, *able]
        may_stay = is_crowded and here in plan.active[task] and is_ready(task, here)
        return [here, *(c for c in able if may_stay and c in owners[task])]

    def evaluate(active: dict[str, str]) -> int:
        number = {c: sum(client == c for client in active.values()) for c in within}
        value = sum(max(0, number[c] - w.high) for c, w in within.items()) * (to_balance // 1000)
        for task, client in active.items():
            had, planned = owners[task], plan.active[task]
            extra = (bool(had) and client not in had) + (client not in planned) - (bool(had) and not set(had) & set(planned))
            value += extra * (300 if tasks[task].stateful else 60)
        return value

    places = {task: list_places(task) for task in tasks}
    if np.prod([len(each) for each in places.values()], dtype=float) > 20_000:
        return
    best = min(evaluate(dict(zip(places, chosen, strict=True))) for chosen in product(*places.values()))
    assert (row.value, row.bound) == (best, best), f"seed {seed}"


@both
@pytest.mark.parametrize("seed", range(100, 160))
def test_no_rule_is_broken_and_no_copy_is_elsewhere(seed: int, assignor: str) -> None:
    state = draw(seed, 40)
    if state is None:
        return
    answer, without = assign(state, assignor), assign(timed(state, NEVER), assignor)
    assert validate(state, answer) == [], f"seed {seed}"
    assert answer.plan == without.plan
    mine, theirs = (TaskPlacement.of(state, each) for each in (answer, without))
    for task in (task for task in state.tasks if task.logged):
        assert sorted(mine.copies(task.id)) == sorted(theirs.copies(task.id)), f"seed {seed}"
    within = compute_shares(state).active
    if all(number <= within[client].high for client, number in count_copies(state, theirs).active.items()):
        assert answer.clients == without.clients, f"seed {seed}: nobody is overloaded"
    rows = goal(answer), goal(without)
    if None not in rows:
        assert rows[0].value <= _price(state, without), f"seed {seed}"


def _price(state: ApplicationState, answer: TaskAssignment) -> int:
    """Return the goal's value for an answer that was made without offload."""
    from optassign.goals.rebalance import REBALANCE_GOALS
    from optassign.measuring.facts import Facts

    value = REBALANCE_GOALS["offload"].measure(Facts(state, answer))
    assert value is not None
    return int(value)


@both
def test_overload_is_short_and_the_plan_is_reached(assignor: str) -> None:
    scenario = read_scenario("scale-out")
    slow = scenario.model_copy(
        update={
            "subtopologies": (
                scenario.subtopologies[0].model_copy(update={"state": 1_000_000}),
                scenario.subtopologies[0].model_copy(update={"kind": "stateless", "state": 0}),
            ),
            "duration_s": 3_000.0,
        }
    )
    without = slow.model_copy(update={"options": slow.options.model_copy(update={"relief": NEVER})})
    measures, before = (simulate(each, assignor).measures for each in (slow, without))
    assert measures.client_imbalance_s < before.client_imbalance_s / 2
    assert measures.moves_logged <= before.moves_logged
    assert measures.balanced_since() <= before.balanced_since() + 5
    assert measures.curve[-1].imbalance == 0
