"""Tests of KIP-924's utilities on small cases that can be checked by hand."""

from typing import Any

import pytest

from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.utilities import (
    AssignmentError,
    default_standby_task_assignment,
    identity_assignment,
    validate_task_assignment,
)


def state(threads: dict[str, int], standbys: int = 1, **clients: dict[str, Any]) -> ApplicationState:
    """Return a snapshot with logged tasks 0_0 to 0_3, unlogged 1_0 and stateless 2_0."""
    return ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": standbys},
            "tasks": [
                *({"id": f"0_{i}", "stateful": True} for i in range(4)),
                {"id": "1_0", "stateful": True, "logged": False},
                {"id": "2_0", "stateful": False},
            ],
            "clients": [{"process_id": name, "threads": n, **clients.get(name, {})} for name, n in threads.items()],
        }
    )


def gets(process_id: str, **tasks: str) -> KafkaStreamsAssignment:
    return KafkaStreamsAssignment.model_validate({"process_id": process_id, **{k: v.split() for k, v in tasks.items()}})


def answer(*clients: KafkaStreamsAssignment) -> TaskAssignment:
    return TaskAssignment(assignor="test", clients=clients)


@pytest.mark.parametrize(
    ("error", "clients"),
    [
        (AssignmentError.NONE, [gets("a", active="0_0 2_0", warmup="0_2"), gets("b", active="0_2", standby="0_0")]),
        (AssignmentError.NONE, [gets("a"), gets("b")]),  # Kafka does not notice tasks left out
        (AssignmentError.NONE, [gets("a", standby="1_0"), gets("b")]),  # nor a standby of an unlogged task
        (AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES, [gets("a", active="0_0"), gets("b", active="0_0")]),
        (AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES, [gets("a", active="0_0 0_0"), gets("b")]),
        (AssignmentError.INVALID_STANDBY_TASK, [gets("a", standby="2_0"), gets("b")]),
        (AssignmentError.INVALID_STANDBY_TASK, [gets("a", warmup="2_0"), gets("b")]),
        (AssignmentError.MISSING_PROCESS_ID, [gets("a")]),
        (AssignmentError.UNKNOWN_PROCESS_ID, [gets("a"), gets("b"), gets("c")]),
        (AssignmentError.UNKNOWN_PROCESS_ID, [gets("a"), gets("c")]),
        (AssignmentError.UNKNOWN_TASK_ID, [gets("a", active="0_9"), gets("b")]),
        (AssignmentError.UNKNOWN_TASK_ID, [gets("a", warmup="9_0"), gets("b")]),
    ],
)
def test_validate_task_assignment(error: AssignmentError, clients: list[KafkaStreamsAssignment]) -> None:
    assert validate_task_assignment(state({"a": 1, "b": 1}), answer(*clients)) is error


def test_identity_assignment_keeps_the_previous_tasks() -> None:
    was = state(
        {"b": 1, "a": 1},
        b={"previous_active": ["0_1", "0_0", "9_9"], "previous_standby": ["0_3"]},
        a={"previous_active": ["2_0"]},
    )
    assert identity_assignment(was) == {"a": gets("a", active="2_0"), "b": gets("b", active="0_0 0_1", standby="0_3")}


class TestDefaultStandbyTaskAssignment:
    def test_goes_to_the_least_loaded_per_thread(self) -> None:
        given = {"a": gets("a", active="0_0 0_1"), "b": gets("b", active="0_2 0_3"), "c": gets("c", active="2_0 1_0")}
        result = default_standby_task_assignment(state({"a": 2, "b": 4, "c": 1}), given)
        # Tasks per thread are 1, 1/2 and 2: b gets 0_0 and 0_1 (then 3/4 and 1). Client b runs 0_2 and 0_3: a gets them.
        assert result["b"] == gets("b", active="0_2 0_3", standby="0_0 0_1")
        assert result["a"] == gets("a", active="0_0 0_1", standby="0_2 0_3")
        assert result["c"] == given["c"]

    def test_never_with_another_copy_and_fewer_where_clients_run_out(self) -> None:
        given = {"a": gets("a", active="0_0 0_1 0_2 0_3"), "b": gets("b", warmup="0_0")}
        result = default_standby_task_assignment(state({"a": 1, "b": 1}, standbys=5), given)
        assert result["a"].standby == ()
        assert result["b"].standby == ("0_1", "0_2", "0_3")
        assert result["b"].warmup == ("0_0",)

    def test_standbys_there_already_count(self) -> None:
        given = {"a": gets("a", active="0_0 0_1 0_2 0_3"), "b": gets("b", standby="0_0"), "c": gets("c")}
        result = default_standby_task_assignment(state({"a": 1, "b": 1, "c": 1}), given)
        assert result["b"].standby == ("0_0", "0_2")
        assert result["c"].standby == ("0_1", "0_3")

    def test_no_standby_configured(self) -> None:
        given = {"a": gets("a", active="0_0"), "b": gets("b")}
        assert default_standby_task_assignment(state({"a": 1, "b": 1}, standbys=0), given) == given

    def test_a_client_without_assignment_is_an_error(self) -> None:
        with pytest.raises(KeyError):
            default_standby_task_assignment(state({"a": 1, "b": 1}), {"a": gets("a")})
