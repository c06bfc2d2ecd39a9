"""Tests of the models' shares against the judge's, which share no code."""

from __future__ import annotations

import numpy as np
import pytest
from tiny import draw_tiny_state

from optassign.formats.state import ApplicationState
from optassign.measuring import balance
from optassign.translating.snapshot import read_situation
from optassign_models.shares import ShareBounds, allow_any_counts, compute_shares


def as_rows(share: ShareBounds, clients: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    return {c: (int(low), int(high)) for c, low, high in zip(clients, share.low, share.high, strict=True)}


@pytest.mark.parametrize("seed", range(300))
def test_shares_are_the_judges(seed: int) -> None:
    state = draw_tiny_state(seed)
    situation = read_situation(state)
    mine, theirs = compute_shares(situation.problem), balance.compute_shares(state)
    assert as_rows(mine.active, situation.inventory.clients) == {c: tuple(w) for c, w in theirs.active.items()}
    assert as_rows(mine.stateful, situation.inventory.clients) == {c: tuple(w) for c, w in theirs.stateful_active.items()}
    assert as_rows(mine.copies, situation.inventory.clients) == {c: tuple(w) for c, w in theirs.copies.items()}
    groups = list(dict.fromkeys(task.task_id.subtopology_key for task in state.tasks))
    for g, key in enumerate(groups):
        row = ShareBounds(mine.group_active.low[g], mine.group_active.high[g])
        assert as_rows(row, situation.inventory.clients) == {c: tuple(w) for c, w in theirs.subtopology_active[key].items()}


def test_water_filling_caps_a_share_of_copies_at_the_tasks() -> None:
    # 8 copies of 4 tasks on threads 6, 1, 1: shares are 6, 1, 1; the first client holds only 4 (R2), the others the rest.
    clients = [{"process_id": f"c{i}", "threads": n} for i, n in enumerate((6, 1, 1))]
    tasks = [{"id": f"0_{p}", "stateful": True} for p in range(4)]
    state = ApplicationState.model_validate(
        {"format": 1, "configs": {"num_standby_replicas": 1}, "tasks": tasks, "clients": clients}
    )
    within = compute_shares(read_situation(state).problem)
    assert within.copies.low.tolist() == within.copies.high.tolist() == [4, 2, 2]
    assert within.active.low.tolist() == [3, 0, 0]
    assert within.active.high.tolist() == [3, 1, 1]


def test_imbalance_grows_with_the_square() -> None:
    share = ShareBounds(np.array([2, 2, 2, 2, 2]), np.array([2, 2, 2, 2, 2]))
    assert share.imbalance(np.array([8, 2, 0, 0, 0])) > share.imbalance(np.array([5, 5, 0, 0, 0]))
    assert share.imbalance(np.array([2, 4, 1, 2, 2])) == 3 + 1


def test_unbounded_shares_hold_everything() -> None:
    free = allow_any_counts(read_situation(draw_tiny_state(3)).problem)
    assert all(int(w.low.max(initial=0)) == 0 for w in free)
