"""Tests of the answer's types: their order, their JSON, and refused values."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from optassign.formats.assignment import GoalReport, KafkaStreamsAssignment, Report, TargetAssignment, TaskAssignment


def test_is_sorted_and_written_with_all_fields() -> None:
    answer = TaskAssignment(
        assignor="cp-sat",
        clients=(
            KafkaStreamsAssignment(process_id="b", standby=("0_10", "0_9")),
            KafkaStreamsAssignment(process_id="a", active=("0_10", "0_9"), followup_rebalance_ms=60_000),
        ),
        plan=(TargetAssignment(process_id="b"), TargetAssignment(process_id="a", active=("0_9",))),
        report=Report(goals=(GoalReport(stage="plan", name="restore_work", value=2600, bound=2600, proven=True),)),
    )
    written = json.loads(answer.model_dump_json())
    assert list(written) == ["format", "assignor", "clients", "plan", "report"]
    assert written["clients"] == [
        {"process_id": "a", "active": ["0_9", "0_10"], "standby": [], "warmup": [], "followup_rebalance_ms": 60_000},
        {"process_id": "b", "active": [], "standby": ["0_9", "0_10"], "warmup": [], "followup_rebalance_ms": None},
    ]
    assert [client["process_id"] for client in written["plan"]] == ["a", "b"]
    assert written["report"]["goals"] == [
        {"stage": "plan", "name": "restore_work", "value": 2600, "bound": 2600, "gap": None, "proven": True}
    ]
    assert TaskAssignment.model_validate_json(answer.model_dump_json()) == answer


def test_may_break_rules_but_not_the_format() -> None:
    both = KafkaStreamsAssignment(process_id="a", active=("0_0", "0_0"), standby=("0_0",))
    assert both.active == ("0_0", "0_0")
    wrongs: list[dict[str, Any]] = [{"active": ["zero"]}, {"process_id": ""}, {"followup_rebalance_ms": -1}, {"standby": [1]}]
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            KafkaStreamsAssignment.model_validate({"process_id": "a", **wrong})
    with pytest.raises(ValidationError, match="a second time"):
        TaskAssignment(assignor="x", clients=(both, both))


def test_without_times_removes_times_only() -> None:
    quick = TaskAssignment(assignor="x", clients=(), report=Report(seconds={"plan": 0.1}, notes=("n",)))
    slow = quick.model_copy(update={"report": Report(seconds={"plan": 9}, notes=("n",))})
    assert quick != slow
    assert quick.without_times() == slow.without_times()
    assert quick.without_times().report.notes == ("n",)
