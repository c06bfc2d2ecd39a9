"""Tests of the order of goals as data: presets, goals (a), balance_factor, and draining clients.
They test `optassign.goals.goal`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from altering import with_configs, with_options
from enumeration import Tiny
from judging import make_snapshot
from tiny_placements import to_copies

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import Options
from optassign.formats.input_errors import InputError
from optassign.formats.state import Weights
from optassign.formats.toml_input import read_options
from optassign.generating import generate
from optassign.goals.order import goal_order
from optassign.judging.metrics import measure
from optassign.judging.validation import validate
from optassign.measuring.moves import count_active_moves
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot
from optassign.translating.snapshot import read_situation
from optassign_models.goals import DEFAULT_ORDER

both = pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])


# ------------------------------------------------------------------------------------------------------- the order of goals


def test_options_are_the_same_in_toml_and_in_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    path.write_text(
        """
        balance_factor = 3
        preset = "weighted"
        goals = ["load", "restore_work"]

        [weights]
        instance = 5.0
        stickiness = 0.5
        """,
        encoding="utf-8",
    )
    options = read_options(path)
    assert options == Options.model_validate(
        {
            "balance_factor": 3,
            "preset": "weighted",
            "goals": ["load", "restore_work"],
            "weights": {"instance": 5.0, "stickiness": 0.5},
        }
    )
    state = generate("cold", tasks=4, clients=2).model_copy(update={"options": options})
    order = goal_order(state)
    assert (order.preset, order.names, order.configured) == ("weighted", ("load", "restore_work"), ("load",))
    assert read_situation(state).requests.order.weights == (10, 200, 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("goals = 3", "goals"),
        ('goals = ["speed"]', "goals"),
        ('goals = ["load", "load"]', "goals"),
        ('preset = "best"', "preset"),
        ("balance_factor = 0", "balance_factor"),
        ("[weights]\ninstance = -1.0", "weights.instance"),
        ("colour = 1", "colour"),
    ],
)
def test_invalid_options_are_refused_with_their_place(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "options.toml"
    for head, before in (("", ""), ("[options]\n", "options.")):
        path.write_text(head + text.replace("[weights]", f"[{before}weights]"), encoding="utf-8")
        with pytest.raises(InputError) as error:
            read_options(path)
        assert error.value.place.partition("[")[0] == before + found
        assert str(error.value).startswith(f"{path}: {before}{found}")
        assert "; allowed: " in str(error.value)
        assert "\n" not in str(error.value)


def test_configured_goals_take_part_by_themselves() -> None:
    state = generate("scale-out", tasks=12, clients=3, standbys=1, racks=2)
    assert goal_order(state).names == tuple(goal.name for goal in DEFAULT_ORDER)
    assert goal_order(with_configs(state, rack_aware_assignment_strategy="min_traffic")).configured == ("rack_traffic",)
    assert goal_order(with_configs(state, rack_aware_assignment_tags=("zone",))).configured == ("tag_spread",)
    assert goal_order(generate("scale-out", tasks=12, clients=3, weights=0.5)).configured == ("load",)


# ------------------------------------------------------------------------------------------------------------ preset weighted


def test_weights_decide_between_balance_and_staying() -> None:
    """A client joins: with all weight on stickiness no task moves; with all weight on balance the plan is balanced."""
    state = generate("scale-out", tasks=12, clients=4, standbys=1, seed=2)
    ordered = assign(state)
    stays = assign(with_options(state, preset="weighted", weights={"instance": 0.0, "subtopology": 0.0, "stickiness": 1.0}))
    assert measure(state, stays).active_moves == 0
    assert (stays.plan, measure(state, stays).warmups) == (None, 0)
    balances = assign(with_options(state, preset="weighted", weights={"instance": 1e6, "subtopology": 1e6, "stickiness": 1.0}))
    assert balances.plan is not None
    assert ordered.plan is not None
    moves = [count_active_moves(state, TaskPlacement.of(state, plan)) for plan in (balances.plan, ordered.plan)]
    assert moves[0] > 0
    assert Tiny(state).is_balanced(to_copies(planned_placement(state, balances)))


@pytest.mark.parametrize("shape", ["cold", "steady", "scale-out", "scale-in", "restart", "partial"])
@pytest.mark.parametrize("standbys", [0, 1, 2])
def test_weighted_settles_and_rests(shape: Any, standbys: int) -> None:
    state = with_options(generate(shape, tasks=15, clients=4, standbys=standbys, seed=1), preset="weighted")
    result = converge(state)
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"


def test_a_fractional_face_does_not_leave_a_gap_to_the_least_weighted_sum() -> None:
    """No whole values have the least cost of the relaxation: CP-SAT has to find the next better cost among 3,000 variables."""
    state = generate("scale-out", 200, 20, 1, warmups=2, seed=201)
    weights = Weights(instance=6.921, subtopology=0.54, stickiness=0.15)
    report = assign(with_options(state, preset="weighted", weights=weights)).report
    (total,) = [goal for goal in report.goals if goal.name == "weighted_cost"]
    assert (total.value, total.proven) == (170.25, True)


@pytest.mark.filterwarnings("error")
def test_the_weighted_sum_does_not_overflow() -> None:
    """Two lags are the maximum of int64, and changelogs have five offsets."""
    clients = {
        "a": {"active": "0_0", "lags": {"0_0": -2, "0_1": 2**63 - 1}},
        "b": {"active": "0_1", "lags": {"0_1": 2**63 - 1}},
    }
    state = make_snapshot({"0_0": 5, "0_1": 5}, {**clients, "c": {}}, options={"preset": "weighted"}, num_standby_replicas=1)
    given = assign(state)
    assert validate(state, given) == []
    for goal in given.report.goals:
        assert goal.value >= 0, goal
        assert goal.bound is None or goal.bound >= 0, goal


# ---------------------------------------------------------------------------------------------- balance_factor and draining


@both
@pytest.mark.parametrize(("factor", "moved"), [(1, 2), (2, 2), (3, 1), (4, 1), (5, 0)])
def test_a_wider_share_moves_less(assignor: str, factor: int, moved: int) -> None:
    """Client a owns six of eight stateless tasks. Shares are 4 and 4, or ⌈(f − 1) ÷ 2⌉ more and ⌊(f − 1) ÷ 2⌋ less."""
    tasks = {f"{i}_0": "stateless" for i in range(8)}
    clients = {"a": {"active": [f"{i}_0" for i in range(6)]}, "b": {"active": ["6_0", "7_0"]}}
    state = make_snapshot(tasks, clients, options={"balance_factor": factor})
    given = assign(state, assignor)
    most = 4 + math.ceil((factor - 1) / 2)
    least = 4 - (factor - 1) // 2
    a, b = (len(client.active) for client in given.clients)
    assert least <= b <= a <= most
    assert measure(state, given).active_moves == moved


@both
@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize("shape", ["steady", "scale-out"])
def test_a_draining_client_is_emptied_and_leaves_without_moves(assignor: str, shape: Any, standbys: int) -> None:
    state = generate(shape, tasks=20, clients=5, standbys=standbys, seed=standbys)
    leaving = state.clients[0].process_id
    clients = [c.model_copy(update={"draining": c.process_id == leaving}) for c in state.clients]
    state = state.model_copy(update={"clients": clients})
    for _ in range(60):
        given: TaskAssignment = assign(state, assignor)
        assert validate(state, given) == []
        assert given.by_process_id[leaving].followup_rebalance_ms is None
        state = make_restored_snapshot(state, given)
        if all(client.followup_rebalance_ms is None for client in given.clients):
            break
    emptied = given.by_process_id[leaving]
    assert (emptied.active, emptied.standby, emptied.warmup) == ((), (), ())
    left = state.model_copy(update={"clients": [c for c in state.clients if c.process_id != leaving]})
    again = assign(left, assignor)
    assert again.report.termination.reason == "rest"
    assert again.clients == tuple(client for client in given.clients if client.process_id != leaving)


def test_an_empty_order_of_goals_is_valid() -> None:
    """Neither the first answer nor the next one, with its target remembered, is a fallback."""
    state = with_options(generate("scale-out", 40, 6, 1, 2, seed=1), goals=())
    first = assign(state)
    again = assign(state.model_copy(update={"remembered": first}))
    assert "fallback" not in {first.report.termination.reason, again.report.termination.reason}
