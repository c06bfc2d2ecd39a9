"""Workers that are busy, too slow or dead: the answer is greedy's, in time, and says why; then all is as before."""

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx
import pytest
from serving import HEADERS, Service, eventually, serving, stopped

from optassign import ApplicationState, TaskAssignment, assign
from optassign.formats.assignment import Termination
from optassign.generate import generate
from optassign.judging.validation import validate


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serving("--workers", "1", "--max-in-flight", "3") as started:
        yield started


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def state_of(application: str) -> ApplicationState:
    return generate("scale-out", 24, 4, 1, seed=3).model_copy(update={"application": application})


def answer_of(response: httpx.Response, state: ApplicationState) -> TaskAssignment:
    assert response.status_code == 200, response.text
    answer = TaskAssignment.model_validate_json(response.content)
    assert validate(state, answer) == []
    return answer


def by_greedy(answer: TaskAssignment, state: ApplicationState, why: Termination) -> bool:
    """Whether it is greedy's answer to the byte, with the reason why it was asked."""
    expected = assign(state, "greedy").without_times()
    report = expected.report.model_copy(update={"termination": why})
    return answer.without_times() == expected.model_copy(update={"report": report})


def begun(service: Service, threads: ThreadPoolExecutor, state: ApplicationState, **headers: str) -> "Future[httpx.Response]":
    """A request that a worker has begun."""
    response = threads.submit(service.assign, state, **headers)
    eventually(lambda: service.metric("optassign_workers_busy") == 1)
    return response


def test_a_worker_is_killed_in_the_middle(service: Service, threads: ThreadPoolExecutor) -> None:
    state = state_of("killed")
    (pid,) = service.worker_pids()
    replaced = service.metric("optassign_workers_replaced") or 0
    with stopped(pid):
        response = begun(service, threads, state)
        os.kill(pid, signal.SIGKILL)
        answer = answer_of(response.result(), state)
    assert by_greedy(answer, state, Termination(reason="fallback", detail="the worker process died"))
    line = service.wait_for("rebalance", application="killed")
    assert (line["level"], line["assignor"], line["fallback"]) == ("warning", "greedy", "the worker process died")
    service.wait_for("worker_died", pid=pid)
    eventually(lambda: service.metric("optassign_workers_warm") == 1)
    assert service.metric("optassign_workers_replaced") == replaced + 1
    again = answer_of(service.assign(state_of("killed-again")), state)
    assert again.without_times() == assign(state).without_times()


def test_an_idle_worker_is_replaced_before_it_is_needed(service: Service) -> None:
    (pid,) = service.worker_pids()
    os.kill(pid, signal.SIGKILL)
    service.wait_for("worker_died", pid=pid)
    eventually(service.worker_pids)
    state = state_of("after-idle")
    assert answer_of(service.assign(state), state).report.termination.reason != "fallback"


def test_solver_and_reserve_die_together(service: Service, threads: ThreadPoolExecutor) -> None:
    state = state_of("all-dead")
    (solver,), (reserve,) = service.worker_pids(), service.worker_pids("reserve")
    with stopped(solver, reserve):
        response = begun(service, threads, state)
        os.kill(reserve, signal.SIGKILL)
        os.kill(solver, signal.SIGKILL)
        answer = answer_of(response.result(), state)
    assert by_greedy(answer, state, Termination(reason="fallback", detail="the worker process died"))
    eventually(lambda: service.worker_pids() and service.worker_pids("reserve"))


def test_a_tiny_deadline_goes_to_greedy_at_once(service: Service) -> None:
    state = state_of("hurry")
    (pid,) = service.worker_pids()
    with stopped(pid):  # it is not even asked
        answer = answer_of(service.assign(state, optassign_deadline_ms="50"), state)
    assert by_greedy(answer, state, Termination(reason="limit", limit="time", detail="the deadline left no time for cp-sat"))


def test_no_worker_is_free_in_time(service: Service, threads: ThreadPoolExecutor) -> None:
    first, second = state_of("busy"), state_of("waits")
    with stopped(*service.worker_pids()):
        slow = begun(service, threads, first)
        answer = answer_of(service.assign(second, optassign_deadline_ms="1500"), second)
        why = Termination(reason="limit", limit="time", detail="no worker was free in time for cp-sat")
        assert by_greedy(answer, second, why)
    assert answer_of(slow.result(), first).without_times() == assign(first).without_times()


def test_who_is_too_slow_is_overtaken_by_greedy_and_killed_long_after(service: Service) -> None:
    state = state_of("slow")
    (pid,) = service.worker_pids()
    with stopped(pid):
        answer = answer_of(service.assign(state, optassign_deadline_ms="1500"), state)
        why = Termination(reason="limit", limit="time", detail="cp-sat was not done in time")
        assert by_greedy(answer, state, why)
        died = service.wait_for("worker_died", pid=pid)
    assert died["why"] == "it was not done long after the deadline, and was killed"
    line = service.wait_for("rebalance", application="slow")
    assert line["in_time"] is True
    assert line["seconds_total"] <= 1.5
    eventually(service.worker_pids)


def test_requests_of_one_application_are_answered_in_order(service: Service, threads: ThreadPoolExecutor) -> None:
    state = state_of("in-order")
    with stopped(*service.worker_pids()):
        first = begun(service, threads, state)
        second = threads.submit(service.assign, state)
        eventually(lambda: service.metric("optassign_in_flight") == 2)
        assert service.metric("optassign_queue_length") == 0  # it waits for its turn, and takes no worker meanwhile
    given = answer_of(first.result(), state)
    expected = assign(state.model_copy(update={"remembered": given}))
    assert answer_of(second.result(), state).without_times() == expected.without_times()
    memories = [event["memory"] for event in service.events("rebalance", application="in-order")]
    assert memories == ["none", "service"]


def test_an_answer_that_nobody_can_have_got_is_not_remembered(service: Service) -> None:
    state = state_of("hung-up")
    body = state.model_dump_json().encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in {**HEADERS, "Content-Length": len(body), "Host": "x"}.items())
    url = service.client.base_url
    with stopped(*service.worker_pids()), socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(f"POST /v1/assign HTTP/1.1\r\n{head}\r\n".encode() + body)
        eventually(lambda: service.metric("optassign_workers_busy") == 1)
    assert service.wait_for("rebalance", application="hung-up")["in_time"] is False
    service.assign(state)
    assert service.wait_for("rebalance", 2, application="hung-up")["memory"] == "none"


def test_more_requests_than_allowed(service: Service, threads: ThreadPoolExecutor) -> None:
    states = [state_of(f"crowd-{i}") for i in range(4)]
    with stopped(*service.worker_pids()):
        taken = [threads.submit(service.assign, state) for state in states[:3]]
        eventually(lambda: service.metric("optassign_in_flight") == 3)
        response = service.assign(states[3])
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json() == {"error": "3 requests are under way, and there cannot be more"}
        assert service.client.get("/readyz").status_code == 200
    assert [request.result().status_code for request in taken] == [200] * 3
