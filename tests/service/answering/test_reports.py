"""Tests of `POST /v1/applied`: recordings have the applied and the service's answer, and the applied answer is remembered."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jsonschema
import pytest
from serving import (
    MOST_SECONDS,
    Service,
    dump_without_times,
    list_files,
    make_headers,
    make_report,
    make_state,
    read_answer,
    wait_until,
)
from serving_here import run_service_here

from optassign import ApplicationState, TaskAssignment, assign
from optassign.formats.assignment import Report
from optassign.generating import Shape, generate
from optassign.judging.metrics import measure
from optassign.recordings.files import find_newest_answers, name_folder
from optassign.recordings.recording import (
    Recording,
    RecordingHead,
    encode_recording,
    read_recording,
    replay_recording,
    summarise,
)
from optassign.schema import json_schema
from optassign.service.clock import read_milliseconds
from optassign.service.metrics import Metrics
from optassign.service.recorder import Recorder
from optassign.service.workers import jobs


def apply_other(state: ApplicationState) -> TaskAssignment:
    """Return an answer that a plug-in may have applied: not the service's, and with an empty report."""
    return assign(state, "sticky").model_copy(update={"assignor": "fallback", "report": Report(found_by="fallback")})


def read_only_recording(recordings: Path, application: str) -> Recording:
    """Return the only recording of an application, once it is written."""
    folder = recordings / name_folder(application)
    wait_until(lambda: list_files(folder))
    (path,) = list_files(folder)
    jsonschema.Draft202012Validator(json_schema("recording")).validate(json.loads(gzip.decompress(path.read_bytes())))
    return read_recording(path)


def await_report(recordings: Path, application: str) -> Recording:
    folder = recordings / name_folder(application)
    wait_until(lambda: any(read_recording(path).reported for path in list_files(folder)))
    return read_only_recording(recordings, application)


def test_an_answer_applied_without_the_service_is_recorded_with_the_services(service: Service, recordings: Path) -> None:
    state = make_state("reported")
    applied, at = apply_other(state), read_milliseconds()
    response = service.report(
        make_report(state, applied, "no connection: refused"), "r-1", at, optassign_age_ms="90000", optassign_plugin="1.2.3"
    )
    assert response.status_code == 200, response.text
    recording = await_report(recordings, "reported")
    assert recording.assignment == applied
    assert (recording.assignor, recording.reported, recording.applied, recording.why) == (
        "fallback", True, True, "no connection: refused",
    )  # fmt: skip
    assert (recording.answered_at, recording.rebalance, recording.plugin) == (at, "r-1", "1.2.3")
    ago = datetime.now(UTC) - datetime.fromisoformat(recording.recorded_at)
    assert timedelta(seconds=90) <= ago < timedelta(seconds=150)
    ours = assign(state)
    assert recording.not_applied is not None
    assert (recording.not_applied.assignor, recording.not_applied.after_the_fact, recording.not_applied.in_time) == (
        "cp-sat",
        True,
        True,
    )
    assert recording.not_applied_assignment is not None
    assert dump_without_times(recording.not_applied_assignment) == dump_without_times(ours)
    replayed = replay_recording(recording)
    assert replayed is not None
    assert dump_without_times(replayed) == dump_without_times(ours)
    assert (recording.summary, recording.not_applied.summary) == (summarise(state, applied), summarise(state, ours))
    told = response.json()
    assert told["recorded"] is True
    for name, answer in (("applied", applied), ("not_applied", ours)):
        measures = measure(state, answer)
        assert told[name]["moved_active"] == measures.active_moves
        assert told[name]["balanced"] is measures.balanced
        assert told[name]["restored"] == measures.restore_work + measures.warmup_work
    line = service.wait_for("report", application="reported")
    assert (line["assignor"], line["not_applied"]["assignor"], line["answered_before"]) == ("fallback", "cp-sat", False)


def test_whether_an_answer_is_balanced_is_not_taken_from_its_report() -> None:
    shapes: dict[Shape, bool] = {"steady": True, "scale-out": False}
    for shape, balanced in shapes.items():
        state = generate(shape, 24, 4, 1, seed=3)
        answer = assign(state).model_copy(update={"report": Report(balanced=not balanced)})
        assert summarise(state, answer).balanced is measure(state, answer).balanced is balanced


def test_the_report_of_a_fallback_names_ignored_requests(service: Service, recordings: Path) -> None:
    """The fallback measures no rates of the input, and does not know holds, drains and limits."""

    def weighed(ends: int, at: str) -> ApplicationState:
        state = generate("cold", 4, 2, 0, seed=1)
        tasks = [task.model_copy(update={"source_end_offset": ends * place}) for place, task in enumerate(state.tasks)]
        limit = {"kind": "most_copies", "most": 1, "name": "one each"}
        asked = {"weigh_by": "rates", "hold": "paused", "drain": ["box-7"], "limits": [limit]}
        options = state.options.model_validate(asked)
        return state.model_copy(update={"application": "not-told", "taken_at": at, "tasks": tasks, "options": options})

    service.assign(weighed(0, "2026-11-20T12:00:00Z"))
    state = weighed(60, "2026-11-20T12:01:00Z")
    service.report(make_report(state, apply_other(state), "no connection"), "r-1", read_milliseconds())
    folder = recordings / name_folder("not-told")
    wait_until(lambda: any(read_recording(path).reported for path in list_files(folder)))
    (reported,) = [recording for path in list_files(folder) if (recording := read_recording(path)).reported]
    notes = " ".join(reported.assignment.report.notes)
    for each in (
        "hold not served: fallback",
        "drain not served: fallback knows nothing of box-7",
        "limit not served: one each",
        "goal not served: load: the planner in the JVM counts tasks and standbys, whatever they weigh",
    ):
        assert each in notes
    later = read_answer(service.assign(weighed(60, "2026-11-20T12:02:00Z")))
    assert later.report.rates is not None
    rates = [row.per_second for row in later.report.rates.tasks]
    assert rates == [0.0, pytest.approx(0.5, abs=0.01), pytest.approx(1.0, abs=0.01), pytest.approx(1.5, abs=0.02)]


def test_an_applied_answer_is_remembered(service: Service, recordings: Path) -> None:
    state = make_state("reported-memory")
    applied, at = apply_other(state), read_milliseconds()
    service.report(make_report(state, applied), "r-1", at)
    again = read_answer(service.assign(state))
    assert service.wait_for("rebalance", application="reported-memory")["memory"] == "service"
    assert again.without_times() == assign(state.model_copy(update={"remembered": applied})).without_times()


def test_a_report_from_before_the_last_answer_is_not_remembered(service: Service) -> None:
    state = make_state("reported-late")
    given = service.assign(state)
    service.report(make_report(state, apply_other(state)), "r-0", int(given.headers["optassign-answered-at"]) - 1)
    again = read_answer(service.assign(state))
    expected = assign(state.model_copy(update={"remembered": read_answer(given)}))
    assert again.without_times() == expected.without_times()


def test_a_refused_answer_is_recorded_with_the_applied_one(service: Service, recordings: Path) -> None:
    state = make_state("refused")
    given = service.assign(state, optassign_rebalance="r-7")
    applied = apply_other(state)
    # The reporter's clock is behind, so by its date the service's answer would be newer.
    response = service.report(make_report(state, applied, "found task 0_1 twice"), "r-7", read_milliseconds() - 3_600_000)
    assert response.json()["not_applied"] is None  # the plug-in has it already
    recording = await_report(recordings, "refused")
    assert (recording.assignment, recording.assignor) == (applied, "fallback")
    assert recording.not_applied is not None
    assert (recording.not_applied.assignor, recording.not_applied.after_the_fact) == ("cp-sat", False)
    assert recording.not_applied_assignment == read_answer(given)
    assert recording.not_applied.summary == summarise(state, read_answer(given))
    assert dump_without_times(replay_recording(recording) or applied) == dump_without_times(read_answer(given))
    again = read_answer(service.assign(state))
    assert again.without_times() == assign(state.model_copy(update={"remembered": applied})).without_times()


def test_a_repeated_report_is_recorded_once(service: Service, recordings: Path) -> None:
    state = make_state("twice")
    body = make_report(state, apply_other(state))
    for _ in range(2):
        assert service.report(body, "r-2", read_milliseconds()).status_code == 200
    service.report(make_report(make_state("twice-after"), apply_other(state)), "r-3", read_milliseconds())
    await_report(recordings, "twice-after")  # the recorder has processed both reports
    assert read_only_recording(recordings, "twice").rebalance == "r-2"


def test_in_shadow_mode_both_answers_are_recorded_and_neither_is_remembered(service: Service, recordings: Path) -> None:
    state = make_state("shadow-report")
    applied = apply_other(state).model_copy(update={"assignor": "kafka-high-availability"})
    before = service.read_metric("optassign_reports_total", mode="shadow") or 0  # of other tests
    response = service.report(make_report(state, applied, "shadow"), "r-1", read_milliseconds(), optassign_mode="shadow")
    assert response.json()["not_applied"]["assignor"] == "cp-sat"
    recording = await_report(recordings, "shadow-report")
    assert (recording.mode, recording.assignor, recording.assignment) == ("shadow", "kafka-high-availability", applied)
    assert recording.not_applied is not None
    newest = [found for found in find_newest_answers(recordings, 999) if found.application == "shadow-report"]
    assert [found.mode for found in newest] == ["shadow"]
    service.assign(state)
    assert service.wait_for("rebalance", application="shadow-report")["memory"] == "none"
    assert service.read_metric("optassign_reports_total", mode="shadow") == before + 1


def test_a_restart_remembers_reported_answers(tmp_path: Path) -> None:
    state = make_state("restarted")
    applied = apply_other(state)
    options = ("--workers", "1", "--recordings", str(tmp_path))
    with run_service_here(*options) as service:
        service.assign(state, optassign_rebalance="r-1")
        service.report(make_report(state, applied), "r-1", read_milliseconds() + 60_000)
    with run_service_here(*options) as service:
        # The plug-in does not know that its report was accepted: the service knows it by its id.
        assert service.report(make_report(state, applied), "r-1", read_milliseconds() + 60_000).status_code == 200
        again = read_answer(service.assign(state))
        assert again.without_times() == assign(state.model_copy(update={"remembered": applied})).without_times()
    recordings = [read_recording(path) for path in list_files(tmp_path)]
    assert [recording.reported for recording in recordings] == [True, False]
    assert recordings[0].not_applied is not None
    assert not recordings[0].not_applied.after_the_fact


def test_a_shadow_is_compared_without_recordings() -> None:
    state = make_state("unrecorded")
    body = make_report(state, apply_other(state))
    with run_service_here("--workers", "1") as service:
        shadow = service.report(body, "r-1", 1, optassign_mode="shadow").json()
        active = service.report(body, "r-2", 1).json()
    assert (shadow["recorded"], shadow["not_applied"]["assignor"]) == (False, "cp-sat")
    assert (active["recorded"], active["not_applied"]) == (False, None)


@pytest.mark.parametrize("first", ["answer", "report"])
def test_answer_and_report_become_one_recording_in_any_order(tmp_path: Path, first: str) -> None:
    """The answer of a slow worker comes after the plug-in's report."""
    state = make_state("any-order")
    ours, applied, at = assign(state), apply_other(state), "2026-07-01T12:00:00.000Z"
    answered = RecordingHead(
        format=1, application="any-order", recorded_at=at, answered_at=5, assignor="cp-sat", time_limit=1.0, rebalance="r-1",
        summary=summarise(state, ours),
    )  # fmt: skip
    news = {"answered_at": 6, "assignor": "fallback", "reported": True, "summary": summarise(state, applied)}
    items = [(answered, ours), (answered.model_copy(update=news), applied)]
    recorder = Recorder(tmp_path, 100_000, 1 << 30, Metrics("test", 10))
    recorder.start()
    for head, answer in items if first == "answer" else items[::-1]:
        recorder.put(head, answer.model_dump_json().encode(), state.model_dump_json().encode())
    recorder.stop(MOST_SECONDS)
    (path,) = list_files(tmp_path)
    found = read_recording(path)
    assert (found.assignor, found.assignment, found.answered_at) == ("fallback", applied, 6)
    assert (found.not_applied is not None) is (first == "answer")


BAD = [
    ({"snapshot": None}, {}, "snapshot"),
    ({"applied": None}, {}, "applied"),
    ({"applied": {"format": 2}}, {}, "applied.format"),
    ({"applied": {"format": 1, "assignor": "x", "clients": []}}, {}, "applied.clients"),
    ({}, {"optassign_rebalance": None}, "Optassign-Rebalance"),
    ({}, {"optassign_rebalance": "no spaces"}, "Optassign-Rebalance"),
    ({}, {"optassign_applied_at": None}, "Optassign-Applied-At"),
    ({}, {"optassign_applied_at": str(2**62)}, "Optassign-Applied-At"),
    ({}, {"optassign_age_ms": "-1"}, "Optassign-Age-Ms"),
    ({}, {"optassign_mode": "off"}, "Optassign-Mode"),
]


@pytest.mark.parametrize(("change", "headers", "where"), BAD, ids=lambda value: json.dumps(value))
def test_bad_reports_are_refused(
    service: Service, change: dict[str, object], headers: dict[str, str | None], where: str
) -> None:
    state = make_state("bad-report")
    body = json.loads(make_report(state, apply_other(state)))
    named = {"optassign_rebalance": "r", "optassign_applied_at": "1", **headers}
    response = service.client.post("/v1/applied", content=json.dumps({**body, **change}), headers=make_headers(named))
    assert (response.status_code, response.json()["where"]) == (400, where)


def test_older_recordings_are_read_as_before() -> None:
    """Fields that are new in the format may be missing."""
    head = read_recording(Path(__file__).parents[2] / "data" / "recordings" / "shadow.json.gz")
    assert (head.reported, head.not_applied, head.not_applied_assignment, head.rebalance) == (False, None, None, None)
    assert not head.applied
    assert head.service_answer is head.assignment
    content = encode_recording(head, b"{}", b"{}", b"{}")
    assert b'"not_applied_assignment":{}' in gzip.decompress(content)


def test_a_report_whose_worker_dies_after_solving_is_recorded_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker has no memory left to describe its own answer."""

    def run_out_of_memory(state: ApplicationState, answer: TaskAssignment) -> None:
        raise MemoryError

    monkeypatch.setattr(jobs, "_describe_rebalance", run_out_of_memory)
    state = make_state("orders")
    body = make_report(state, apply_other(state))
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        assert service.report(body, "r-1", 1).status_code == 503
        reply = service.report(body, "r-1", 1).json()
        assert (reply["recorded"], reply["not_applied"]) == (True, None)
        assert len(service.list_events("worker_died")) == 1
