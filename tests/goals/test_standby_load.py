"""Tests of the load of standbys (`standby_load`) against a plain computation by docs/reference/rules.md and enumeration."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from altering import with_options
from enumeration import Copies, Tiny
from judging import make_snapshot
from tiny import draw_tiny_state
from tiny_placements import to_task_placement

from optassign.assignor import assign
from optassign.formats.configs import Options
from optassign.formats.state import ApplicationState
from optassign.judging.explain import explain_task
from optassign.judging.metrics import measure
from optassign.judging.validation import validate
from optassign.measuring.load import Loads, balances_load
from optassign.measuring.placement import planned_placement
from optassign.simulation.convergence import converge
from optassign_benchmarks.studies.load import EVENTS, make_group

OURS = ("cp-sat", "greedy")


def loaded(seed: int, share: float, **options: Any) -> ApplicationState:
    rng, state = random.Random(seed), draw_tiny_state(seed, most=800)
    tasks = [task.model_copy(update={"weight": rng.choice([1.0, 2.0, 4.0, 9.5, 40.0])}) for task in state.tasks]
    return with_options(state.model_copy(update={"tasks": tuple(tasks)}), standby_load=share, **options)


def with_share(state: ApplicationState, share: float) -> ApplicationState:
    return with_options(state, standby_load=share)


def weigh_plainly(state: ApplicationState, active: dict[str, str], standby: dict[str, list[str]]) -> float:
    """Return the greatest load, in even spreads, as docs/reference/rules.md defines it, with plain loops and sorting."""
    share = state.options.standby_load
    drains = {c.process_id for c in state.clients if c.draining}
    staying = [c for c in state.clients if c.process_id not in drains] or list(state.clients)
    counts = {c.process_id for c in staying}
    number = min(state.configs.num_standby_replicas, len(state.clients) - 1, len(staying) - 1)
    threads = sorted((c.capacity for c in staying for _ in range(c.threads)), reverse=True)
    together = {t.id: t.weight * (1 + share * number * t.logged) for t in state.tasks}
    oversized: list[str] = []
    in_order = sorted(state.tasks, key=lambda t: -t.weight)
    for task in in_order:
        left = threads[len(oversized) :]
        rest = sum(together[t.id] for t in in_order if t.id not in oversized)
        if not left or task.weight / left[0] <= rest / sum(left) * (1 + 1e-9):
            break
        oversized.append(task.id)
    light = sum(together[t.id] for t in state.tasks if t.id not in oversized)
    even = light / sum(threads[len(oversized) :]) if light else 1.0
    busy = threads[len(oversized) - 1] if oversized else 0.0
    greatest = 0.0
    for client in state.clients:
        sums, alone = 0.0, 0.0
        for task in state.tasks:
            weight = busy if task.id in oversized else task.weight / even
            if active[task.id] == client.process_id:
                sums += max(weight, client.capacity) if task.id in oversized else weight
                alone = max(alone, weight)
            elif client.process_id in standby[task.id] and client.process_id in counts:
                sums += share * weight
                alone = max(alone, share * weight)
        greatest = max(greatest, sums / (client.threads * client.capacity), alone / client.capacity)
    return greatest


def list_plans(state: ApplicationState) -> Iterator[Copies]:
    """Yield plans that use draining clients only for copies without room on other clients."""
    draining = {c.process_id for c in state.clients if c.draining}
    draining = draining if len(draining) < len(state.clients) else set()
    room = len(state.clients) - len(draining)
    for plan in Tiny(state).enumerate_all():
        least = [max(0, 1 + len(standbys) - room) for _, standbys in plan.values()]
        there = [len(standbys & draining) for _, standbys in plan.values()]
        if there == least and not any(active in draining for active, _ in plan.values()):
            yield plan


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_the_measure_follows_the_page(share: float) -> None:
    looked = 0
    for seed in range(60):
        state = loaded(seed, share)
        loads = Loads(state)
        for plan in itertools.islice(list_plans(state), 0, 800, 37):
            active = {task: client for task, (client, _) in plan.items()}
            standby = {task: sorted(standbys) for task, (_, standbys) in plan.items()}
            expected = weigh_plainly(state, active, standby)
            assert loads.find_greatest(to_task_placement(plan)) == pytest.approx(expected), f"seed {seed}: {plan}"
            looked += any(standby.values())
    assert looked >= 50, "plans with standbys"


def count_idle(state: ApplicationState, plan: Copies) -> int:
    """Return the number of threads without a task while others have two."""
    threads = {client.process_id: client.threads for client in state.clients if not client.draining}
    number = Counter(active for active, _ in plan.values())
    without = sum(max(0, most - number[client]) for client, most in threads.items())
    return max(0, without - max(0, sum(threads.values()) - len(state.tasks)))


@pytest.mark.parametrize("assignor", OURS)
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_load_is_within_its_tolerance_and_no_bound_is_too_great(assignor: str, share: float) -> None:
    looked, balanced, beyond = 0, 0, list[int]()
    for seed in range(60):
        state = loaded(seed, share, load_tolerance=0.05)
        if not balances_load(state):
            continue
        loads = Loads(state)
        plans = list(list_plans(state))
        values = [loads.find_greatest(to_task_placement(plan)) for plan in plans]
        given = assign(state, assignor)
        assert validate(state, given) == [], f"seed {seed}"
        load = next(goal for goal in given.report.goals if goal.name == "load" and goal.stage in ("now", "plan"))
        assert load.bound is not None
        assert max(load.bound, loads.least_possible) <= min(values) + 1e-6, f"seed {seed}"
        if given.report.balanced:
            idle = [count_idle(state, plan) for plan in plans]
            least = min(value for value, number in zip(values, idle, strict=True) if number == min(idle))
            balanced += 1
            if loads.find_greatest(planned_placement(state, given)) > 1.05 * least * 1.0001:
                beyond.append(seed)
        work = next((goal for goal in given.report.goals if goal.name == "restore_work" and goal.bound is not None), None)
        if work is not None and work.bound is not None and given.plan is not None:
            inside = [p for p, v in zip(plans, values, strict=True) if v <= 1.05 * load.bound]
            if inside:
                looked += 1
                assert work.bound <= min(Tiny(state).measure_plan(plan)[0] for plan in inside), f"seed {seed}"
    assert looked >= 3 or assignor == "greedy", "snapshots whose restore work has a bound"
    assert len(beyond) <= (balanced // 20 if assignor == "greedy" else 0), f"seeds {beyond}: greedy deals, CP-SAT decides"


@pytest.mark.parametrize("assignor", OURS)
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_groups_settle_within_the_tolerance_and_rest(assignor: str, share: float) -> None:
    for event in EVENTS:
        state = with_share(make_group(event, 60, 6, 1, "lognormal", seed=5), share)
        result = converge(state, assignor)
        assert (result.settled, result.rests, result.violations) == (True, True, {}), event
        at_rest_at_once = result.moved_active == 0 and event != "fresh"  # moves that gain less than min_gain are not made
        assert measure(state, result.final).balanced or at_rest_at_once, event


@pytest.mark.parametrize("assignor", OURS)
def test_small_groups_settle_and_rest(assignor: str) -> None:
    for seed in range(30):
        state = loaded(seed, 0.5)
        if balances_load(state):
            result = converge(state, assignor)
            assert (result.settled, result.rests, result.violations) == (True, True, {}), f"seed {seed}\n{result}"


@pytest.mark.parametrize("assignor", OURS)
@pytest.mark.parametrize("weights", ["lognormal", "hot subtopology"])
def test_a_fresh_group_is_nearly_balanced(assignor: str, weights: Any) -> None:
    state = with_share(make_group("fresh", 100, 10, 1, weights, seed=3), 0.4)
    load = next(goal for goal in assign(state, assignor).report.goals if goal.name == "load")
    assert load.bound is not None
    assert load.value <= 1.02 * load.bound


@pytest.mark.parametrize("assignor", OURS)
def test_a_heavy_standby_is_with_light_actives(assignor: str) -> None:
    """Standbys weigh as much as actives, so each client has one copy of one heavy task."""
    tasks = {
        f"0_{i}": {"stateful": True, "logged": True, "weight": w, "changelog_end_offset": 100_000}
        for i, w in enumerate([8.0, 8.0, 2.0, 2.0, 2.0, 2.0])
    }
    state = with_share(make_snapshot(tasks, {c: {} for c in "abcd"}, num_standby_replicas=1), 1.0)
    given = assign(state, assignor)
    heavy = [{"0_0", "0_1"} & {*client.active, *client.standby} for client in given.clients]
    assert [len(each) for each in heavy] == [1, 1, 1, 1]


def test_goal_load_inside_shares_knows_standbys() -> None:
    """Goal load comes after restore work, so counts keep their shares; one model has all pairs of task and client."""
    tasks = {
        f"0_{i}": {"stateful": True, "logged": True, "weight": w, "changelog_end_offset": 100_000}
        for i, w in enumerate([9.0, 1.0, 1.0, 1.0])
    }
    asked = Options(goals=("restore_work", "load"), standby_load=1.0)
    state = make_snapshot(tasks, {c: {} for c in "ab"}, num_standby_replicas=1).model_copy(update={"options": asked})
    load = next(goal for goal in assign(state).report.goals if goal.name == "load")
    assert load.value == pytest.approx(1.0), "every client has every task"


def test_a_candidates_load_counts_its_standby_once() -> None:
    tasks = {
        f"0_{i}": {"stateful": True, "logged": True, "weight": w, "changelog_end_offset": 100_000}
        for i, w in enumerate([5.0, 4.0])
    }
    state = with_share(make_snapshot(tasks, {c: {} for c in "ab"}, num_standby_replicas=1), 0.5)
    answer = assign(state)
    (other,) = [client.process_id for client in answer.clients if "0_1" in client.active]
    (row,) = [row for row in explain_task(state, answer, "0_0").candidates if row.process_id == other]
    assert row.load_with_it == pytest.approx((5 + 4) / (13.5 / 2))


def test_answers_do_not_change_without_standby_load() -> None:
    state = make_group("scale-out", 40, 4, 1, "lognormal", seed=2)
    assert "standby_load" not in json.loads(state.model_dump_json())["options"]
    assert assign(with_share(state, 0.0)).clients == assign(state).clients
    assert "standby_load" in json.loads(with_share(state, 0.2).model_dump_json())["options"]
