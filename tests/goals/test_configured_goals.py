"""Tests of goals (a), rack traffic and tag spread: tiny snapshots against enumeration, and whole convergences."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from altering import with_configs
from enumeration import Tiny
from judging import make_snapshot
from tiny import draw_tiny_state, put_in_racks
from tiny_placements import to_copies, to_task_placement

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.goals.order import goal_order
from optassign.judging.metrics import measure
from optassign.judging.validation import validate
from optassign.measuring.balance import is_balanced
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.measuring.spread import count_rack_crossings, count_tag_values
from optassign.simulation.convergence import converge

# ------------------------------------------------------------------------------------------------- goals (a) by enumeration


def racked(seed: int) -> ApplicationState:
    state = put_in_racks(draw_tiny_state(seed, most=800), random.Random(seed))
    return with_configs(state, rack_aware_assignment_strategy="min_traffic")


def tagged(seed: int) -> ApplicationState:
    rng, state = random.Random(seed), draw_tiny_state(seed, most=800)
    clients = [c.model_copy(update={"tags": {"zone": rng.choice(["a", "b"])}}) for c in state.clients]
    standbys = max(1, state.configs.num_standby_replicas)
    state = with_configs(state, rack_aware_assignment_tags=("zone",), num_standby_replicas=standbys)
    return state.model_copy(update={"clients": clients})


def crossings(state: ApplicationState, where: TaskPlacement) -> float:
    found = count_rack_crossings(state, where)
    assert found is not None
    return found


def missing_tags(state: ApplicationState, where: TaskPlacement) -> float:
    return -count_tag_values(state, where)[0]


CONFIGURED: dict[str, tuple[Callable[[int], ApplicationState], Callable[[ApplicationState, TaskPlacement], float]]] = {
    "rack_traffic": (racked, crossings),
    "tag_spread": (tagged, missing_tags),
}


@pytest.mark.parametrize("goal", CONFIGURED)
def test_configured_goals_come_first_and_are_reached(goal: str) -> None:
    """The target is the best of all balanced targets, and the group converges to its value."""
    make, value = CONFIGURED[goal]
    looked = 0
    for seed in range(30):
        state = make(seed)
        if goal_order(state).configured != (goal,):
            continue
        every = [value(state, to_task_placement(plan)) for plan in Tiny(state).list_balanced()]
        best = min(every)
        looked += best < max(every)
        given = assign(state)
        assert value(state, planned_placement(state, given)) == best, f"seed {seed}"
        result = converge(state)
        assert (result.settled, result.rests, result.violations) == (True, True, {}), f"seed {seed}\n{result}"
        final = TaskPlacement.of(state, result.final)
        assert Tiny(state).is_balanced(to_copies(final))
        assert value(state, final) == best, f"seed {seed}\n{result}"
    assert looked >= 3, "snapshots in which the goal makes a difference"


def test_racks_matter_only_if_configured() -> None:
    """The snapshot has racks in both cases; only the strategy differs."""
    state = generate("scale-out", tasks=12, clients=3, standbys=1, racks=3, seed=5)
    aware = with_configs(state, rack_aware_assignment_strategy="min_traffic")
    without, given = assign(state), assign(aware)
    assert crossings(state, planned_placement(state, given)) < crossings(state, planned_placement(state, without))
    assert measure(state, without).restore_work <= measure(state, given).restore_work
    assert "rack_traffic" in [goal.name for goal in given.report.goals]
    assert "rack_traffic" not in [goal.name for goal in without.report.goals]


def test_a_goal_in_the_options_moves_a_balanced_group() -> None:
    """A group rests only at the optimum of goals (a) (R7): a has 2 tasks, and b has 1 at a capacity of 1.5."""
    clients = {"a": {"active": "0_0 0_1"}, "b": {"active": "0_2", "capacity": 1.5}}
    tasks = dict.fromkeys(("0_0", "0_1", "0_2"), "unlogged")
    for goals, expected in ((None, [2, 1]), (["load", "active_moves"], [1, 2])):
        state = make_snapshot(tasks, clients, options={"goals": goals, "balance_factor": 3})
        given = assign(state)
        assert [len(client.active) for client in given.clients] == expected
        assert validate(state, given) == []
        assert given.report.termination.reason != "fallback"


@pytest.mark.long
def test_racks_are_optimised_beyond_the_joint_model() -> None:
    """For 22,000 pairs of task and client, the balanced plan reads the least across racks, and the group rests on it."""
    made = generate("scale-out", tasks=220, clients=100, standbys=1, racks=3, warmups=40, seed=3)
    state = with_configs(made, rack_aware_assignment_strategy="min_traffic")
    given, without = assign(state), assign(made)
    assert validate(state, given) == []
    plan = planned_placement(state, given)
    assert is_balanced(state, plan)
    less, more = count_rack_crossings(state, plan), count_rack_crossings(made, planned_placement(made, without))
    assert less is not None
    assert more is not None
    assert less < more / 2
    (row,) = [goal for goal in given.report.goals if goal.name == "rack_traffic"]
    assert (row.value, row.bound) == (less, less)
    assert not any("rack_traffic" in note for note in given.report.notes)
    result = converge(state)
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"
    assert (count_rack_crossings(state, TaskPlacement.of(state, result.final)) or 0) <= less
