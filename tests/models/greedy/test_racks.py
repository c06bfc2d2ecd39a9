"""Tests that greedy's trades of actives read less across racks, with the same counts, zones and restore work."""

from __future__ import annotations

import random

import numpy as np
import pytest

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate
from optassign.measuring.balance import measure_imbalance
from optassign.measuring.placement import planned_placement
from optassign.measuring.spread import count_rack_crossings, count_tag_values
from optassign.simulation.convergence import converge
from optassign.translating.snapshot import read_situation
from optassign_benchmarks.studies.racks import STRATEGIES, make_snapshots
from optassign_models.goals import evaluate
from optassign_models.goals.racks import RACK_TRAFFIC
from optassign_models.problem import Placement, Problem, make_placement, prepare
from optassign_models.shares import compute_shares, count_copies
from optassign_models.zones import spread_zones


def place_at_random(problem: Problem, rng: random.Random) -> Placement:
    clients = [rng.sample(range(problem.C), 1 + problem.standbys * int(problem.logged[t])) for t in range(problem.T)]
    standbys = [t * problem.C + c for t, others in enumerate(clients) for c in others[1:]]
    return make_placement(np.array([own[0] for own in clients]), np.array(standbys, dtype=np.int64), problem.C)


def sum_costs(problem: Problem, placed: Placement) -> int:
    keys = np.concatenate([np.arange(problem.T) * problem.C + placed.active, placed.standby_keys(problem.C)])
    return int(problem.cost_of(keys).sum())


@pytest.mark.parametrize("now", [False, True])
def test_trades_leave_counts_and_restore_work_and_less_to_read(now: bool) -> None:
    less = 0
    for number, state in enumerate(make_snapshots("min_traffic", 30)):
        problem = prepare(read_situation(state).problem)
        placed = place_at_random(problem, random.Random(number))
        traded = spread_zones(problem, compute_shares(problem), placed, now=now)
        shares = compute_shares(problem)
        before, after = count_copies(problem, placed), count_copies(problem, traded)
        assert np.array_equal(before[3], after[3]), state.application
        assert shares.imbalance(after) <= shares.imbalance(before), state.application
        assert not np.isin(np.arange(problem.T) * problem.C + traded.active, traded.standby_keys(problem.C)).any(), "R2"
        assert len(traded.standby_task) == len(placed.standby_task), "R4"
        mine, theirs = (evaluate(problem, each, (RACK_TRAFFIC,))[RACK_TRAFFIC.name] for each in (traded, placed))
        assert mine <= theirs, state.application
        assert sum_costs(problem, traded) <= sum_costs(problem, placed), state.application
        first, then = (problem.rank_of(np.arange(problem.T) * problem.C + each.active) for each in (placed, traded))
        assert not now or np.array_equal(first, then), f"{state.application}: R3"
        less += mine < theirs
    assert less > 10


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_greedy_reads_less_in_balance_and_settles(strategy: str) -> None:
    """The same snapshots without the strategy read at least twice as much across racks."""
    less = more = 0
    for state in make_snapshots(strategy, 24):  # type: ignore[arg-type]
        configs = state.configs.model_copy(update={"rack_aware_assignment_strategy": "none"})
        given, plain = (assign(each, "greedy") for each in (state, state.model_copy(update={"configs": configs})))
        assert validate(state, given) == [], state.application
        plan = planned_placement(state, given)
        assert sum(measure_imbalance(state, plan).values()) <= sum(
            measure_imbalance(state, planned_placement(state, plain)).values()
        )
        less += count_rack_crossings(state, plan) or 0
        more += count_rack_crossings(state, planned_placement(state, plain)) or 0
        result = converge(state, "greedy")
        assert (result.settled, result.violations) == (True, {}), f"{state.application}\n{result}"
    assert less < more / 2


def with_zones(state: ApplicationState) -> ApplicationState:
    return state.model_copy(update={"configs": state.configs.model_copy(update={"rack_aware_assignment_tags": ("zone",)})})


def test_racks_cost_no_zone() -> None:
    for made in make_snapshots("min_traffic", 24):
        if not made.configs.num_standby_replicas:
            continue
        state = with_zones(made)
        configs = state.configs.model_copy(update={"rack_aware_assignment_strategy": "none"})
        given, plain = (assign(each, "greedy") for each in (state, state.model_copy(update={"configs": configs})))
        mine, other = (count_tag_values(state, planned_placement(state, answer))[0] for answer in (given, plain))
        assert mine >= other, state.application
