"""Tests of the queue for warm-up slots (docs/reference/rules.md, "Warm-ups")."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.translating.snapshot import read_situation
from optassign_models.policy.constants import PATIENCE
from optassign_models.problem import Placement, make_placement
from optassign_models.shares import compute_shares
from optassign_models.warmups import Progress, Restoring, queue_warmups

NOTHING = np.zeros(0, dtype=np.int64)
NO_PROGRESS = Progress(NOTHING, NOTHING, NOTHING, NOTHING)
END = 1_000_000


def moving(lags_of_c1: dict[str, int], warmups: int = 2, owners: tuple[str, ...] = ("c0",) * 4) -> ApplicationState:
    """Return a group in which owners run tasks 0_0, 0_1 …, and c1 has the given lags."""
    clients: list[dict[str, Any]] = []
    for name in sorted({"c0", "c1", *owners}):
        mine = [f"0_{p}" for p, owner in enumerate(owners) if owner == name]
        lags = dict.fromkeys(mine, -2) | (lags_of_c1 if name == "c1" else {})
        clients.append({"process_id": name, "threads": 1, "previous_active": mine, "lags": lags})
    tasks = [{"id": f"0_{p}", "stateful": True, "changelog_end_offset": END} for p in range(len(owners))]
    return ApplicationState.model_validate(
        {"format": 1, "configs": {"max_warmup_replicas": warmups}, "tasks": tasks, "clients": clients}
    )


def order(
    state: ApplicationState,
    answer: list[int],
    plan: list[int],
    under_way: tuple[int, ...] = (),
    progress: Progress = NO_PROGRESS,
) -> list[int]:
    """Return the tasks of the queue in order."""
    problem = read_situation(state).problem

    def placed(active: list[int]) -> Placement:
        return make_placement(np.array(active), NOTHING, problem.C)

    going = np.array(sorted(under_way), dtype=np.int64)
    keys, served = queue_warmups(problem, compute_shares(problem), placed(plan), placed(answer), Restoring(going, progress))
    assert served == min(len(keys), state.configs.max_warmup_replicas)
    return [int(task) for task in keys // problem.C]


def test_copies_under_way_come_first() -> None:
    assert order(moving({}), [0] * 4, [1] * 4, under_way=(2 * 2 + 1,))[0] == 2


def test_copies_with_most_to_lose_come_next() -> None:
    assert order(moving({"0_1": 900_000, "0_3": 200_000}), [0] * 4, [1] * 4) == [3, 1, 0, 2]


def test_tasks_of_the_client_furthest_over_its_share_come_next() -> None:
    owners = ("c0", "c2", "c2", "c2")  # shares are 1 to 2: c2 is above, c0 is not
    assert order(moving({}, owners=owners), [0, 2, 2, 2], [1, 1, 2, 2])[0] == 1


def test_the_least_lag_decides_between_equal_copies() -> None:
    state = moving({"0_0": END, "0_2": END + 5})
    assert order(state, [0] * 4, [1, 0, 1, 0]) == [0, 2]


def test_a_copy_without_progress_goes_to_the_end() -> None:
    key = 0 * 2 + 1
    progress = Progress(np.array([key]), np.array([END]), np.array([PATIENCE]), np.array([0]))
    assert order(moving({}), [0] * 4, [1] * 4, under_way=(key,), progress=progress)[-1] == 0


def test_a_caught_up_copy_takes_no_slot_of_another_but_keeps_its_own() -> None:
    assert order(moving({"0_0": 5}), [0] * 4, [1] * 4)[-1] == 0
    assert order(moving({"0_0": 5}), [0] * 4, [1] * 4, under_way=(0 * 2 + 1,))[0] == 0


def test_a_client_restores_copies_that_end_together() -> None:
    """Client c1 restores 0_0, and 0_2 would take nearly as long; or c1 restores 0_3, and 0_0 comes nearest to that."""
    state = moving({}, owners=("c0",) * 5)
    ends = (500_000, 200_000, 490_000, 900_000, 100_000)
    tasks = [task.model_copy(update={"changelog_end_offset": end}) for task, end in zip(state.tasks, ends, strict=True)]
    resized = state.model_copy(update={"tasks": tuple(tasks)})
    assert order(resized, [0] * 5, [1] * 5, under_way=(0 * 2 + 1,))[:2] == [0, 2]
    assert order(resized, [0] * 5, [1] * 5, under_way=(3 * 2 + 1,))[:2] == [3, 0]


def test_the_most_state_at_risk_decides_only_while_no_rate_is_known() -> None:
    """If a rate is known, the second slot goes to the copy that ends together with 0_0, otherwise to that with most to lose."""
    state = moving({"0_0": 500_000, "0_1": 100_000, "0_2": 480_000})
    problem = read_situation(state).problem
    plan, answer = (make_placement(np.full(4, client), NOTHING, problem.C) for client in (1, 0))
    for rates, second in ((np.full(problem.C, 10), 2), (None, 1)):
        keys, _ = queue_warmups(problem, compute_shares(problem), plan, answer, Restoring(np.array([1]), NO_PROGRESS, rates))
        assert (keys[:2] // problem.C).tolist() == [0, second]


@pytest.mark.parametrize("is_timed", [True, False])
def test_state_at_risk_does_not_share_a_disk_if_follow_ups_are_timed(is_timed: bool) -> None:
    """Client c1 has most state of 0_0 and 0_1, c2 less of 0_2 and 0_3."""
    lags = {"c1": {"0_0": 100_000, "0_1": 110_000}, "c2": {"0_2": 500_000, "0_3": 510_000}}
    tasks = [{"id": f"0_{p}", "stateful": True, "changelog_end_offset": END} for p in range(4)]
    mine = [str(task["id"]) for task in tasks]
    clients: list[dict[str, Any]] = [
        {"process_id": "c0", "threads": 1, "previous_active": mine, "lags": dict.fromkeys(mine, -2)}
    ]
    for name, has in lags.items():
        clients.append({"process_id": name, "threads": 1, "previous_standby": list(has), "lags": has})
    given = {"format": 1, "configs": {"max_warmup_replicas": 2}, "tasks": tasks, "clients": clients}
    problem = read_situation(ApplicationState.model_validate(given)).problem
    plan, answer = (make_placement(np.array(active), NOTHING, problem.C) for active in ([1, 1, 2, 2], [0] * 4))
    restoring = Restoring(NOTHING, NO_PROGRESS, None, is_timed=is_timed)
    keys, _ = queue_warmups(problem, compute_shares(problem), plan, answer, restoring)
    assert sorted((keys[:2] % problem.C).tolist()) == ([1, 2] if is_timed else [1, 1])


def test_clients_restore_copies_that_end_together() -> None:
    """Client c1 restores 0_0. Of c2 and c3, which have no slot, c2 has more left, and c3 a copy that takes as long as 0_0."""
    ends = (500_000, 300_000, 300_000, 490_000)
    tasks = [{"id": f"0_{p}", "stateful": True, "changelog_end_offset": end} for p, end in enumerate(ends)]
    mine = [str(task["id"]) for task in tasks]
    clients: list[dict[str, Any]] = [{"process_id": name, "threads": 1} for name in ("c0", "c1", "c2", "c3")]
    clients[0] |= {"previous_active": mine, "lags": dict.fromkeys(mine, -2)}
    given = {"format": 1, "configs": {"max_warmup_replicas": 2}, "tasks": tasks, "clients": clients}
    problem = read_situation(ApplicationState.model_validate(given)).problem
    plan, answer = make_placement(np.array([1, 2, 2, 3]), NOTHING, 4), make_placement(np.zeros(4, dtype=np.int64), NOTHING, 4)
    keys, _ = queue_warmups(problem, compute_shares(problem), plan, answer, Restoring(np.array([1]), NO_PROGRESS))
    assert (keys[:2] // 4).tolist() == [0, 3]


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
def test_each_client_restores_while_one_drains(assignor: str) -> None:
    """Tasks of the draining client come first, and do not keep other clients from restoring."""
    tasks = [{"id": f"0_{p}", "stateful": True, "changelog_end_offset": END} for p in range(20)]
    clients: list[dict[str, Any]] = [{"process_id": name, "threads": 1} for name in "abcdefg"]
    for client, first in ((clients[0], 0), (clients[1], 10)):
        mine = [f"0_{p}" for p in range(first, first + 10)]
        client |= {"previous_active": mine, "lags": dict.fromkeys(mine, -2)}
    clients[0]["draining"] = True
    given = {"format": 1, "taken_at": "2026-01-01T00:00:00Z", "configs": {"max_warmup_replicas": 20}}
    answer = assign(ApplicationState.model_validate({**given, "tasks": tasks, "clients": clients}), assignor)
    assert answer.plan is not None
    planned = {client.process_id for client in answer.plan if client.active}
    assert {client.process_id for client in answer.clients if client.warmup} == planned - {"b"}
