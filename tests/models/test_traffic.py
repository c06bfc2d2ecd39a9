"""Racks beyond the size of the joint model: tasks trade the places that they have, and no trade leaves less to read."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest

from optassign.assignor import assign
from optassign.benchmarks.studies.answers.racks import make_snapshots
from optassign.formats.state import ApplicationState
from optassign.generate import generate
from optassign.goals.plan.rack_traffic import count_rack_crossings
from optassign.judging.validation import validate
from optassign.measuring.balance import is_balanced
from optassign.measuring.placement import Placement as Measured
from optassign.measuring.placement import planned_placement
from optassign.models.flows.traffic import bound_traffic, count_traffic, lessen_traffic
from optassign.models.goals.rack_traffic import NAME, Racks
from optassign.models.problem import Placement, Problem, make_placement
from optassign.models.windows import count_copies
from optassign.simulation.convergence import converge
from optassign.solving.arrays import to_arrays


def place_at_random(problem: Problem, rng: random.Random) -> Placement:
    """Each task on a client, and its standbys on others."""
    clients = [rng.sample(range(problem.C), 1 + problem.standbys * int(problem.logged[t])) for t in range(problem.T)]
    standbys = [t * problem.C + c for t, others in enumerate(clients) for c in others[1:]]
    return make_placement(np.array([own[0] for own in clients]), np.array(standbys, dtype=np.int64), problem.C)


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_trades_leave_counts_as_they_are_and_less_to_read(strategy: str) -> None:
    less = 0
    for number, state in enumerate(make_snapshots(strategy, 30)):  # type: ignore[arg-type]
        problem = to_arrays(state).problem
        placed = place_at_random(problem, random.Random(number))
        traded = lessen_traffic(problem, placed)
        before, after = count_copies(problem, placed), count_copies(problem, traded)
        assert np.array_equal(before.group_active, after.group_active), state.application
        assert np.array_equal(before.group_copies, after.group_copies), state.application
        assert not np.isin(np.arange(problem.T) * problem.C + traded.active, traded.standby_keys(problem.C)).any(), "R2"
        assert bound_traffic(problem) <= count_traffic(problem, traded) <= count_traffic(problem, placed), state.application
        assert lessen_traffic(problem, traded).same_as(traded), f"{state.application}: a group must come to rest"
        less += count_traffic(problem, traded) < count_traffic(problem, placed)
    assert less > 20


@pytest.mark.parametrize("seed", range(20))
def test_actives_of_one_subtopology_trade_for_the_least(seed: int) -> None:
    """Without standbys the least of all ways to deal the places."""
    rng = random.Random(seed)
    racks, clients = ["r1", "r2", "r3"], [f"c{i}" for i in range(4)]
    state = ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"rack_aware_assignment_strategy": "min_traffic", "num_standby_replicas": 0},
            "tasks": [
                {"id": f"0_{i}", "stateful": False, "partitions": [{"topic": t, "racks": [rng.choice(racks)]} for t in "ab"]}
                for i in range(6)
            ],
            "clients": [{"process_id": name, "threads": 1, "rack": rng.choice(racks)} for name in clients],
        }
    )
    problem = to_arrays(state).problem
    data = problem.data_of(NAME, Racks)
    assert data is not None
    places = [rng.randrange(4) for _ in range(6)]
    every = [sum(data.active[t, data.rack_of[c]] for t, c in enumerate(order)) for order in permutations(places)]
    placed = make_placement(np.array(places), np.zeros(0, dtype=np.int64), 4)
    assert count_traffic(problem, lessen_traffic(problem, placed)) == min(every)


@pytest.mark.long
def test_racks_are_served_beyond_the_joint_model() -> None:
    """22,000 pairs: much less is read across racks than without the goal, in balance, and the group comes to rest so."""
    made = generate("scale-out", tasks=220, clients=100, standbys=1, racks=3, warmups=40, seed=3)
    configs = made.configs.model_copy(update={"rack_aware_assignment_strategy": "min_traffic"})
    state = made.model_copy(update={"configs": configs})
    given, without = assign(state), assign(made)
    assert validate(state, given) == []
    plan = planned_placement(state, given)
    assert is_balanced(state, plan)
    less, more = count_rack_crossings(state, plan), count_rack_crossings(made, planned_placement(made, without))
    assert less is not None
    assert more is not None
    assert less < more / 2
    (row,) = [goal for goal in given.report.goals if goal.name == NAME]
    assert row.value == less
    assert row.bound is not None
    assert row.bound <= less
    assert any("rack_traffic" in note and "trade places" in note for note in given.report.notes) == (row.value > row.bound)
    result = converge(state)
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"
    assert (count_rack_crossings(state, Measured.of(state, result.final)) or 0) <= less * 1.1
