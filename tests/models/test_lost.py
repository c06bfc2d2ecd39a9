"""Tasks of which nobody has state are spread over clients, and nothing else of a plan changes (docs/rules.md, "Lost tasks")."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.models.forced import prepare
from optassign.models.lost import find_lost, spread_lost
from optassign.models.problem import Placement, make_placement
from optassign.models.values import plan_values
from optassign.models.windows import compute_excess, compute_windows
from optassign.solving.arrays import to_arrays

END = 1_000_000
NOTHING = np.zeros(0, dtype=np.int64)


def group(lags_of_b: dict[str, int], ends: tuple[int, ...] = (END,) * 6) -> ApplicationState:
    """Client c owns 0_2 … 0_5, a and b are empty but for `lags_of_b`; nobody has 0_0 and 0_1."""
    owned = ["0_2", "0_3", "0_4", "0_5"]
    clients: list[dict[str, Any]] = [
        {"process_id": "a", "threads": 1, "previous_active": [], "lags": {}},
        {"process_id": "b", "threads": 1, "previous_active": [], "previous_standby": list(lags_of_b), "lags": lags_of_b},
        {"process_id": "c", "threads": 1, "previous_active": owned, "lags": dict.fromkeys(owned, -2)},
    ]
    tasks = [{"id": f"0_{p}", "stateful": True, "changelog_end_offset": end} for p, end in enumerate(ends)]
    return ApplicationState.model_validate({"format": 1, "configs": {}, "tasks": tasks, "clients": clients})


def spread(state: ApplicationState, active: list[int], rates: list[int] | None = None) -> Placement:
    problem = to_arrays(state).problem
    plan = make_placement(np.array(active), NOTHING, problem.C)
    found = spread_lost(problem, plan, None if rates is None else np.array(rates))
    written, forced = prepare(problem)
    assert plan_values(written, forced, found) == plan_values(written, forced, plan)
    windows = compute_windows(problem)
    assert compute_excess(problem, windows, found) == compute_excess(problem, windows, plan)
    return found


def test_two_lost_tasks_do_not_wait_for_one_disk() -> None:
    assert find_lost(to_arrays(group({})).problem).tolist() == [True, True, False, False, False, False]
    active = spread(group({}), [0, 0, 1, 1, 2, 2]).active.tolist()
    assert sorted(active[:2]) == [0, 1]
    assert sorted(active) == [0, 0, 1, 1, 2, 2]
    assert active[4:] == [2, 2], "who has a task keeps it"


def test_the_faster_disk_restores_both_where_that_is_sooner() -> None:
    assert spread(group({}), [0, 0, 1, 1, 2, 2], [1_000, 100, 100]).active.tolist() == [0, 0, 1, 1, 2, 2]


def test_no_task_leaves_a_client_that_has_state_of_it() -> None:
    state = group({"0_2": 500_000, "0_3": 500_000})
    assert spread(state, [0, 0, 1, 1, 2, 2]).active.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("seed", range(5))
def test_after_a_loss_no_exchange_would_save_time(seed: int) -> None:
    """Ten clients, a standby each task; three leave at once."""
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
    for task in lost:
        for other in waiting:
            here, there = planned[task], planned[other]
            if task.split("_")[0] != other.split("_")[0] or there in standbys[task] or here in standbys[other] | has[other]:
                continue
            stays, goes = (
                sum(min(ends[task], ends[x]) for x in lost if x != task and planned[x] == at) for at in (here, there)
            )
            assert goes >= stays, f"seed {seed}: {task} waits less on {there}"
