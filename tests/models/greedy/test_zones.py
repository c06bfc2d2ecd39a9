"""Tests that greedy spreads the copies of a task over zones and racks within shares and rules."""

from __future__ import annotations

import pytest

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.goals.plan.racks import RACK_TRAFFIC as RACK_TRAFFIC
from optassign.judging.validation import validate
from optassign.measuring.balance import measure_imbalance
from optassign.measuring.facts import Facts
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.measuring.spread import count_tag_values


def first_start(tasks: int, clients: int, zones: int, standbys: int) -> ApplicationState:
    """Return a group without any state; the clients of a zone have consecutive ids."""
    return ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": standbys, "rack_aware_assignment_tags": ["zone"]},
            "tasks": [{"id": f"{i % 4}_{i // 4}", "stateful": True, "changelog_end_offset": 1_000_000} for i in range(tasks)],
            "clients": [
                {"process_id": f"c{i:04}", "threads": 1, "tags": {"zone": f"z{i * zones // clients}"}} for i in range(clients)
            ],
        }
    )


@pytest.mark.parametrize(("clients", "standbys"), [(3, 1), (9, 1), (30, 2), (100, 2)])
def test_a_first_start_puts_nearly_every_copy_of_a_task_into_another_zone(clients: int, standbys: int) -> None:
    state = first_start(360, clients, 3, standbys)
    answer = assign(state, "greedy")
    reached, reachable = count_tag_values(state, TaskPlacement.of(state, answer))
    assert reachable == 360 * (standbys + 1)
    assert reached >= 0.97 * reachable
    assert validate(state, answer) == []
    assert answer.report.balanced


def without_tags(state: ApplicationState) -> ApplicationState:
    configs = state.configs.model_copy(update={"rack_aware_assignment_tags": (), "rack_aware_assignment_strategy": "none"})
    return state.model_copy(update={"configs": configs})


def sum_imbalance(state: ApplicationState, answer: TaskAssignment) -> int:
    return sum(measure_imbalance(state, planned_placement(state, answer)).values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", SHAPES)
def test_spreading_keeps_rules_shares_and_zones(shape: str, seed: int) -> None:
    made = generate(shape, 40, 7, 1, racks=3, seed=seed)  # type: ignore[arg-type]
    state = made.model_copy(
        update={
            "configs": made.configs.model_copy(
                update={"rack_aware_assignment_tags": ("zone",), "rack_aware_assignment_strategy": "min_traffic"}
            ),
            "clients": tuple(
                client.model_copy(update={"tags": {"zone": f"z{i % 3}"}}) for i, client in enumerate(made.clients)
            ),
        }
    )
    state = ApplicationState.model_validate_json(state.model_dump_json())
    with_tags, without = assign(state, "greedy"), assign(without_tags(state), "greedy")
    assert validate(state, with_tags) == []
    assert sum_imbalance(state, with_tags) <= sum_imbalance(state, without)
    spread, plain = (count_tag_values(state, planned_placement(state, answer))[0] for answer in (with_tags, without))
    assert spread >= plain


def test_a_missed_deadline_keeps_the_zones_of_the_remembered_plan() -> None:
    state = first_start(24, 6, 3, 1)
    optimised = assign(state, "cp-sat")
    remembered = state.model_copy(update={"remembered": optimised})
    answer = assign(ApplicationState.model_validate_json(remembered.model_dump_json()), "greedy")
    reached, reachable = count_tag_values(state, planned_placement(state, answer))
    assert reached == reachable


def test_standbys_go_where_their_partitions_are() -> None:
    racks = [f"r{i % 3}" for i in range(6)]
    state = ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": 1, "rack_aware_assignment_strategy": "min_traffic"},
            "tasks": [
                {
                    "id": f"0_{i}",
                    "stateful": True,
                    "changelog_end_offset": 1_000_000,
                    "partitions": [
                        {"topic": "in", "partition": i, "racks": ["r0", "r1", "r2"]},
                        {"topic": "t", "partition": i, "changelog": True, "racks": [f"r{i // 3 % 3}"]},
                    ],
                }
                for i in range(36)
            ],
            "clients": [{"process_id": f"c{i}", "threads": 1, "rack": rack} for i, rack in enumerate(racks)],
        }
    )
    answer, plain = assign(state, "greedy"), assign(without_tags(state), "greedy")
    assert validate(state, answer) == []
    less, more = (RACK_TRAFFIC.measure(Facts(state, found)) for found in (answer, plain))
    assert less is not None
    assert more is not None
    assert less < more
