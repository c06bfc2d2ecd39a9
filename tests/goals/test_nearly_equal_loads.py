"""Tests that a group at rest whose loads are nearly equal does not move.

CockroachDB's allocator once divided the load of a store by 128 KiB/s and cut off the fraction. A store with 920 KB/s counted
as 7, one with 910 KB/s as 6, so the first seemed overloaded by a sixth. No move could change that, and the allocator made
13,260 of them in six hours (issue 164539 of cockroachdb/cockroach). These tests have its stores as clients, its ranges as
tasks, and KB/s as weights.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from judging import make_snapshot

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.judging.metrics import measure
from optassign.simulation.successors import make_restored_snapshot

CLIENTS, TASKS_EACH = 6, 25
ROUNDS = 8
LOADS = (920.0, 910.0)
"""KB/s of alternate clients: a multiple of 131.072 KB/s, 917.504, lies between them."""
both = pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])


def make_group(noise: float, seed: int, **options: Any) -> ApplicationState:
    """Return a snapshot of clients whose loads differ by 1%, with restored tasks; weights vary by the share `noise`."""
    rng = random.Random(seed)
    owned = {f"c{c}": [f"0_{c * TASKS_EACH + n}" for n in range(TASKS_EACH)] for c in range(CLIENTS)}
    tasks = {
        task: {"changelog_end_offset": 1_000, "weight": round(LOADS[c % 2] / TASKS_EACH * rng.uniform(1 - noise, 1 + noise), 3)}
        for c, (_, names) in enumerate(owned.items())
        for task in names
    }
    clients = {name: {"active": names, "lags": dict.fromkeys(names, -2)} for name, names in owned.items()}
    return make_snapshot(tasks, clients, options=options)


def require_rest(state: ApplicationState, assignor: str) -> ApplicationState:
    """Check that an answer moves nothing, warms up nothing and requests no follow-up; return the next snapshot."""
    given = assign(state, assignor)
    measures = measure(state, given)
    assert (measures.active_moves, measures.restore_work, measures.warmups) == (0, 0, 0)
    assert given.plan is None
    assert all(client.followup_rebalance_ms is None for client in given.clients)
    return make_restored_snapshot(state, given)


@both
def test_one_percent_across_a_rounding_step_moves_nothing(assignor: str) -> None:
    require_rest(make_group(0.0, seed=0), assignor)


@both
@pytest.mark.parametrize("memory", [True, False])
def test_weights_that_waver_around_the_step_move_nothing(assignor: str, memory: bool) -> None:
    """Each round has other weights, so that each client is sometimes above and sometimes below the step."""
    state = make_group(0.02, seed=0)
    for seed in range(ROUNDS):
        weights = {task.id: task.weight for task in make_group(0.02, seed).tasks}
        told = tuple(task.model_copy(update={"weight": weights[task.id]}) for task in state.tasks)
        remembered = state.remembered if memory else None
        state = require_rest(state.model_copy(update={"tasks": told, "remembered": remembered}), assignor)


@both
def test_a_tolerance_of_0_causes_no_move_without_gain(assignor: str) -> None:
    """Without a tolerance only `min_gain` prevents moves: the greatest load is 0.5% above the mean."""
    require_rest(make_group(0.0, seed=0, load_tolerance=0.0), assignor)


@both
def test_rates_that_nearly_tie_move_nothing(assignor: str) -> None:
    """Measured rates count in multiples of their mean with three digits; the lost digit moves nothing."""
    state = make_group(0.0, seed=0, weigh_by="rates")
    rng, written, moved = random.Random(1), dict.fromkeys(state.all_tasks, 0), 0
    for minute in range(ROUNDS):
        for c, client in enumerate(state.clients):
            for task in client.previous_active:
                written[task] += round(60_000 * LOADS[c % 2] / TASKS_EACH * rng.uniform(0.98, 1.02))
        told = tuple(task.model_copy(update={"source_end_offset": written[task.id]}) for task in state.tasks)
        document = state.model_copy(update={"tasks": told}).model_dump(mode="json")
        document["taken_at"] = f"2026-01-01T00:{2 * minute:02}:00Z"
        state = ApplicationState.model_validate(document)
        given = assign(state, assignor)
        moved += measure(state, given).active_moves
        state = make_restored_snapshot(state, given)
    assert state.remembered is not None
    assert state.remembered.report.rates is not None, "rates were measured"
    assert moved == 0
