"""Tests of POST /v1/assign: the answer is that of `optassign.assign`, for every plug-in and application.
They test `optassign.service.workers.jobs`."""

import gzip
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from serving import Service, dump_without_times, read_answer

from optassign import ApplicationState, TaskAssignment, __version__, assign
from optassign.formats.json_input import read_state
from optassign.generating import SHAPES, Shape, generate

DATA = Path(__file__).parents[2] / "data" / "kafka-4.3.1"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_answer_is_the_one_of_the_library(service: Service, shape: Shape) -> None:
    state = generate(shape, 60, 6, 1, seed=3).model_copy(update={"application": f"shape-{shape}"})
    response = service.assign(state)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["optassign-protocol"] == "1"
    assert response.headers["optassign-service"] == __version__
    assert int(response.headers["optassign-answered-at"]) > 1_700_000_000_000
    assert dump_without_times(read_answer(response)) == dump_without_times(assign(state))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_rebalances_are_answered(service: Service, path: Path) -> None:
    response = service.assign(path.read_bytes(), optassign_mode="shadow")
    assert dump_without_times(read_answer(response)) == dump_without_times(assign(read_state(path)))


def test_a_body_may_be_compressed(service: Service) -> None:
    state = generate("steady", 30, 3, 1, seed=1)
    whole = gzip.compress(state.model_dump_json().encode())
    parts = state.model_dump_json().encode()
    members = gzip.compress(parts[:1000]) + gzip.compress(parts[1000:])
    for body in (whole, members):
        response = service.assign(body, content_encoding="gzip")
        assert dump_without_times(read_answer(response)) == dump_without_times(assign(state))


def test_a_snapshot_without_tasks_is_answered(service: Service) -> None:
    response = service.assign(b'{"format":1,"configs":{},"tasks":[],"clients":[{"process_id":"a","threads":1}]}')
    assert [client["active"] for client in response.json()["clients"]] == [[]]


def test_many_applications_at_once(service: Service) -> None:
    # Small groups are solved long before the time limit on a machine that runs other tests, too.
    states = [generate("scale-out", 12 + i, 3, 1, seed=i).model_copy(update={"application": f"many-{i}"}) for i in range(12)]
    with ThreadPoolExecutor(12) as threads:
        responses = list(threads.map(service.assign, states))
    for state, response in zip(states, responses, strict=True):
        assert dump_without_times(read_answer(response)) == dump_without_times(assign(state))


def test_unknown_fields_of_a_newer_plug_in_are_ignored_and_logged(service: Service) -> None:
    state = generate("steady", 12, 3, 1, seed=2).model_copy(update={"application": "newer"})
    data = json.loads(state.model_dump_json())
    data["colour"] = "red"
    data["configs"]["speed"] = {"of": ["light"]}
    data["options"]["weights"]["luck"] = 7
    for task in data["tasks"]:
        task.update(shape="round", size=1)
    data["clients"][1]["mood"] = None
    data["tasks"][0]["x_note"] = "kept"
    response = service.assign(json.dumps(data).encode(), optassign_plugin="9.9.9")
    assert dump_without_times(read_answer(response)) == dump_without_times(assign(state))
    line = service.wait_for("rebalance", application="newer")
    assert line["ignored"] == [
        "clients[].mood", "colour", "configs.speed", "options.weights.luck", "tasks[].shape", "tasks[].size",
    ]  # fmt: skip
    assert line["plugin"] == "9.9.9"


def test_thousands_of_unknown_fields_take_no_longer_than_one(service: Service) -> None:
    state = generate("steady", 12, 3, 1, seed=2).model_copy(update={"application": "many-fields"})
    data = json.loads(state.model_dump_json()) | {f"field{i}": i for i in range(10_000)}
    response = service.assign(json.dumps(data).encode())  # checking all fields for each one would take minutes
    assert dump_without_times(read_answer(response)) == dump_without_times(assign(state))
    assert len(service.wait_for("rebalance", application="many-fields")["ignored"]) == 20


def test_the_log_describes_a_rebalance(service: Service) -> None:
    state = generate("scale-out", 60, 6, 1, seed=5).model_copy(update={"application": "logged"})
    answer = TaskAssignment.model_validate_json(service.assign(state, optassign_plugin="0.1.0").content)
    line = service.wait_for("rebalance", application="logged")
    goal = next(g for g in answer.report.goals if (g.stage, g.name) == ("plan", "restore_work"))
    moves = next(g for g in answer.report.goals if (g.stage, g.name) == ("rebalance", "active_moves"))
    assert line["level"] == "info"
    expected: dict[str, object] = {
        "mode": "active",
        "assignor": "cp-sat",
        "fallback": None,
        "tasks": 60,
        "clients": 6,
        "reason": answer.report.termination.reason,
        "found_by": answer.report.found_by,
        "moved_active": moves.value,
        "restore_work": goal.value,
        "restore_work_bound": goal.bound,
        "warmups": 2,
        "followup_ms": 600_000,
        "waiting": len(answer.report.waiting),
        "stalled": False,
        "memory": "none",
        "in_time": True,
        "plugin": "0.1.0",
        "dropped": {},
        "ignored": [],
    }
    assert {name: line[name] for name in expected} == expected
    assert 0 <= line["seconds_queue"] <= line["seconds_total"]
    assert 0 < line["seconds_solve"] <= line["seconds_total"]


def test_the_log_names_joined_clients_and_the_outlook(service: Service) -> None:
    state = generate("scale-out", 60, 6, 1, memory=True, seed=5).model_copy(update={"application": "in-words"})
    assert state.remembered is not None
    known = {client.process_id for client in state.remembered.clients}
    came = [client.process_id for client in state.clients if client.process_id not in known]
    answer = TaskAssignment.model_validate_json(service.assign(state).content)
    line = service.wait_for("rebalance", application="in-words")
    assert came
    assert [named.partition(" ")[0] for named in line["joined"]] == came
    slots, copies = state.configs.max_warmup_replicas, len(answer.report.waiting)
    assert line["outlook"].startswith("about ")
    assert 1 <= line["followups"] <= -(-copies // slots)
    assert line["plan_ms"] == line["followups"] * state.configs.probing_rebalance_interval_ms
    assert f"about {line['followups']:,} follow-ups, {line['followups'] * 10:,} minutes" in line["outlook"]
    waits = Counter(entry.process_id for entry in answer.report.waiting)
    assert {named.split(":")[0].partition(" ")[0]: int(named.rpartition(" ")[2]) for named in line["waits_on"]} == dict(waits)


def test_entries_about_unknown_tasks_are_counted_in_the_log(service: Service) -> None:
    state = {
        "format": 1,
        "application": "older-topology",
        "configs": {},
        "tasks": [{"id": "0_0", "stateful": True}],
        "clients": [{"process_id": "a", "threads": 1, "previous_standby": ["7_7"], "lags": {"7_7": 4, "8_8": 1}}],
    }
    answer = service.assign(json.dumps(state).encode()).json()
    assert answer["report"]["dropped"]["lags"] == 2
    assert service.wait_for("rebalance", application="older-topology")["dropped"] == {"previous": 1, "lags": 2}


def test_names_of_any_language_come_through(service: Service) -> None:
    name = 'Bestellungen "für" Köln\n\u2028\x9b31m 🦆'
    state = generate("steady", 12, 3, 1, seed=2).model_copy(update={"application": name})
    assert service.assign(ApplicationState.model_validate(state)).status_code == 200
    assert service.wait_for("rebalance", application=name)["tasks"] == 12
    assert service.read_metric("optassign_application_tasks", application=name.replace('"', '\\"').replace("\n", "\\n")) == 12
