"""Goal `disk`: state is spread over the clients by its size, standbys included."""

from __future__ import annotations

import random

import pytest
from enumeration import Copies, Tiny
from judging import snapshot
from tiny import tiny_state

from optassign.assignor import assign
from optassign.formats.configs import Options
from optassign.formats.state import ApplicationState
from optassign.generate import generate
from optassign.goals.plan.disk import weigh_disks
from optassign.judging.validation import validate
from optassign.measuring.placement import Placement, planned_placement
from optassign.simulation.convergence import converge

GOALS = ("disk", "restore_work", "cold_copies", "cold_actives", "pauses", "standby_moves")


def ask_for_disk(state: ApplicationState) -> ApplicationState:
    return state.model_copy(update={"options": Options(goals=GOALS)})


def place(copies: Copies) -> Placement:
    active = {task: (client,) for task, (client, _) in copies.items()}
    return Placement(active, {task: tuple(sorted(s)) for task, (_, s) in copies.items()}, dict.fromkeys(copies, ()))


def test_two_large_states_do_not_stay_on_one_client() -> None:
    clients = {
        "a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}},
        "b": {"active": "0_2 0_3", "lags": {"0_2": -2, "0_3": -2}},
    }
    state = snapshot({"0_0": 900_000, "0_1": 900_000, "0_2": 100_000, "0_3": 100_000}, clients, max_warmup_replicas=4)
    counted, spread = assign(state), assign(ask_for_disk(state))
    assert weigh_disks(state, planned_placement(state, counted)) == 1.8
    assert weigh_disks(state, planned_placement(state, spread)) == 1.0
    (row,) = [goal for goal in spread.report.goals if goal.name == "disk"]
    assert (row.value, row.proven) == (1.0, True)


def test_the_plan_has_the_least_of_all_balanced_plans() -> None:
    looked = 0
    for seed in range(40):
        rng, state = random.Random(seed), tiny_state(seed, most=800)
        ends = {task.id: rng.randint(1, 9) * 100_000 for task in state.tasks if task.logged}
        tasks = [task.model_copy(update={"changelog_end_offset": ends.get(task.id)}) for task in state.tasks]
        state = ask_for_disk(state.model_copy(update={"tasks": tasks}))
        tiny = Tiny(state)
        plans = [copies for copies in tiny.all_of([tiny.placements_of(task) for task in state.tasks]) if tiny.balanced(copies)]
        every = [weigh_disks(state, place(copies)) for copies in plans]
        looked += min(every) < max(every)
        given = assign(state)
        assert weigh_disks(state, planned_placement(state, given)) <= min(every) + 0.002, f"seed {seed}"
    assert looked >= 4, "snapshots in which the goal makes a difference"


@pytest.mark.parametrize("shape", ["scale-out", "scale-in", "partial"])
def test_a_group_comes_to_rest_by_it(shape: str) -> None:
    state = ask_for_disk(generate(shape, 24, 4, 1, warmups=8, seed=2))  # type: ignore[arg-type]
    assert validate(state, assign(state)) == []
    result = converge(state)
    assert (result.settled, result.violations) == (True, {}), f"\n{result}"
    counted = converge(state.model_copy(update={"options": Options()}))
    mine, theirs = (weigh_disks(state, Placement.of(state, each.final)) for each in (result, counted))
    assert mine <= theirs + 0.002
