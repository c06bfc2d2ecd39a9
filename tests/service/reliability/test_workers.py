"""Tests of workers that are busy, slow or dead: the request is refused in time with the reason, and the service recovers."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from failing_assignors import EndlessJob
from serving import (
    MOST_SECONDS,
    SUPPORT,
    Running,
    Service,
    freeze,
    list_files,
    make_headers,
    make_report,
    make_state,
    read_answer,
    run_service,
    wait_until,
    write_request_head,
)
from serving_here import ServiceHere, run_service_here

from optassign import ApplicationState, TaskAssignment, assign, assignor
from optassign.judging.validation import validate
from optassign.recordings.recording import read_recording
from optassign.service.clock import read_milliseconds
from optassign.service.workers.pool import Schedule, make_schedule
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def read_valid_answer(response: httpx.Response, state: ApplicationState) -> TaskAssignment:
    answer = read_answer(response)
    assert validate(state, answer) == []
    return answer


def is_greedys(answer: TaskAssignment, state: ApplicationState) -> bool:
    """Return whether this is the answer of greedy inside cp-sat, to the byte."""
    return (
        answer.without_times() == assign(state, "cp-sat", 0.001).without_times() and answer.report.termination.reason == "limit"
    )


def begin(service: Running, threads: ThreadPoolExecutor, state: ApplicationState, **headers: str) -> "Future[httpx.Response]":
    """Send a request, and return its future once a worker has begun."""
    response = threads.submit(service.assign, state, **headers)
    wait_until(lambda: service.read_metric("optassign_workers_busy") == 1)
    return response


def schedule(state: ApplicationState) -> Schedule:
    """Return the schedule of a request with the longest deadline, in seconds since its arrival."""
    return make_schedule(state.model_dump_json().encode(), 0.0, 60.0)


# Real processes


def test_a_worker_is_killed_during_a_request(one_worker: Service, threads: ThreadPoolExecutor) -> None:
    """A request that ended a worker is given to no other worker, even if it is sent again."""
    service, state = one_worker, make_state("killed")
    (pid,) = service.list_worker_pids()
    replaced = service.read_metric("optassign_workers_replaced_total") or 0
    with freeze(pid):
        response = begin(service, threads, state)
        os.kill(pid, signal.SIGKILL)
        refused = response.result()
    assert refused.status_code == 503
    assert refused.json() == {"error": "no worker can take the request: the worker process died"}
    service.wait_for("worker_died", pid=pid)
    wait_until(lambda: service.read_metric("optassign_workers_warm") == 1)
    assert service.read_metric("optassign_workers_replaced_total") == replaced + 1
    again = service.assign(state)
    assert (again.status_code, again.headers["retry-after"]) == (503, "600")
    assert again.json() == {"error": "the service does not retry the request, because it ended a worker before"}
    other = make_state("killed-before")
    assert read_valid_answer(service.assign(other), other).without_times() == assign(other).without_times()


def test_an_idle_worker_is_replaced_before_it_is_needed(one_worker: Service) -> None:
    service = one_worker
    (pid,) = service.list_worker_pids()
    os.kill(pid, signal.SIGKILL)
    service.wait_for("worker_died", pid=pid)
    wait_until(service.list_worker_pids)
    state = make_state("after-idle")
    assert read_valid_answer(service.assign(state), state).report.termination.reason != "fallback"


@pytest.mark.long
def test_a_stopped_process_is_killed_at_the_deadline(one_worker: Service, threads: ThreadPoolExecutor) -> None:
    service, state = one_worker, make_state("stopped")
    (pid,) = service.list_worker_pids()
    with freeze(pid):
        threads.submit(service.assign, state, optassign_deadline_ms="4000")
        died = service.wait_for("worker_died", pid=pid)
    assert died["why"] == "it had not read its request by the deadline, and was killed"
    wait_until(service.list_worker_pids)


@pytest.mark.long
def test_a_process_that_is_too_slow_is_killed_long_after(tmp_path: Path) -> None:
    state = make_state("slow")
    support = str(SUPPORT)
    environment = {"OPTASSIGN_TEST_FOLDER": str(tmp_path), "PYTHONPATH": support}

    def let_go(service: Service) -> bool:
        (tmp_path / "go").touch()  # ends the warm-up
        return service.is_ready()

    with run_service(
        "--workers", "1", "--register", "waits=failing_assignors:Waits", "--assignor", "waits", is_ready=let_go, **environment
    ) as service:
        (tmp_path / "go").unlink()
        (pid,) = service.list_worker_pids()
        refused = service.assign(state, optassign_deadline_ms="2000")
        assert (refused.status_code, refused.json()) == (503, {"error": "no answer in time: waits is not done"})
        assert not service.list_events("worker_died", pid=pid), "no request waits for that worker"
        died = service.wait_for("worker_died", pid=pid)
        assert died["why"] == "it was not done long after the deadline, and was killed"
        (tmp_path / "go").touch()
        wait_until(service.list_worker_pids)


def test_an_assignor_that_fails_is_named_and_reports_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is refused once; when the plug-in repeats it, it is recorded without the service's answer."""
    monkeypatch.setattr(assignor, "_entries", dict(assignor._entries))  # undoes the registration
    state, places = make_state("fails"), ("fails=failing_assignors:Raises", "--assignor", "fails")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path), "--register", *places) as service:
        refused = service.assign(state)
        assert (refused.status_code, refused.json()["error"]) == (500, "fails has no answer")
        body = make_report(state, assign(state, "sticky"))
        statuses = [service.report(body, "r-1", 1).status_code for _ in range(2)]
        assert statuses == [500, 200]
        (path,) = wait_until(lambda: list_files(tmp_path))
        assert read_recording(path).not_applied is None


def test_a_rebalance_does_not_wait_until_a_report_is_solved(
    tmp_path: Path, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next answer needs only the memory of what was applied, which the worker has once it has read the report."""
    monkeypatch.setattr(assignor, "_entries", dict(assignor._entries))
    monkeypatch.setenv("OPTASSIGN_TEST_FOLDER", str(tmp_path))
    (tmp_path / "go").touch()
    state, recordings = make_state("after-outage"), str(tmp_path / "recordings")
    waits = ("--register", "waits=failing_assignors:Waits", "--assignor", "waits")
    with run_service_here("--workers", "2", "--recordings", recordings, *waits) as service:
        (tmp_path / "go").unlink()
        known = len(list(tmp_path.glob("begun-*")))
        applied = assign(state, "sticky")
        report = threads.submit(service.report, make_report(state, applied), "r-1", read_milliseconds())
        wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == known + 1)
        answer = threads.submit(service.assign, state, optassign_rebalance="r-2")
        try:
            wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == known + 2)
        finally:
            (tmp_path / "go").touch()
        assert report.result().json()["not_applied"] is not None
        assert answer.result().status_code == 200
        assert service.wait_for("rebalance", application="after-outage")["memory"] == "service"


def test_a_worker_ends_itself_long_after_its_time() -> None:
    """If the service does not end a worker, it ends itself five seconds after the time of its job, here at once."""
    worker = Worker(WorkerSpec(None, "json"))
    worker.start()
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(worker.run_job, EndlessJob(), -5.0, lambda outcome: None)
        try:
            assert isinstance(ended.exception(MOST_SECONDS), WorkerDiedError)
        finally:
            worker.discard()


def test_a_workers_memory_is_limited(capfd: pytest.CaptureFixture[str]) -> None:
    registered = (("eats", "failing_assignors:Eats"),)
    worker = Worker(WorkerSpec("eats", "json", memory=3 << 30, registered=registered))
    try:
        with pytest.raises(WorkerDiedError):
            worker.start()
    finally:
        worker.discard()
    output = capfd.readouterr().err
    assert "a worker does not start" in output
    assert "MemoryError" in output


# Workers of this process, which the test holds at named places, and a clock that the test advances


def test_a_short_deadline_leaves_time_for_greedy_only(here: ServiceHere) -> None:
    state = make_state("hurry")
    before = here.read_metric("optassign_rebalances_total", mode="active", outcome="limit")
    here.await_idle()
    answer = read_valid_answer(here.assign(state, optassign_deadline_ms="50"), state)
    assert is_greedys(answer, state)
    line = here.wait_for("rebalance", application="hurry")
    assert (line["level"], line["fallback"]) == ("warning", "greedy answered, as there was no time for the solver")
    assert here.read_metric("optassign_rebalances_total", mode="active", outcome="limit") == (before or 0) + 1


def test_no_worker_is_free_in_time(here: ServiceHere, threads: ThreadPoolExecutor) -> None:
    """The refusal comes before the deadline, so that the plug-in's planner has the remaining time."""
    first, second = make_state("busy"), make_state("waits")
    with here.hold("read"):
        slow = begin(here, threads, first)
        here.await_held("read")
        waits = threads.submit(here.assign, second, optassign_deadline_ms="4000")
        wait_until(lambda: here.read_metric("optassign_queue_length") == 1)
        here.pass_seconds(schedule(second).latest_start - 55.999)  # its deadline is 56 s earlier
        refused = waits.result()
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json() == {"error": "no answer in time: all workers are busy"}
    assert read_valid_answer(slow.result(), first).without_times() == assign(first).without_times()


def test_a_worker_that_does_not_read_is_killed_at_the_deadline(here: ServiceHere, threads: ThreadPoolExecutor) -> None:
    state = make_state("unread")
    with here.hold("unread"), here.hold("starting"):
        response = begin(here, threads, state)
        pid = here.await_held("unread").pid
        here.pass_seconds(61)
        died = here.wait_for("worker_died", pid=pid)
        assert here.client.get("/readyz").json() == {"error": "no worker is warm"}
    assert died["why"] == "it had not read its request by the deadline, and was killed"
    refused = response.result()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "600")
    assert refused.json()["error"].startswith("no worker can take the request: it ")  # killed, or before it read its request
    assert not here.list_events("rebalance", application="unread")
    wait_until(lambda: here.client.get("/readyz").status_code == 200)


def test_a_slow_worker_is_killed_long_after_the_refusal(here: ServiceHere, threads: ThreadPoolExecutor) -> None:
    """From the refusal until the worker is replaced, /readyz reports that the service is not ready."""
    state, times = make_state("slow"), schedule(make_state("slow"))
    with here.hold("read"):
        response = begin(here, threads, state)
        pid = here.await_held("read").pid
        here.pass_seconds(times.deadline - 0.001)
        assert here.client.get("/readyz").status_code == 200
        here.pass_seconds(times.give_up - times.deadline + 0.002)
        refused = response.result()
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json() == {"error": "no answer in time: cp-sat is not done"}
        stuck = {"error": "every worker is stuck with a request that is past its deadline"}
        assert here.client.get("/readyz").json() == stuck
        assert not here.list_events("worker_died", pid=pid), "no request waits for that worker"
        here.pass_seconds(times.kill - times.give_up)
        died = here.wait_for("worker_died", pid=pid)
    assert died["why"] == "it was not done long after the deadline, and was killed"
    wait_until(lambda: here.client.get("/readyz").status_code == 200)


def test_a_starting_service_refuses_in_time(threads: ThreadPoolExecutor) -> None:
    state = make_state("early")
    with run_service_here("--workers", "1", held=(("solvers", "starting"),)) as service:
        assert service.client.get("/readyz").json() == {"error": "no worker is warm"}
        early = threads.submit(service.assign, state)
        wait_until(lambda: service.read_metric("optassign_queue_length") == 1)
        service.pass_seconds(schedule(state).latest_start)
        response = early.result()
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json() == {"error": "no answer in time: the service is starting, and no worker is ready yet"}
        service.let_go("starting")
        wait_until(service.is_ready)
        other = make_state("not-so-early")
        assert read_valid_answer(service.assign(other), other).without_times() == assign(other).without_times()


def test_a_worker_that_does_not_start_is_started_again() -> None:
    with run_service_here("--workers", "1", held=(("solvers", "starting"),)) as service:
        service.await_held("starting").kill()
        assert service.wait_for("worker_failed")["next_try_seconds"] == 0.5
        service.let_go("starting")
        assert not service.list_worker_pids()

        def is_ready_after_half_a_second() -> bool:
            service.pass_seconds(0.5)
            return service.is_ready()

        wait_until(is_ready_after_half_a_second)


def test_heavy_jobs_never_occupy_all_workers(threads: ThreadPoolExecutor) -> None:
    def make_heavy(name: str) -> bytes:
        """Return a request that looks heavy by its size and number of tasks."""
        fields = json.loads(make_state(name).model_dump_json())
        return json.dumps({**fields, "x_padding": [{"stateful": 1}] * 14_000}).encode()

    with run_service_here("--workers", "2") as service:
        with service.hold("read"):
            heavy = [threads.submit(service.assign, make_heavy("heavy-1"))]
            wait_until(lambda: service.read_metric("optassign_workers_busy") == 1)
            heavy.append(threads.submit(service.assign, make_heavy("heavy-2")))
            wait_until(lambda: service.read_metric("optassign_queue_length") == 1)
            small = threads.submit(service.assign, make_state("small"))
            wait_until(lambda: service.read_metric("optassign_workers_busy") == 2)
            assert service.read_metric("optassign_queue_length") == 1
        assert [request.result().status_code for request in (*heavy, small)] == [200] * 3


def test_requests_of_one_application_are_answered_in_order(here: ServiceHere, threads: ThreadPoolExecutor) -> None:
    state = make_state("in-order")
    with here.hold("read"):
        first = begin(here, threads, state)
        second = threads.submit(here.assign, state)
        wait_until(lambda: here.read_metric("optassign_in_flight") == 2)
        assert here.read_metric("optassign_queue_length") == 0  # it waits for its turn without a worker
    given = read_valid_answer(first.result(), state)
    expected = assign(state.model_copy(update={"remembered": given}))
    assert read_valid_answer(second.result(), state).without_times() == expected.without_times()
    here.wait_for("rebalance", 2, application="in-order")
    memories = [event["memory"] for event in here.list_events("rebalance", application="in-order")]
    assert memories == ["none", "service"]


def test_an_undelivered_answer_is_not_remembered(here: ServiceHere) -> None:
    state = make_state("hung-up")
    body = state.model_dump_json().encode()
    url = here.client.base_url
    with here.hold("read"), socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(write_request_head("/v1/assign", len(body)) + body)
        here.await_held("read")
        before = here.read_metric("optassign_connections") or 0
        connection.close()
        wait_until(lambda: (here.read_metric("optassign_connections") or 0) < before)
    assert here.wait_for("rebalance", application="hung-up")["in_time"] is False
    here.assign(state)
    assert here.wait_for("rebalance", 2, application="hung-up")["memory"] == "none"


def test_a_burst_waits_until_its_deadline(here: ServiceHere) -> None:
    """No request of a hundred applications at once is refused."""
    url = here.client.base_url
    with ExitStack() as open_ones, here.hold("unread"):
        sent = []
        for i in range(100):
            one = open_ones.enter_context(closing(HTTPConnection(url.host, url.port or 80, timeout=MOST_SECONDS)))
            one.request("POST", "/v1/assign", make_state(f"crowd-{i}").model_dump_json(), make_headers({}))
            sent.append(one)
        wait_until(lambda: here.read_metric("optassign_queue_length") == 99)
        here.let_go("unread")
        assert [one.getresponse().status for one in sent] == [200] * 100
