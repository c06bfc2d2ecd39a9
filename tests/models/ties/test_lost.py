"""Tests that tasks without any state are spread over clients, and that nothing else of a plan changes
(docs/reference/rules.md, "Lost tasks")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from optassign.assignor import assign
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.translating.snapshot import read_situation
from optassign_models.goals import evaluate
from optassign_models.problem import BoolArray, IntArray, Placement, make_placement, prepare
from optassign_models.shares import compute_shares, count_copies
from optassign_models.ties import find_lost, spread_lost

END = 1_000_000
NOTHING = np.zeros(0, dtype=np.int64)


def group(lags_of_b: dict[str, int], ends: tuple[int, ...] = (END,) * 6) -> ApplicationState:
    """Return a group: c owns 0_2 … 0_5, a and b are empty except for `lags_of_b`, and no client has state of 0_0 and 0_1."""
    owned = ["0_2", "0_3", "0_4", "0_5"]
    clients: list[dict[str, Any]] = [
        {"process_id": "a", "threads": 1, "previous_active": [], "lags": {}},
        {"process_id": "b", "threads": 1, "previous_active": [], "previous_standby": list(lags_of_b), "lags": lags_of_b},
        {"process_id": "c", "threads": 1, "previous_active": owned, "lags": dict.fromkeys(owned, -2)},
    ]
    tasks = [{"id": f"0_{p}", "stateful": True, "changelog_end_offset": end} for p, end in enumerate(ends)]
    return ApplicationState.model_validate({"format": 1, "configs": {}, "tasks": tasks, "clients": clients})


def spread(state: ApplicationState, active: list[int], rates: list[int] | None = None) -> Placement:
    problem = read_situation(state).problem
    plan = make_placement(np.array(active), NOTHING, problem.C)
    found = spread_lost(problem, plan, None if rates is None else np.array(rates))
    written = prepare(problem)
    assert evaluate(written, found) == evaluate(written, plan)
    shares = compute_shares(problem)
    assert shares.imbalance(count_copies(problem, found)) == shares.imbalance(count_copies(problem, plan))
    return found


def test_two_lost_tasks_do_not_wait_for_one_disk() -> None:
    assert find_lost(read_situation(group({})).problem).tolist() == [True, True, False, False, False, False]
    active = spread(group({}), [0, 0, 1, 1, 2, 2]).active.tolist()
    assert sorted(active[:2]) == [0, 1]
    assert sorted(active) == [0, 0, 1, 1, 2, 2]
    assert active[4:] == [2, 2], "who has a task keeps it"


def test_the_greater_of_two_lost_tasks_goes_to_the_faster_disk() -> None:
    ends = (5 * END, END, END, END, END, END)
    assert spread(group({}, ends), [1, 0, 2, 2, 2, 2], [300_000, 100_000, 1]).active.tolist() == [0, 1, 2, 2, 2, 2]


def test_the_shortest_longest_time_decides_between_equal_sums() -> None:
    """The task of 3 s shares a disk with that of 10 s or of 4 s: they are down for 6 + 13 + 4 or 10 + 6 + 7 seconds."""
    ends = (10 * END, 4 * END, 3 * END, END, END, END)
    state = group({}, ends)
    lost = state.model_copy(update={"clients": tuple(each.model_copy(update=_without(each, "0_2")) for each in state.clients)})
    active = spread(lost, [0, 1, 0, 1, 2, 2], [1_000_000, 1_000_000, 1_000_000]).active.tolist()
    assert active[1] == active[2] != active[0]


def _without(client: KafkaStreamsState, task: str) -> dict[str, Any]:
    return {
        "previous_active": tuple(each for each in client.previous_active if each != task),
        "lags": {each: lag for each, lag in client.lags.items() if each != task},
    }


def test_the_faster_disk_restores_both_if_that_is_sooner() -> None:
    assert spread(group({}), [0, 0, 1, 1, 2, 2], [1_000, 100, 100]).active.tolist() == [0, 0, 1, 1, 2, 2]


def test_no_task_leaves_a_client_that_has_state_of_it() -> None:
    state = group({"0_2": 500_000, "0_3": 500_000})
    assert spread(state, [0, 0, 1, 1, 2, 2]).active.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("seed", range(20))
def test_no_remaining_exchange_lowers_the_sum_of_cubes(seed: int) -> None:
    """Rates differ by a factor of up to a hundred, so a client restores one task or nearly all."""
    dice = np.random.default_rng(seed)
    C, parts, groups = 5, 12, 2
    names = [f"{g}_{p}" for g in range(groups) for p in range(parts)]
    ends = [int(dice.lognormal(13, 0.5)) for _ in names]
    is_lost = dice.random(len(names)) < 0.4
    owner = dice.integers(C, size=len(names))
    clients = []
    for c in range(C):
        mine = [name for name, at, lost in zip(names, owner.tolist(), is_lost, strict=True) if at == c and not lost]
        clients.append({"process_id": f"c{c}", "threads": 1, "previous_active": mine, "lags": dict.fromkeys(mine, -2)})
    tasks = [{"id": name, "stateful": True, "changelog_end_offset": end} for name, end in zip(names, ends, strict=True)]
    state = ApplicationState.model_validate({"format": 1, "configs": {}, "tasks": tasks, "clients": clients})
    rates = (1_000 * 10 ** (2 * dice.random(C))).astype(np.int64)
    before = dice.integers(C, size=len(names))
    active = spread(state, before.tolist(), rates.tolist()).active
    assert is_lost.any(), f"seed {seed}"
    runs_here = ~is_lost & (before == owner)
    assert active[runs_here].tolist() == owner[runs_here].tolist(), f"seed {seed}: who runs a task keeps it"
    now = sum_cubes(active, is_lost, ends, rates)
    assert now <= sum_cubes(before, is_lost, ends, rates), f"seed {seed}"
    for t in np.flatnonzero(is_lost).tolist():
        for u in np.flatnonzero(~runs_here).tolist():
            if t // parts != u // parts or (not is_lost[u] and active[t] == owner[u]):
                continue
            swapped = active.copy()
            swapped[[t, u]] = swapped[[u, t]]
            assert sum_cubes(swapped, is_lost, ends, rates) >= now * (1 - 1e-5), f"seed {seed}: {names[t]} and {names[u]}"


def sum_cubes(active: IntArray, is_lost: BoolArray, ends: Sequence[int], rates: IntArray) -> float:
    """Return the sum of cubed seconds that each lost task is down; copies on a client share its rate equally."""
    lost = np.flatnonzero(is_lost).tolist()
    seconds = [sum(min(ends[t], ends[u]) for u in lost if active[u] == active[t]) / int(rates[active[t]]) for t in lost]
    return sum(each**3 for each in seconds)


@pytest.mark.parametrize("seed", range(5))
def test_after_a_loss_no_exchange_would_save_time(seed: int) -> None:
    """Three of ten clients leave at once; each task has a standby."""
    dice = np.random.default_rng(seed)
    owner = {f"{g}_{p}": int(dice.integers(10)) for g in range(4) for p in range(20)}
    standby = {task: (c + int(dice.integers(1, 10))) % 10 for task, c in owner.items()}
    ends = {task: int(dice.lognormal(13, 0.5)) for task in owner}
    clients = []
    for c in range(3, 10):
        mine, theirs = ([task for task, at in where.items() if at == c] for where in (owner, standby))
        lags = dict.fromkeys(mine, -2) | dict.fromkeys(theirs, 0)
        clients.append({"process_id": f"c{c}", "threads": 1, "previous_active": mine, "previous_standby": theirs, "lags": lags})
    tasks = [{"id": task, "stateful": True, "changelog_end_offset": end} for task, end in ends.items()]
    configs = {"num_standby_replicas": 1, "acceptable_recovery_lag": 100}
    given = {"format": 1, "configs": configs, "tasks": tasks, "clients": clients}
    answer = assign(ApplicationState.model_validate(given), "cp-sat")
    assert answer.plan is not None, f"seed {seed}"
    planned = {task: each.process_id for each in answer.plan for task in each.active}
    standbys = {task: {each.process_id for each in answer.plan if task in each.standby} for task in ends}
    has = {task: {f"c{c}" for c in (owner[task], standby[task]) if c >= 3} for task in ends}
    lost = [task for task in ends if not has[task]]
    waiting = [task for task in ends if has[task] and planned[task] not in has[task]]
    assert lost, f"seed {seed}"
    now = measure(planned, ends, lost)
    for task in lost:
        for other in (*lost, *waiting):
            here, there = planned[task], planned[other]
            in_the_way = there in standbys[task] or here in standbys[other] | has[other]
            if task.split("_")[0] != other.split("_")[0] or in_the_way:
                continue
            then = measure(planned | {task: there, other: here}, ends, lost)
            assert then >= now * (1 - 1e-5), f"seed {seed}: {task} and {other}"


def measure(planned: dict[str, str], ends: dict[str, int], lost: list[str]) -> float:
    """Return `sum_cubes` for clients of equal rates."""
    names, clients = list(ends), sorted(set(planned.values()))
    active = np.array([clients.index(planned[name]) for name in names])
    return sum_cubes(active, np.isin(names, lost), list(ends.values()), np.ones(len(clients), dtype=np.int64))
