"""Tests that a limit that cannot bind changes no answer, and that temporary offload works under other limits."""

from __future__ import annotations

from typing import Any

import pytest
from altering import with_options
from holding import ASSIGNORS

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.judging.validation import validate
from optassign.measuring.placement import TaskPlacement

TAKEN = "2026-01-01T00:00:00.000+00:00"


def list_loose_limits(state: ApplicationState) -> list[dict[str, Any]]:
    """Return limits that every placement keeps."""
    ids = [client.process_id for client in state.clients]
    return [
        {"kind": "most_active_moves", "most": 1_000},
        {"kind": "most_copies", "most": 1_000, "clients": ids},
        {"kind": "most_state", "most": 10**15, "clients": ids[:1]},
        {"kind": "pin", "tasks": [state.tasks[0].id], "clients": ids},
    ]


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_loose_limits_change_no_answer(shape: Shape, assignor: str) -> None:
    for seed in range(3):
        made = generate(shape, 24, 5, seed % 3, warmups=3, seed=seed, memory=seed == 2)
        state = with_options(made.model_copy(update={"taken_at": TAKEN}), followup="interval")
        without = assign(state, assignor)
        limited = with_options(state, limits=list_loose_limits(state))
        given = assign(limited, assignor)
        assert validate(limited, given) == []
        assert (given.clients, given.plan) == (without.clients, without.plan), f"seed {seed}"
        assert all(row.kept and not row.gave_way for row in given.report.limits)
        assert len(given.report.limits) == 4


def join() -> ApplicationState:
    """Return a group in which four clients share the tasks and two empty ones have just joined; one warm-up at a time."""
    made = generate("scale-out", 48, 6, 1, warmups=1, seed=1)
    return with_options(made.model_copy(update={"taken_at": TAKEN}), followup="interval")


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_tasks_are_offloaded_under_a_loose_limit(assignor: str) -> None:
    state = join()
    free = assign(state, assignor)
    assert any(goal.name == "offload" for goal in free.report.goals), "the case needs offload"
    task, home = next((t, c.process_id) for c in free.clients for t in c.active)
    limited = with_options(state, limits=[{"kind": "pin", "tasks": [task], "clients": [home]}])
    given = assign(limited, assignor)
    assert validate(limited, given) == []
    assert any(goal.name == "offload" for goal in given.report.goals)
    assert TaskPlacement.of(limited, given).active[task][0] == home
