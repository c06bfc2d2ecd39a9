"""Tests that the JSON Schemas and the readers accept and refuse the same, and that the committed copies are current."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from optassign.formats.assignment import GoalReport, KafkaStreamsAssignment, Report, TargetAssignment, TaskAssignment, Waiting
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_assignment, read_state
from optassign.schema import Which, json_schema

DATA = Path(__file__).parents[1] / "data"
RECORDINGS = sorted((DATA / "kafka-4.3.1").glob("*.json"))
SNAPSHOT: dict[str, Any] = {  # the fields of a snapshot, some with their defaults
    "format": 1,
    "application": "orders",
    "taken_at": "2026-11-20T15:20:01.123Z",
    "configs": {
        "acceptable_recovery_lag": 10000,
        "max_warmup_replicas": 2,
        "num_standby_replicas": 0,
        "probing_rebalance_interval_ms": 600000,
        "rack_aware_assignment_strategy": "none",
        "rack_aware_assignment_tags": [],
        "rack_aware_traffic_cost": None,
        "rack_aware_non_overlap_cost": None,
    },
    "options": {"balance_factor": 1},
    "tasks": [
        {
            "id": "0_3",
            "stateful": True,
            "logged": True,
            "changelog_end_offset": 126000,
            "weight": 1.0,
            "partitions": [{"topic": "in", "partition": 3, "source": True, "changelog": False, "racks": ["r1"]}],
        }
    ],
    "clients": [
        {
            "process_id": "f268",
            "threads": 2,
            "consumers": {"c-1": ["0_3"], "c-2": []},
            "previous_active": ["0_3"],
            "previous_standby": ["0_1"],
            "lags": {"0_3": -2, "0_1": 512},
            "tags": {"zone": "a"},
            "rack": "r1",
            "host": None,
            "client_id": "orders-1",
            "capacity": 1.0,
            "draining": False,
        }
    ],
    "remembered": None,
}
ANSWER = TaskAssignment(
    assignor="cp-sat",
    clients=(KafkaStreamsAssignment(process_id="f268", active=("0_3",), followup_rebalance_ms=60_000),),
    plan=(TargetAssignment(process_id="f268", active=("0_3",)),),
    report=Report(
        goals=(GoalReport(stage="plan", name="restore_work", value=1, bound=0.5, gap=0.5),),
        waiting=(Waiting(task="0_3", process_id="f268", role="active", lag=5, slot=True),),
        seconds={"plan": 0.25},
    ),
)


def validator(which: Which) -> Any:
    schema = json_schema(which)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_validate_before_and_after_reading(path: Path) -> None:
    validator("state").validate(json.loads(path.read_text(encoding="utf-8")))
    validator("state").validate(json.loads(read_state(path).model_dump_json()))


def test_the_examples_validate() -> None:
    validator("state").validate(SNAPSHOT)
    assert read_state(json.dumps(SNAPSHOT).encode()).application == "orders"
    answer = json.loads(ANSWER.model_dump_json())
    validator("assignment").validate(answer)
    validator("state").validate({**SNAPSHOT, "remembered": answer})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("configs",), None),
        (("configs", "max_warmup_replicas"), 0),
        (("configs", "rack_aware_assignment_strategy"), "max"),
        (("configs", "other"), 1),
        (("options", "goals"), ["speed"]),
        (("tasks", 0, "id"), "0_03"),
        (("tasks", 0, "weight"), 0),
        (("tasks", 0, "partitions", 0, "other"), 0),
        (("clients",), []),
        (("clients", 0, "process_id"), ""),
        (("clients", 0, "threads"), True),
        (("clients", 0, "previous_active"), ["three"]),
        (("clients", 0, "lags"), {"0_3": -1}),
        (("clients", 0, "lags"), {"0_3": 2**63}),
        (("clients", 0, "tags"), {"zone": None}),
        (("other",), 1),
    ],
)
def test_schema_and_reading_refuse_alike(path: tuple[str | int, ...], value: Any) -> None:
    bad = copy.deepcopy(SNAPSHOT)
    _set(bad, path, value)
    assert not validator("state").is_valid(bad)
    with pytest.raises(InputError):
        read_state(json.dumps(bad).encode())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("options",), None),
        (("tasks",), []),
        (("tasks", 0, "logged"), None),
        (("tasks", 0, "partitions", 0, "racks"), None),
        (("clients", 0, "lags"), None),
        (("clients", 0, "x_note"), {"any": [1.5, None]}),
        (("x_note",), None),
    ],
)
def test_schema_and_reading_accept_alike(path: tuple[str | int, ...], value: Any) -> None:
    good = copy.deepcopy(SNAPSHOT)
    _set(good, path, value)
    assert validator("state").is_valid(good)
    read_state(json.dumps(good).encode())


def test_an_answer_without_format_is_refused_by_both() -> None:
    answer = json.loads(ANSWER.model_dump_json())
    del answer["format"]
    assert not validator("assignment").is_valid(answer)
    with pytest.raises(InputError):
        read_assignment(json.dumps(answer).encode())


def _set(data: Any, path: tuple[str | int, ...], value: Any) -> None:
    for step in path[:-1]:
        data = data[step]
    data[path[-1]] = value
