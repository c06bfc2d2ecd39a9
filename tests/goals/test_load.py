"""Tests of balance by load: tiny snapshots against enumeration, larger groups against bounds.
They test `optassign.goals.plan.load`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from altering import with_options
from enumeration import Copies, Tiny
from judging import make_snapshot
from tiny import draw_tiny_state
from tiny_placements import to_task_placement

from optassign.assignor import assign
from optassign.formats.assignment import GoalReport, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import Shape, generate
from optassign.judging.metrics import measure
from optassign.judging.validation import validate
from optassign.measuring.load import Loads, balances_load
from optassign.measuring.placement import TaskPlacement, planned_placement, previous_assignment
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot
from optassign_benchmarks.studies.load import EVENTS, drift, make_group, reweigh

OURS = ("cp-sat", "greedy")


def loaded(seed: int, **options: Any) -> ApplicationState:
    rng, state = random.Random(seed), draw_tiny_state(seed, most=800)
    tasks = [task.model_copy(update={"weight": rng.choice([1.0, 2.0, 4.0, 9.5])}) for task in state.tasks]
    return with_options(state.model_copy(update={"tasks": tuple(tasks)}), **options)


def list_plans(state: ApplicationState) -> list[Copies]:
    """Return every plan that keeps R1, R2 and R4, without actives on draining clients while others stay."""
    draining = {client.process_id for client in state.clients if client.draining}
    draining = draining if len(draining) < len(state.clients) else set()
    return [plan for plan in Tiny(state).enumerate_all() if not any(active in draining for active, _ in plan.values())]


def find_goal(answer: TaskAssignment, name: str) -> GoalReport | None:
    return next((goal for goal in answer.report.goals if goal.name == name and goal.stage in ("now", "plan")), None)


# -------------------------------------------------------------------------------------------------------- by enumeration


@pytest.mark.parametrize("assignor", OURS)
@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.4])
def test_load_is_within_its_tolerance_of_the_least_and_no_bound_is_too_great(assignor: str, tolerance: float) -> None:
    looked = 0
    for seed in range(40):
        state = loaded(seed, load_tolerance=tolerance)
        if not balances_load(state):
            continue
        loads = Loads(state)
        plans = list_plans(state)
        least = min(loads.find_greatest(to_task_placement(plan)) for plan in plans)
        given = assign(state, assignor)
        assert validate(state, given) == [], f"seed {seed}"
        load, work = find_goal(given, "load"), find_goal(given, "restore_work")
        assert load is not None
        assert load.bound is not None, f"seed {seed}"
        assert load.bound <= least + 1e-6, f"seed {seed}"
        if given.report.balanced:
            reached = loads.find_greatest(planned_placement(state, given))
            assert reached <= (1 + tolerance) * least * 1.0001 or tolerance == 0.0, f"seed {seed}: {reached}, least {least}"
        if work is not None and work.bound is not None and given.plan is not None:
            allowed = (1 + tolerance) * load.bound
            placed = [(plan, to_task_placement(plan)) for plan in plans]
            inside = [p for p, at in placed if loads.find_greatest(at) <= allowed and not loads.count_idle_threads(at)]
            if inside:
                looked += 1
                assert work.bound <= min(Tiny(state).measure_plan(plan)[0] for plan in inside), f"seed {seed}"
    assert looked >= 3 or assignor == "greedy", "snapshots whose restore work has a bound"


@pytest.mark.parametrize("assignor", OURS)
def test_small_groups_settle_and_rest(assignor: str) -> None:
    for seed in range(30):
        state = loaded(seed)
        if not balances_load(state):
            continue
        result = converge(state, assignor)
        assert (result.settled, result.rests, result.violations) == (True, True, {}), f"seed {seed}\n{result}"


# -------------------------------------------------------------------------------------------------- groups of some size


@pytest.mark.parametrize("weights", ["lognormal", "hot subtopology"])
@pytest.mark.parametrize(("tasks", "clients"), [(100, 10), (250, 25)])
def test_a_fresh_group_is_nearly_balanced(tasks: int, clients: int, weights: Any) -> None:
    for assignor, most in (("cp-sat", 1.005), ("greedy", 1.03)):
        state = make_group("fresh", tasks, clients, 1, weights, seed=3)
        given = assign(state, assignor)
        load = find_goal(given, "load")
        assert load is not None
        assert load.bound is not None
        assert load.value <= most * load.bound
        assert load.proven


@pytest.mark.parametrize("assignor", OURS)
@pytest.mark.parametrize("standbys", [0, 1])
@pytest.mark.parametrize("event", EVENTS)
def test_groups_settle_within_the_tolerance_and_rest(event: Any, standbys: int, assignor: str) -> None:
    state = make_group(event, 60, 6, standbys, "lognormal", seed=5)
    result = converge(state, assignor)
    assert (result.settled, result.rests, result.violations) == (True, True, {})
    loads = Loads(state)
    assert loads.find_greatest(TaskPlacement.of(state, result.final)) <= 1.05 * loads.least_possible * 1.0001
    assert measure(state, result.final).balanced


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("assignor", OURS)
def test_a_pin_to_a_client_that_drains_is_kept_though_no_load_is_great_enough(assignor: str) -> None:
    group = make_group("scale-in", 12, 3, 1, "lognormal", seed=17)
    client = group.clients[0].process_id
    pin = {"kind": "pin", "tasks": ["1_7"], "clients": [client]}
    state = ApplicationState.model_validate({**group.model_dump(), "options": {"drain": [client], "limits": [pin]}})
    given = assign(state, assignor)
    assert validate(state, given) == []
    assert [row.kept for row in given.report.limits] == [True]


def test_a_solver_restores_no_more_than_greedy_and_bounds_it() -> None:
    for event in ("steady", "scale-out", "scale-in"):
        state = make_group(event, 100, 10, 0, "lognormal", seed=7)
        ours, greedy = (find_goal(assign(state, assignor, 300.0), "restore_work") for assignor in OURS)
        assert ours is not None
        assert greedy is not None
        assert ours.value <= greedy.value
        assert ours.bound is not None
        assert ours.value <= 1.03 * ours.bound


def test_the_order_of_lists_makes_no_difference() -> None:
    state = make_group("scale-out", 80, 8, 1, "lognormal", seed=2)
    rng = random.Random(1)
    tasks, clients = list(state.tasks), list(state.clients)
    rng.shuffle(tasks)
    rng.shuffle(clients)
    other = ApplicationState.model_validate(
        {**state.model_dump(), "tasks": [t.model_dump() for t in tasks], "clients": [c.model_dump() for c in clients]}
    )
    assert assign(other).clients == assign(state).clients


# ------------------------------------------------------------------------------------------------------------ standing still


def settle(state: ApplicationState) -> ApplicationState:
    return make_restored_snapshot(state, converge(state, "greedy").final)


@pytest.mark.parametrize("assignor", OURS)
def test_within_the_tolerance_a_group_is_at_rest_and_beyond_it_has_to_gain_enough(assignor: str) -> None:
    settled = settle(make_group("fresh", 60, 6, 1, "lognormal", seed=1))
    rested = moved = 0
    for seed in range(16):
        state = drift(settled, 0.02 * (1 + seed), seed)
        loads = Loads(state)
        before = loads.find_greatest(TaskPlacement.of(state, settled.remembered))  # type: ignore[arg-type]
        given = assign(state, assignor)
        moves = measure(state, given).active_moves
        assert validate(state, given) == []
        if before <= 1.05 * loads.least_possible:
            rested += 1
            assert (given.report.termination.reason, moves) == ("rest", 0), f"seed {seed}"
        elif moves:
            moved += 1
            eager = assign(with_options(state, min_gain=0.0), assignor)
            gained = before - loads.find_greatest(planned_placement(state, given))
            assert gained >= 0.05, f"seed {seed}: {before} was enough"
            assert measure(state, eager).active_moves
    assert min(rested, moved) >= 2


@pytest.mark.parametrize("assignor", OURS)
@pytest.mark.parametrize("standbys", [1, 2])
@pytest.mark.parametrize("shape", ["steady", "scale-out"])
def test_a_draining_client_is_emptied_of_standbys_too(shape: Shape, standbys: int, assignor: str) -> None:
    """Standbys weigh nothing, so the load is balanced with them on any client."""
    state = generate(shape, 20, 5, standbys, 10, seed=standbys)
    state = reweigh(state, [1.0 + number % 3 for number in range(len(state.tasks))])
    leaving = state.clients[0].process_id
    clients = tuple(client.model_copy(update={"draining": client.process_id == leaving}) for client in state.clients)
    state = state.model_copy(update={"clients": clients})
    for _ in range(40):
        given = assign(state, assignor)
        assert validate(state, given) == []
        if all(client.followup_rebalance_ms is None for client in given.clients):
            break
        state = make_restored_snapshot(state, given)
    emptied = given.by_process_id[leaving]
    assert (emptied.active, emptied.standby, emptied.warmup) == ((), (), ())


def test_the_validator_asks_for_rest_within_the_tolerance() -> None:
    """The loads are 2.0 and 2.08 with a mean of 2.04; the other answer swaps them."""
    tasks = stateless(1.0, 1.04, 1.0, 1.04)
    state = make_snapshot(tasks, {"a": {"active": "0_0 0_2"}, "b": {"active": "0_1 0_3"}})
    assert assign(state).report.termination.reason == "rest"
    swapped = assign(make_snapshot(tasks, {"a": {"active": "0_1 0_3"}, "b": {"active": "0_0 0_2"}}))
    assert {violation.rule for violation in validate(state, swapped)} == {"R7"}
    tight = with_options(state, load_tolerance=0.0)
    assert validate(tight, swapped) == [], "what is not balanced may move"


# ------------------------------------------------------------------------------------------------- oversized, threads, options


def stateless(*weights: float) -> dict[str, dict[str, object]]:
    return {f"0_{i}": {"stateful": False, "weight": weight} for i, weight in enumerate(weights)}


@pytest.mark.parametrize("assignor", OURS)
def test_other_tasks_are_balanced_around_an_oversized_one(assignor: str) -> None:
    state = make_snapshot(stateless(1000.0, *[1.0, 1.1] * 12), {"a": {}, "b": {}, "c": {}})
    given = assign(state, assignor)
    number = sorted(len(client.active) for client in given.clients)
    assert number == [1, 12, 12], "the oversized task is alone, the others share the rest"
    assert Loads(state).oversized == {"0_0"}


@pytest.mark.parametrize("assignor", OURS)
def test_an_oversized_task_hides_no_load_of_others(assignor: str) -> None:
    """Next to the weight of 1,000, 18 tasks on b and 6 on c look alike."""
    light = [f"0_{i}" for i in range(1, 25)]
    held = {"a": {"active": "0_0"}, "b": {"active": " ".join(light[:18])}, "c": {"active": " ".join(light[18:])}}
    given = assign(make_snapshot(stateless(1000.0, *[1.0, 1.1] * 12), held), assignor)
    assert given.clients[0].active == ("0_0",)
    assert min(len(client.active) for client in given.clients[1:]) >= 11


@pytest.mark.parametrize("assignor", OURS)
def test_one_heavy_task_uses_one_thread(assignor: str) -> None:
    """With an oversized task on one thread of a, its other thread gets half of the other tasks."""
    state = make_snapshot(stateless(50.0, *[1.0, 1.01] * 10), {"a": {"threads": 2}, "b": {"threads": 1}})
    given = assign(state, assignor)
    with_oversized = next(client for client in given.clients if "0_0" in client.active)
    assert (with_oversized.process_id, len(with_oversized.active)) == ("a", 11)


@pytest.mark.parametrize("assignor", OURS)
def test_slow_threads_get_no_task_that_only_fast_ones_bear(assignor: str) -> None:
    clients = {"fast": {"threads": 4, "capacity": 1.0}, "slow": {"threads": 16, "capacity": 0.25}}
    state = make_snapshot(stateless(6.0, 6.0, *[1.0] * 52), clients)
    given = {client.process_id: client for client in assign(state, assignor).clients}
    assert {"0_0", "0_1"} <= set(given["fast"].active)


@pytest.mark.parametrize("assignor", OURS)
def test_no_thread_is_idle_while_another_has_two(assignor: str) -> None:
    """Without the new client, the load of the others is already within the tolerance."""
    many = [1.0, 1.01] * 22
    names = [f"c{i:02}" for i in range(22)]
    held = {name: {"active": f"0_{2 * i} 0_{2 * i + 1}"} for i, name in enumerate(names)}
    state = make_snapshot(stateless(*many), {**held, "new": {}})
    given = assign(state, assignor)
    assert all(client.active for client in given.clients)
    before = previous_assignment(state).placement(state)
    loads = Loads(state)
    assert loads.find_greatest(before) <= 1.05 * loads.least_possible
    assert not loads.is_balanced(before)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda state: state, True),
        (lambda state: with_options(state, preset="weighted"), False),
        (lambda state: with_options(state, goals=("load", "restore_work")), True),
        (lambda state: with_options(state, goals=("restore_work", "load")), False),
        (lambda state: with_options(state, goals=("restore_work",)), False),
        (lambda state: reweigh(state, [2.0] * len(state.tasks)), False),
    ],
)
def test_when_load_is_what_is_balanced(change: Callable[[ApplicationState], ApplicationState], expected: bool) -> None:
    state = change(make_group("fresh", 12, 3, 0, "lognormal", seed=1))
    assert balances_load(state) is expected


@pytest.mark.parametrize("assignor", OURS)
def test_while_a_draining_client_has_an_active_task_nothing_is_balanced(assignor: str) -> None:
    """The greatest load, of c1, is exactly an even spread, and yet c1 has to give up its active tasks."""
    heavy = {"id": "0_3", "stateful": True, "logged": True, "weight": 0.4}
    caught_up = {"0_0": 0, "0_1": 0, "0_2": 0, "0_3": 300}
    state = ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": 0, "max_warmup_replicas": 1, "acceptable_recovery_lag": 10},
            "tasks": [*({"id": f"0_{i}", "stateful": True, "logged": True} for i in range(3)), heavy],
            "clients": [
                {"process_id": "c0", "threads": 1},
                {"process_id": "c1", "threads": 1, "draining": True, "lags": caught_up},
            ],
        }
    )
    answer = assign(state, assignor)
    assert [client.process_id for client in answer.clients if client.active] == ["c1"]
    assert not measure(state, answer).balanced
    assert not answer.report.balanced
