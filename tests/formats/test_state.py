"""Tests of the snapshot's types: defaults, limits, order, dropped entries, and KIP-924's methods."""

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from optassign.formats.assignment import (
    Dropped,
    GoalReport,
    KafkaStreamsAssignment,
    Report,
    TargetAssignment,
    TaskAssignment,
    Termination,
    Waiting,
    WarmupProgress,
)
from optassign.formats.base import Frozen
from optassign.formats.state import (
    ApplicationState,
    AssignmentConfigs,
    KafkaStreamsState,
    Options,
    TaskId,
    TaskInfo,
    TaskTopicPartition,
    Weights,
)

RECORDINGS = sorted((Path(__file__).parents[1] / "data" / "kafka-4.3.1").glob("*.json"))
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
WEIGHTS_ALLOWED: list[Any] = [{"instance": 0}, {"stickiness": 0.5}, {}]
WEIGHTS_REFUSED = [{"instance": -1}, {"other": 1}, {"instance": "1"}, {"subtopology": float("inf")}, 1]
LAGS_ALLOWED = [{"0_10": lag} for lag in (-3, -2, 0, INT64_MAX)]
LAGS_REFUSED = [{"0_10": lag} for lag in (-1, -4, INT64_MAX + 1, 1.0, "1", None, True)]


def small(**changes: Any) -> dict[str, Any]:
    """Return the JSON of two clients, and subtopologies 0 (logged), 1 (unlogged) and 2 (stateless)."""
    return {
        "format": 1,
        "configs": {"num_standby_replicas": 1},
        "tasks": [
            {"id": "0_10", "stateful": True, "changelog_end_offset": 70},
            {"id": "0_9", "stateful": True},
            {"id": "1_0", "stateful": True, "logged": False},
            {"id": "2_0", "stateful": False},
        ],
        "clients": [
            {"process_id": "b", "threads": 1, "previous_standby": ["0_10", "0_9"], "lags": {"0_10": 7, "0_9": 20_000}},
            {
                "process_id": "a",
                "threads": 2,
                "consumers": {"c-2": ["2_0"], "c-1": ["1_0", "0_10", "0_9"]},
                "previous_active": ["2_0", "1_0", "0_10", "0_9"],
                "lags": {"0_10": -2, "0_9": -3},
            },
        ],
        **changes,
    }


def state(**changes: Any) -> ApplicationState:
    return ApplicationState.model_validate(small(**changes))


class TestDefaults:
    def test_only_what_has_no_default_is_required(self) -> None:
        least = {
            "format": 1,
            "configs": {},
            "tasks": [{"id": "0_0", "stateful": True}],
            "clients": [{"process_id": "a", "threads": 1}],
        }
        made = ApplicationState.model_validate(least)
        assert made.options == Options()
        assert made.configs == AssignmentConfigs()
        assert made.remembered is None
        assert made.dropped == Dropped()

    @pytest.mark.parametrize(("stateful", "logged", "kind"), [
        (True, None, "logged"), (True, True, "logged"), (True, False, "unlogged"), (False, None, "stateless"),
        (False, False, "stateless"),
    ])  # fmt: skip
    def test_logged_is_stateful_unless_said(self, stateful: bool, logged: bool | None, kind: str) -> None:
        task = TaskInfo.model_validate({"id": "0_0", "stateful": stateful, "logged": logged})
        assert task.logged == (kind == "logged")
        assert task.kind == kind

    def test_a_partition_is_a_source_unless_it_is_a_changelog(self) -> None:
        assert TaskTopicPartition(topic="in", partition=0).source
        assert not TaskTopicPartition(topic="log", partition=0, changelog=True).source
        assert TaskTopicPartition(topic="table", partition=0, changelog=True, source=True).source

    @pytest.mark.parametrize(
        ("model", "least"),
        [
            (AssignmentConfigs, {}),
            (Weights, {}),
            (Options, {}),
            (TaskTopicPartition, {}),
            (TaskInfo, {"id": "0_0", "stateful": True}),
            (KafkaStreamsState, {"process_id": "a", "threads": 1}),
            (ApplicationState, small()),
            (KafkaStreamsAssignment, {"process_id": "a"}),
            (TargetAssignment, {"process_id": "a"}),
            (GoalReport, {"stage": "plan", "name": "g", "value": 1}),
            (WarmupProgress, {"task": "0_0", "process_id": "a"}),
            (Waiting, {"task": "0_0", "process_id": "a", "role": "active"}),
            (Termination, {}),
            (Dropped, {}),
            (Report, {}),
            (TaskAssignment, {"assignor": "x", "clients": []}),
        ],
    )
    def test_null_means_default_where_there_is_one(self, model: type[Frozen], least: dict[str, Any]) -> None:
        optional = {name: None for name, field in model.model_fields.items() if not field.is_required()}
        assert model.model_validate({**optional, **least}) == model.model_validate(least)
        for name in least:
            if model.model_fields[name].is_required():
                with pytest.raises(ValidationError):
                    model.model_validate({**least, name: None})


class TestLimits:
    @pytest.mark.parametrize(
        ("model", "field", "good", "bad"),
        [
            (AssignmentConfigs, "acceptable_recovery_lag", [0, INT64_MAX], [-1, INT64_MAX + 1, 1.0, True, "1"]),
            (AssignmentConfigs, "max_warmup_replicas", [1, INT32_MAX], [0, INT32_MAX + 1, 1.5]),
            (AssignmentConfigs, "num_standby_replicas", [0, INT32_MAX], [-1, INT32_MAX + 1, False]),
            (AssignmentConfigs, "probing_rebalance_interval_ms", [60_000, INT64_MAX], [59_999, INT64_MAX + 1]),
            (AssignmentConfigs, "rack_aware_traffic_cost", [0, INT32_MAX, None], [-1, INT32_MAX + 1]),
            (AssignmentConfigs, "rack_aware_non_overlap_cost", [0, INT32_MAX, None], [-1, INT32_MAX + 1]),
            (AssignmentConfigs, "rack_aware_assignment_tags", [["b", "a"], ()], ["a", ["a", "a"], [""], [1]]),
            (Options, "balance_factor", [1, 9], [0, 1.0, True]),
            (Options, "preset", ["lexicographic", "weighted"], ["Ordered", ""]),
            (Options, "goals", [["load", "rack_traffic"], [], None], [["load", "load"], ["loads"], "load"]),
            (Options, "weights", WEIGHTS_ALLOWED, WEIGHTS_REFUSED),
        ],
    )
    def test_of_configs_and_options(self, model: type[Frozen], field: str, good: list[Any], bad: list[Any]) -> None:
        for value in good:
            model.model_validate({field: value})
        for value in bad:
            with pytest.raises(ValidationError):
                model.model_validate({field: value})

    @pytest.mark.parametrize(
        ("where", "field", "good", "bad"),
        [
            ("clients", "threads", [1, INT32_MAX], [0, -1, INT32_MAX + 1, 1.0, True, "2"]),
            ("clients", "capacity", [1e-6, 1, 1e6], [9e-7, 1e6 + 1, 0, -1, True, "1", float("nan"), float("inf")]),
            ("clients", "draining", [True, False], [1, 0, "true"]),
            ("clients", "process_id", ["c", "ü", " "], ["", 1]),
            ("clients", "lags", LAGS_ALLOWED, LAGS_REFUSED),
            ("clients", "tags", [{"zone": "a"}, {"": ""}], [{"zone": 1}, {"zone": None}, ["zone"]]),
            ("clients", "host", ["h:80"], [80]),
            ("clients", "client_id", ["orders-1", None], [1, ["orders-1"]]),
            ("tasks", "weight", [1e-9, 1, 1e9], [0, -1, 1e9 + 1, float("inf"), float("nan"), True, 10**400]),
            ("tasks", "changelog_end_offset", [0, INT64_MAX], [-1, INT64_MAX + 1, 0.0]),
            ("tasks", "stateful", [True], [1, "true", None]),
        ],
    )
    def test_of_tasks_and_clients(self, where: str, field: str, good: list[Any], bad: list[Any]) -> None:
        def with_value(value: Any) -> dict[str, Any]:
            changed = small()
            changed[where][0][field] = value
            return changed

        for value in good:
            ApplicationState.model_validate(with_value(value))
        for value in bad:
            with pytest.raises(ValidationError):
                ApplicationState.model_validate(with_value(value))

    @pytest.mark.parametrize("value", [0, 2, "1", 1.0, True, None])
    def test_of_format(self, value: Any) -> None:
        with pytest.raises(ValidationError):
            state(format=value)
        if value is not None:
            with pytest.raises(ValidationError):
                TaskAssignment.model_validate({"format": value, "assignor": "x", "clients": []})


class TestExtraFields:
    def test_fields_that_begin_with_x_are_kept_everywhere(self) -> None:
        given = small(x_top={"any": [1, None, "z"]})
        given["tasks"][0]["x_stores"] = ["counts"]
        given["clients"][0]["x_note"] = None
        again = json.loads(ApplicationState.model_validate(given).model_dump_json())
        assert again["x_top"] == {"any": [1, None, "z"]}
        assert next(task for task in again["tasks"] if task["id"] == "0_10")["x_stores"] == ["counts"]
        assert next(client for client in again["clients"] if client["process_id"] == "b")["x_note"] is None
        assert ApplicationState.model_validate(again) == ApplicationState.model_validate(given)

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
    @pytest.mark.parametrize("value", ["%s", '{"a": [1, %s]}'])
    def test_unwritable_values_of_extra_fields_are_refused(self, number: str, value: str) -> None:
        text = json.dumps(small(x_note=0)).replace('"x_note": 0', f'"x_note": {value % number}')
        with pytest.raises(ValidationError):
            ApplicationState.model_validate_json(text)

    @pytest.mark.parametrize("name", ["extra", "X_upper", "x", "_x_"])
    def test_other_fields_are_refused_everywhere(self, name: str) -> None:
        types: list[tuple[type[Frozen], dict[str, Any]]] = [
            (Options, {}),
            (TaskInfo, {"id": "0_0", "stateful": True}),
            (ApplicationState, small()),
        ]
        for model, least in types:
            with pytest.raises(ValidationError, match=f"unknown field {name}"):
                model.model_validate({**least, name: 1})
        with pytest.raises(ValidationError):
            TaskInfo(id="0_0", stateful=True, **{name: 1})  # type: ignore[arg-type]


class TestNormalOrder:
    def test_tasks_by_id_clients_by_process_id_and_all_lists_by_id(self) -> None:
        made = state()
        assert [task.id for task in made.tasks] == ["0_9", "0_10", "1_0", "2_0"]
        assert [client.process_id for client in made.clients] == ["a", "b"]
        a, b = made.clients
        assert a.previous_active == ("0_9", "0_10", "1_0", "2_0")
        assert list(a.consumers.items()) == [("c-1", ("0_9", "0_10", "1_0")), ("c-2", ("2_0",))]
        assert list(a.lags.items()) == [("0_9", -3), ("0_10", -2)]
        assert b.previous_standby == ("0_9", "0_10")

    def test_tags_keep_their_order(self) -> None:
        """The first tag is the most important (KIP-708)."""
        made = ApplicationState.model_validate(small(configs={"rack_aware_assignment_tags": ["z", "a"]}))
        assert made.configs.rack_aware_assignment_tags == ("z", "a")

    def test_names_without_a_meaning_of_their_order_are_sorted(self) -> None:
        given = small(options={"goals": ["load", "copies_not_caught_up"]})
        given["clients"][0]["tags"] = {"zone": "1", "cluster": "2"}
        given["tasks"][0]["partitions"] = [{"topic": "b", "partition": 10}, {"topic": "b", "partition": 9}, {"topic": "a"}]
        given["tasks"][0]["partitions"][0]["racks"] = ["r2", "r10", "r1"]
        made = ApplicationState.model_validate(given)
        assert list(made.clients[1].tags) == ["cluster", "zone"]
        partitions = made.all_tasks["0_10"].partitions
        assert [(partition.topic, partition.partition) for partition in partitions] == [("a", None), ("b", 9), ("b", 10)]
        assert partitions[2].racks == ("r1", "r10", "r2")
        assert made.options.goals == ("load", "copies_not_caught_up"), "the order of goals means everything"

    @pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
    @pytest.mark.parametrize("seed", range(3))
    def test_shuffled_input_is_equal_and_written_alike(self, path: Path, seed: int) -> None:
        text = path.read_text(encoding="utf-8")
        plain = ApplicationState.model_validate_json(text)
        shuffled = ApplicationState.model_validate(_shuffled(json.loads(text), random.Random(seed)))
        assert shuffled == plain
        assert shuffled.model_dump_json() == plain.model_dump_json()

    @pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
    def test_written_snapshots_are_read_again(self, path: Path) -> None:
        made = ApplicationState.model_validate_json(path.read_text(encoding="utf-8"))
        assert ApplicationState.model_validate_json(made.model_dump_json()) == made
        assert made.dropped == Dropped()

    def test_the_callers_own_objects_stay_as_they_are(self) -> None:
        client = KafkaStreamsState(process_id="a", threads=1, previous_active=("0_10", "0_9", "7_7"), lags={"7_7": 1})
        before = client.model_dump_json()
        made = ApplicationState.model_validate({**small(), "clients": [client]})
        assert client.model_dump_json() == before
        assert made.clients[0].previous_active == ("0_9", "0_10")

    def test_different_problems_are_not_equal(self) -> None:
        assert state() != state(configs={})
        changed = small()
        changed["clients"][0]["lags"]["0_10"] = 8
        assert ApplicationState.model_validate(changed) != state()

    def test_copies_and_pickles_are_equal_and_whole(self) -> None:
        for other in (copy.deepcopy(state()), pickle.loads(pickle.dumps(state())), state().model_copy()):
            assert other == state()
            assert other.clients[1].lag_for("0_10") == 7
            assert other.all_tasks.keys() == state().all_tasks.keys()

    def test_a_changed_copy_is_checked_and_normal(self) -> None:
        made = state()
        assert made.model_copy(update={"tasks": made.tasks[1:]}).dropped == Dropped(previous=3, lags=2)
        assert "0_9" not in made.model_copy(update={"tasks": made.tasks[1:]}).all_tasks
        with pytest.raises(ValidationError):
            made.model_copy(update={"clients": ()})
        with pytest.raises(ValidationError):
            made.clients[0].model_copy(update={"threads": 0})

    def test_frozen(self) -> None:
        with pytest.raises(ValidationError, match="frozen"):
            state().clients = ()  # type: ignore[misc]


def _shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(entry, rng) for entry in rng.sample(value, len(value))]
    if isinstance(value, dict):
        return {key: _shuffled(value[key], rng) for key in rng.sample(list(value), len(value))}
    return value


class TestDropped:
    def test_entries_of_unknown_tasks_are_counted(self) -> None:
        given = small()
        given["clients"][0]["previous_standby"] += ["9_0", "9_1"]
        given["clients"][1]["consumers"]["c-2"].append("9_0")
        given["clients"][0]["lags"].update({"9_0": 1, "1_0": 2, "2_0": 3})
        given["remembered"] = {
            "format": 1,
            "assignor": "x",
            "clients": [{"process_id": "gone", "active": ["9_0", "0_9"], "warmup": ["9_1"]}],
            "plan": [{"process_id": "gone", "active": ["9_0"], "standby": ["0_10", "9_2"]}],
            "report": {
                "waiting": [{"task": "9_0", "process_id": "a", "role": "active"}],
                "warmup_progress": [{"task": "9_1", "process_id": "a"}, {"task": "0_9", "process_id": "a"}],
            },
        }
        made = ApplicationState.model_validate(given)
        assert made.dropped == Dropped(previous=3, lags=1, lags_not_logged=2, remembered=6)
        assert made.clients[1].previous_standby == ("0_9", "0_10")
        assert list(made.clients[1].lags) == ["0_9", "0_10"]
        remembered = made.remembered
        assert remembered is not None
        assert remembered.clients == (KafkaStreamsAssignment(process_id="gone", active=("0_9",)),)
        assert remembered.plan == (TargetAssignment(process_id="gone", standby=("0_10",)),)
        assert [entry.task for entry in remembered.report.warmup_progress] == ["0_9"]
        assert remembered.report.waiting == ()
        assert "dropped" not in json.loads(made.model_dump_json())

    def test_both_clients_may_claim_a_task(self) -> None:
        given = small()
        given["clients"][0] |= {"previous_standby": [], "previous_active": ["0_9"]}
        assert ApplicationState.model_validate(given).dropped == Dropped()


class TestMethodsOfTheKip:
    def test_lag_for(self) -> None:
        b = state().clients[1]
        assert b.lag_for("0_10") == 7
        assert b.lag_for(TaskId("", 0, 10)) == 7
        for task in ("1_0", "2_0", "9_9"):
            with pytest.raises(LookupError):
                b.lag_for(task)

    def test_a_client_without_state_has_all_to_replay(self) -> None:
        changed = small()
        changed["clients"].append({"process_id": "new", "threads": 1})
        made = ApplicationState.model_validate(changed)
        new = made.kafka_streams_states["new"]
        assert new.lag_for("0_10") == 70  # the end offset
        assert new.lag_for("0_9") == 20_001  # one more than the largest lag reported
        assert new.stateful_tasks_to_lag_sums == {"0_9": 20_001, "0_10": 70}
        changed["configs"]["acceptable_recovery_lag"] = 30_000
        made = ApplicationState.model_validate(changed)
        assert made.full_lags == {"0_9": 30_001, "0_10": 70}  # never caught up, whatever lags are reported
        changed["configs"]["acceptable_recovery_lag"] = INT64_MAX
        assert ApplicationState.model_validate(changed).full_lags["0_9"] == INT64_MAX
        changed["configs"]["acceptable_recovery_lag"] = 0
        changed["clients"][0]["lags"]["0_9"] = INT64_MAX
        assert ApplicationState.model_validate(changed).full_lags["0_9"] == INT64_MAX, "within int64"

    def test_a_client_of_its_own_knows_its_own_lags_only(self) -> None:
        client = KafkaStreamsState(process_id="a", threads=1, lags={"0_0": 5})
        assert client.lag_for("0_0") == 5
        with pytest.raises(LookupError, match="not part of an ApplicationState"):
            client.lag_for("0_1")

    def test_prev_tasks_by_lag(self) -> None:
        a = state().clients[0]
        assert a.prev_tasks_by_lag("c-1") == ("0_9", "0_10", "1_0")  # -3, -2, none
        assert a.prev_tasks_by_lag("c-2") == ("2_0",)
        changed = small()
        changed["clients"][1]["lags"] = {"0_9": 5, "0_10": 2}
        a = ApplicationState.model_validate(changed).clients[0]
        assert a.prev_tasks_by_lag("c-1") == ("1_0", "0_10", "0_9")
        with pytest.raises(LookupError, match="no consumer 'c-9'"):
            a.prev_tasks_by_lag("c-9")

    def test_tables(self) -> None:
        made = state()
        assert list(made.all_tasks) == ["0_9", "0_10", "1_0", "2_0"]
        assert list(made.kafka_streams_states) == ["a", "b"]
        assert made.assignment_configs.num_standby_replicas == 1
        assert made.tasks[0].task_id == TaskId("", 0, 9)
