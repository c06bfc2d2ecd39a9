"""Tests of the memory between answers (R10, R11): the newer of the plug-in's and the service's, also after a restart."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from serving import Running, Service, list_files, read_answer, wait_until
from serving_here import ServiceHere, assign_late, run_service_here

from optassign import ApplicationState, TaskAssignment, assign
from optassign.formats.json_input import read_state
from optassign.generating import generate
from optassign.judging.validation import validate
from optassign.recordings.files import make_relative_path
from optassign.recordings.recording import RecordingHead, encode_recording, summarise
from optassign.service.clock import read_milliseconds
from optassign.service.memory import Memory, Remembered
from optassign.simulation.successors import make_restored_snapshot, make_second_pass_snapshot

DATA = Path(__file__).parents[2] / "data" / "kafka-4.3.1"
FIRST, SECOND = DATA / "second-instance-joins.json", DATA / "second-instance-joins-second-pass.json"
HOUR = 3_600_000
"""One hour in milliseconds."""


def load_recorded(application: str, path: Path) -> ApplicationState:
    """Return a recorded rebalance of an application, without memory."""
    return read_state(path).model_copy(update={"application": application, "remembered": None})


def ask(service: Running, state: ApplicationState | bytes, **headers: str) -> httpx.Response:
    """Return the response to a rebalance, once the log has its event: several workers write events in any order."""
    name = json.loads(state)["application"] if isinstance(state, bytes) else state.application
    before = len(service.list_events("rebalance", application=name))
    response = service.assign(state, **headers)
    if response.status_code == 200:
        service.wait_for("rebalance", before + 1, application=name)
    return response


def await_memory(service: Running, application: str, count: int = 1) -> str:
    """Wait for `count` rebalances; return the newest's source of memory: `plug-in`, `service` or `none`."""
    return str(service.wait_for("rebalance", count, application=application)["memory"])


def is_same(answer: TaskAssignment, other: TaskAssignment) -> bool:
    return answer.without_times() == other.without_times()


def test_a_new_leader_has_no_memory_so_the_services_is_used(service: Service) -> None:
    first = generate("scale-out", 24, 4, 1, seed=2).model_copy(update={"application": "new-leader"})
    given = read_answer(ask(service, first))
    second = make_second_pass_snapshot(first, given).model_copy(update={"remembered": None})
    again = read_answer(ask(service, second))
    assert await_memory(service, "new-leader", 2) == "service"
    assert is_same(again, assign(second.model_copy(update={"remembered": given})))
    assert (again.report.termination.reason, again.clients) == ("confirmed", given.clients)  # R10
    assert assign(second).report.termination.reason != "confirmed"


def test_the_plug_ins_memory_is_used_if_it_is_the_services_answer(service: Service) -> None:
    first, second = load_recorded("same-leader", FIRST), load_recorded("same-leader", SECOND)
    response = ask(service, first)
    given = read_answer(response)
    with_memory = second.model_copy(update={"remembered": given})
    again = ask(service, with_memory, optassign_remembered_at=response.headers["optassign-answered-at"])
    assert await_memory(service, "same-leader", 2) == "plug-in"
    assert is_same(read_answer(again), assign(with_memory))


def test_rates_of_the_input_survive_a_plug_in_that_does_not_keep_them(service: Service) -> None:
    def weighed(ends: int, at: str) -> ApplicationState:
        state = generate("cold", 4, 2, 0, seed=1)
        tasks = [task.model_copy(update={"source_end_offset": ends * place}) for place, task in enumerate(state.tasks)]
        options = state.options.model_copy(update={"weigh_by": "rates"})
        return state.model_copy(update={"application": "weighed", "taken_at": at, "tasks": tasks, "options": options})

    response = ask(service, weighed(0, "2026-11-20T12:00:00Z"))
    given = read_answer(response)
    kept = given.model_copy(update={"report": given.report.model_copy(update={"rates": None})})
    again = weighed(60, "2026-11-20T12:01:00Z").model_copy(update={"remembered": kept})
    answer = read_answer(ask(service, again, optassign_remembered_at=response.headers["optassign-answered-at"]))
    assert await_memory(service, "weighed", 2) == "plug-in"
    assert answer.report.rates is not None
    assert [row.per_second for row in answer.report.rates.tasks] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(("later", "used"), [(-1, "service"), (1, "plug-in")])
def test_the_newer_memory_is_used(service: Service, later: int, used: str) -> None:
    name = f"newer-is-{used}"
    first, second = load_recorded(name, FIRST), load_recorded(name, SECOND)
    response = ask(service, first)
    other = assign(first, "greedy").model_copy(update={"assignor": "fallback-of-the-plug-in"})
    at = int(response.headers["optassign-answered-at"]) + later
    again = ask(service, second.model_copy(update={"remembered": other}), optassign_remembered_at=str(at))
    assert await_memory(service, name, 2) == used
    remembered = read_answer(response) if used == "service" else other
    assert is_same(read_answer(again), assign(second.model_copy(update={"remembered": remembered})))
    assert int(again.headers["optassign-answered-at"]) > at  # newer than its memory, whatever the clocks say


def test_a_date_from_the_far_future_is_refused_and_moves_nothing(service: Service) -> None:
    state = load_recorded("far-future", FIRST)
    far = 253_402_300_799_999  # the end of the year 9999
    refused = ask(service, state, optassign_remembered_at=str(far))
    assert refused.status_code == 400
    error = refused.json()
    assert (error["where"], error["found"]) == ("Optassign-Remembered-At", str(far))
    assert error["allowed"].endswith(": 7 days ahead of the service's clock")
    assert abs(int(ask(service, state).headers["optassign-answered-at"]) - read_milliseconds()) < HOUR


def test_dates_may_grow_beyond_the_allowed_one(service: Service) -> None:
    """A request with the latest allowed date is answered, and so is the next one."""
    state = load_recorded("latest", FIRST)
    refused = ask(service, state, optassign_remembered_at=str(2**62))
    at = int(re.findall(r"\d+", refused.json()["allowed"])[0])
    assert abs(at - read_milliseconds() - 7 * 24 * HOUR) < HOUR
    for mode in ("active", "shadow", "active"):  # dates of shadow requests are not remembered
        response = ask(service, state, optassign_remembered_at=str(at), optassign_mode=mode)
        assert response.status_code == 200, response.text
        assert int(response.headers["optassign-answered-at"]) > at
        at = int(response.headers["optassign-answered-at"])


def test_answers_from_a_wrong_clock_are_forgotten(tmp_path: Path) -> None:
    """Otherwise all answers that a plug-in makes itself would look older for years."""
    first = load_recorded("wrong-clock", FIRST)
    answer = assign(first)
    at = read_milliseconds() + 10 * 365 * 24 * HOUR
    head = RecordingHead(
        format=1, application="wrong-clock", recorded_at="2026-01-01T00:00:00.000Z", answered_at=at, assignor="cp-sat",
        time_limit=1.0, summary=summarise(first, answer),
    )  # fmt: skip
    path = tmp_path / make_relative_path("wrong-clock", datetime.now(UTC), 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(encode_recording(head, answer.model_dump_json().encode(), first.model_dump_json().encode()))
    second = load_recorded("wrong-clock", SECOND)
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        assert ask(service, second, optassign_remembered_at=str(at)).status_code == 400
        response = ask(service, second)
        assert abs(int(response.headers["optassign-answered-at"]) - read_milliseconds()) < HOUR
        assert await_memory(service, "wrong-clock") == "none"
        assert service.wait_for("memory_forgotten", application="wrong-clock")["answered_at"] == at
        ask(service, second)
        assert await_memory(service, "wrong-clock", 2) == "service"


def test_an_undated_memory_is_the_plug_ins(service: Service) -> None:
    first, second = load_recorded("undated", FIRST), load_recorded("undated", SECOND)
    given = read_answer(ask(service, first))
    ask(service, second.model_copy(update={"remembered": given}))
    assert await_memory(service, "undated", 2) == "plug-in"


def test_a_shadow_neither_reads_nor_writes_the_memory(service: Service) -> None:
    first, second = load_recorded("shadowed", FIRST), load_recorded("shadowed", SECOND)
    ask(service, first, optassign_mode="shadow")
    given = read_answer(ask(service, first))
    assert await_memory(service, "shadowed", 2) == "none"
    in_shadow = read_answer(ask(service, second, optassign_mode="shadow"))
    assert await_memory(service, "shadowed", 3) == "none"
    assert is_same(in_shadow, assign(second))
    assert is_same(read_answer(ask(service, second)), assign(second.model_copy(update={"remembered": given})))
    assert await_memory(service, "shadowed", 4) == "service"


def test_applications_do_not_share_a_memory(service: Service) -> None:
    ask(service, load_recorded("mine", FIRST))
    ask(service, load_recorded("yours", SECOND))
    assert await_memory(service, "yours") == "none"


def test_a_snapshot_that_names_no_application_has_no_memory(service: Service) -> None:
    state = generate("steady", 17, 3, 1, seed=9).model_copy(update={"application": None})
    for count in (1, 2):
        service.assign(state)
        assert service.wait_for("rebalance", count, application=None, tasks=17)["memory"] == "none"


def test_an_application_named_last_is_found_too(service: Service) -> None:
    first = json.loads(load_recorded("named-last", FIRST).model_dump_json())
    body = json.dumps({**{key: value for key, value in first.items() if key != "application"}, "application": "named-last"})
    for _ in range(2):
        ask(service, body.encode())
    assert await_memory(service, "named-last", 2) == "service"


def test_an_answer_that_comes_too_late_is_not_remembered(here: ServiceHere) -> None:
    service, state = here, load_recorded("late", FIRST)
    late = read_answer(assign_late(service, state))
    assert validate(state, late) == []
    line = service.wait_for("rebalance", application="late")
    assert (line["in_time"], line["assignor"]) == (False, "cp-sat")
    ask(service, state)
    assert await_memory(service, "late", 2) == "none"


def test_a_whole_scale_out_without_the_plug_ins_memory_settles(service: Service) -> None:
    state = generate("scale-out", 24, 4, 1, seed=4).model_copy(update={"application": "settles"})
    for _ in range(30):
        answer = read_answer(ask(service, state))
        assert validate(state, answer) == []
        if all(client.followup_rebalance_ms is None for client in answer.clients):
            break
        state = make_restored_snapshot(state, answer).model_copy(update={"remembered": None})
    else:
        pytest.fail("it did not settle")
    assert answer.report.balanced


def test_a_restart_remembers_by_its_recordings(tmp_path: Path) -> None:
    first, second = load_recorded("restarted", FIRST), load_recorded("restarted", SECOND)
    options = ("--workers", "1", "--recordings", str(tmp_path))
    with run_service_here(*options) as service:
        response = ask(service, first)
        ask(service, generate("steady", 9, 3, 1, seed=1).model_copy(update={"application": "other"}))
        ask(service, second, optassign_mode="shadow")  # newer, but not remembered
        service.wait_for("rebalance", 2, application="restarted")
    newest = list_files(tmp_path / "restarted")
    assert len(newest) == 2
    (newest[0].parent / "235959.999-0.json.gz").write_bytes(b"damaged")
    with run_service_here(*options) as service:
        assert service.wait_for("memory_restored")["applications"] == 2
        again = ask(service, second)
        assert await_memory(service, "restarted") == "service"
        assert is_same(read_answer(again), assign(second.model_copy(update={"remembered": read_answer(response)})))
        assert int(again.headers["optassign-answered-at"]) > int(response.headers["optassign-answered-at"])
        wait_until(lambda: len(list_files(tmp_path / "restarted")) == 4)
        assert service.wait_for("pages_ready"), "their process starts before a reader looks"


def make_remembered(at: int, order: int = 0) -> Remembered:
    return Remembered(at, b"{}", order)


def test_the_least_recently_asked_application_is_forgotten() -> None:
    memory = Memory(2)
    memory.put("a", make_remembered(1))
    memory.put("b", make_remembered(2))
    assert memory.get("a") == make_remembered(1)
    memory.put("c", make_remembered(3))
    assert [memory.get(name) for name in "abc"] == [make_remembered(1), None, make_remembered(3)]
    assert len(memory) == 2


def test_an_earlier_request_answered_later_replaces_nothing() -> None:
    memory = Memory(2)
    memory.put("a", make_remembered(5, order=2))
    memory.put("a", make_remembered(6, order=1))
    assert memory.get("a") == make_remembered(5, order=2)


def test_times_of_answers_only_grow() -> None:
    memory = Memory(2)
    memory.put("a", make_remembered(100))
    assert memory.choose_next_time("a", now=50, remembered_at=None) == 101
    assert memory.choose_next_time("a", now=500, remembered_at=None) == 500
    assert memory.choose_next_time("a", now=50, remembered_at=700) == 701
    assert memory.choose_next_time(None, now=50, remembered_at=None) == 50
