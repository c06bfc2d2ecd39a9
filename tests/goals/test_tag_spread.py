"""Tests of goal `tag_spread`: the most distinct values of each tag, in order, in groups of any size (KIP-708).
They test `optassign.goals.plan.tags`."""

from __future__ import annotations

from itertools import islice

import pytest
from altering import with_configs
from judging import make_snapshot
from seeds import take_few

from optassign.assignor import assign
from optassign.formats.assignment import GoalReport, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.judging.validation import validate
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.spread import count_values_of_tags
from optassign.simulation.convergence import converge
from optassign_benchmarks.studies.tags import find_most, make_snapshots, reached_by
from optassign_models.policy import constants as policy


def without_cp_sat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable CP-SAT, so that the relaxation decides as in a large group."""
    monkeypatch.setattr(policy, "SMALL_PAIRS", 0)
    monkeypatch.setattr(policy, "CP_SAT_VARIABLES", 0)


def rows_of(given: TaskAssignment) -> dict[str, GoalReport]:
    return {goal.name: goal for goal in given.report.goals if goal.stage != "rebalance"}


@pytest.mark.parametrize("number", take_few([12, 18], 1))
def test_with_and_without_cp_sat_the_plan_reaches_the_maximum_and_all_goals_agree(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that both call proven are equal, also if places of tied clients are priced one by one."""
    states = [
        (f"{kind}, {state.application}", state) for kind, state in islice(make_snapshots(40), number) if kind != "a tag, large"
    ]
    most = {name: find_most(state) for name, state in states}
    joint = [answer_and_check(name, state, most[name]) for name, state in states]
    without_cp_sat(monkeypatch)
    compared = 0
    for (name, state), theirs in zip(states, joint, strict=True):
        rows = answer_and_check(name, state, most[name])
        assert rows["tag_spread"].proven, name
        assert rows["restore_work"].proven, name
        for goal, mine in rows.items():
            if goal in theirs and mine.proven and theirs[goal].proven:
                assert mine.value == theirs[goal].value, f"{name}: {goal}"
                compared += 1
            if not mine.proven:
                break
    assert compared >= 25


def answer_and_check(name: str, state: ApplicationState, most: list[int]) -> dict[str, GoalReport]:
    """Return the rows of an answer that keeps the rules, whose plan has as many values as a balanced plan can have."""
    given = assign(state)
    assert validate(state, given) == []
    assert reached_by(state, given) == most, name
    row = rows_of(given)["tag_spread"]
    assert row.bound is None or row.bound >= row.value, name
    return rows_of(given)


@pytest.mark.parametrize("crossing", [True, False])
@pytest.mark.parametrize("tags", [["zone", "cluster"], ["cluster", "zone"]])
def test_two_values_of_the_first_tag_are_worth_more_than_two_of_the_second(tags: list[str], crossing: bool) -> None:
    """No two clients have different values of both tags."""
    clients = {"a": {"zone": "1", "cluster": "1"}, "b": {"zone": "2", "cluster": "1"}, "c": {"cluster": "2"}}
    clients |= {"d": {"zone": "1"}} if crossing else {}
    state = make_snapshot(
        {"0_0": 100_000},
        {name: {"tags": values} for name, values in clients.items()},
        num_standby_replicas=1,
        rack_aware_assignment_tags=tags,
    )
    assert reached_by(state, assign(state)) == find_most(state) == [2, 1]


@pytest.mark.parametrize("shape", ["scale-out", "scale-in", "partial"])
def test_a_group_comes_to_rest_at_the_maximum_of_tags(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warm-ups lead to the maximum, because R5 keeps standbys on caught-up clients."""
    without_cp_sat(monkeypatch)
    made = generate(shape, 40, 9, 1, racks=3, seed=3)  # type: ignore[arg-type]
    state = with_configs(made, rack_aware_assignment_tags=("zone",))
    result = converge(state)
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"
    assert [reached for reached, _ in count_values_of_tags(state, TaskPlacement.of(state, result.final))] == find_most(state)


def test_a_client_without_a_value_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only clients of one zone have the tag: two copies on clients without the tag are not in two zones."""
    without_cp_sat(monkeypatch)
    state = generate("cold", 30, 6, 1, racks=2, seed=1)
    clients = [c.model_copy(update={"tags": {"zone": "r1"} if c.tags["zone"] == "r1" else {}}) for c in state.clients]
    state = with_configs(state.model_copy(update={"clients": tuple(clients)}), rack_aware_assignment_tags=("zone",))
    assert reached_by(state, assign(state)) == [sum(task.logged for task in state.tasks)]


def test_greedy_spreads_copies_that_a_limit_moved_before_the_group_rests() -> None:
    """Seed 30001290 of the fuzzed groups that rest."""
    sizes = {"a": (2, "1"), "b": (2, "1"), "c": (1, "2"), "d": (2, "2"), "e": (1, "1")}
    clients = {name: {"threads": threads, "tags": {"zone": zone}} for name, (threads, zone) in sizes.items()}
    state = make_snapshot(
        {"0_0": 392_890, "0_1": 104_412, "0_2": 55_958, "0_3": 320_219, "0_4": 679_467, "0_5": 4_118_462},
        clients,
        num_standby_replicas=1,
        rack_aware_assignment_tags=["zone"],
        options={"limits": [{"kind": "most_state", "most": 600_000, "clients": ["e"]}]},
    )
    result = converge(state, "greedy")
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"
