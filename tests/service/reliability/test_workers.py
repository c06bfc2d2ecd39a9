"""Workers that are busy, too slow or dead: the answer is greedy's, in time, and says why; then all is as before."""

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from serving import (
    SUPPORT,
    Service,
    assign_before,
    freeze,
    make_state,
    read_answer,
    run_service,
    wait_until,
    write_request_head,
)

from optassign import ApplicationState, TaskAssignment, assign
from optassign.formats.assignment import Termination
from optassign.judging.validation import validate


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with run_service("--workers", "1") as started:
        yield started


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def read_valid_answer(response: httpx.Response, state: ApplicationState) -> TaskAssignment:
    answer = read_answer(response)
    assert validate(state, answer) == []
    return answer


def is_greedys(answer: TaskAssignment, state: ApplicationState, why: Termination) -> bool:
    """Whether it is greedy's answer to the byte, with the reason why it was asked."""
    expected = assign(state, "greedy").without_times()
    report = expected.report.model_copy(update={"termination": why})
    return answer.without_times() == expected.model_copy(update={"report": report})


def begin(service: Service, threads: ThreadPoolExecutor, state: ApplicationState, **headers: str) -> "Future[httpx.Response]":
    """A request that a worker has begun."""
    response = threads.submit(service.assign, state, **headers)
    wait_until(lambda: service.metric("optassign_workers_busy") == 1)
    return response


def assign_in_a_hurry(service: Service, state: ApplicationState) -> httpx.Response:
    """The answer to a request with a deadline of 50 ms; where not even its body came by then, there is none: again."""

    def ask() -> httpx.Response | None:
        response = service.assign(state, optassign_deadline_ms="50")
        return response if response.status_code == 200 else None

    found: httpx.Response = wait_until(ask)
    return found


def test_a_worker_is_killed_in_the_middle(service: Service, threads: ThreadPoolExecutor) -> None:
    """What has killed a solver comes to no other worker, not even when it is sent again."""
    state = make_state("killed")
    (pid,) = service.worker_pids()
    replaced = service.metric("optassign_workers_replaced") or 0
    with freeze(pid):
        response = begin(service, threads, state)
        os.kill(pid, signal.SIGKILL)
        refused = response.result()
    assert refused.status_code == 503
    assert refused.json() == {"error": "no worker can take the request: the worker process died"}
    service.wait_for("worker_died", pid=pid)
    wait_until(lambda: service.metric("optassign_workers_warm") == 1)
    assert service.metric("optassign_workers_replaced") == replaced + 1
    again = service.assign(state)
    assert (again.status_code, again.headers["retry-after"]) == (503, "600")
    assert again.json() == {"error": "a worker ended over the same request before: it is not tried again"}
    other = make_state("killed-before")
    assert read_valid_answer(service.assign(other), other).without_times() == assign(other).without_times()


def test_an_idle_worker_is_replaced_before_it_is_needed(service: Service) -> None:
    (pid,) = service.worker_pids()
    os.kill(pid, signal.SIGKILL)
    service.wait_for("worker_died", pid=pid)
    wait_until(service.worker_pids)
    state = make_state("after-idle")
    assert read_valid_answer(service.assign(state), state).report.termination.reason != "fallback"


def test_a_worker_of_the_reserve_is_killed_in_the_middle(service: Service, threads: ThreadPoolExecutor) -> None:
    state = make_state("reserve-dead")
    (solver,), reserve = service.worker_pids(), service.worker_pids("reserve")

    def ask_reserve() -> "Future[httpx.Response] | None":
        """A request that is under way; None where its body did not even come by its deadline."""
        response = threads.submit(service.assign, state, optassign_deadline_ms="50")
        wait_until(lambda: response.done() or service.metric("optassign_in_flight") == 1)
        return None if response.done() and response.result().status_code == 408 else response

    with freeze(solver, *reserve):
        response: Future[httpx.Response] = wait_until(ask_reserve)
        for pid in reserve:
            os.kill(pid, signal.SIGKILL)
        assert response.result().status_code in (500, 503)
    wait_until(lambda: len(service.worker_pids("reserve")) == 2)
    wait_until(service.worker_pids)
    again = make_state("reserve-alive")
    read_valid_answer(assign_in_a_hurry(service, again), again)


def test_a_tiny_deadline_goes_to_greedy_at_once(service: Service) -> None:
    state = make_state("hurry")
    (pid,) = service.worker_pids()
    with freeze(pid):  # it is not even asked
        answer = read_valid_answer(assign_in_a_hurry(service, state), state)
    assert is_greedys(answer, state, Termination(reason="limit", limit="time", detail="the deadline left no time for cp-sat"))


def test_no_worker_is_free_in_time(service: Service, threads: ThreadPoolExecutor) -> None:
    first, second = make_state("busy"), make_state("waits")
    with freeze(*service.worker_pids()):
        slow = begin(service, threads, first)
        answer = read_valid_answer(assign_before(service, second, 4000), second)
        why = Termination(reason="limit", limit="time", detail="no worker was free in time for cp-sat")
        assert is_greedys(answer, second, why)
    assert read_valid_answer(slow.result(), first).without_times() == assign(first).without_times()


def test_who_does_not_even_read_is_killed_at_the_deadline(service: Service, threads: ThreadPoolExecutor) -> None:
    """Nor does the reserve get it, which would answer; meanwhile the service says that it is not ready."""
    state = make_state("unread")
    (pid,) = service.worker_pids()
    with freeze(pid):
        response = begin(service, threads, state, optassign_deadline_ms="4000")
        wait_until(lambda: service.client.get("/readyz").status_code == 503)
        died = service.wait_for("worker_died", pid=pid)
    assert died["why"] == "it had not read its request by the deadline, and was killed"
    assert response.result().json() == {"error": "no worker can take the request: it was not read by the deadline"}
    assert not service.events("rebalance", application="unread")
    wait_until(service.worker_pids)
    assert service.client.get("/readyz").status_code == 200


def test_who_is_too_slow_is_overtaken_by_greedy_and_killed_long_after(tmp_path: Path) -> None:
    state = make_state("slow")
    support = str(SUPPORT)
    environment = {"OPTASSIGN_TEST_FOLDER": str(tmp_path), "PYTHONPATH": support}

    def let_go(service: Service) -> bool:
        (tmp_path / "go").touch()  # for the warm-up
        return service.is_ready()

    with run_service(
        "--workers", "1", "--register", "waits=failing_assignors:Waits", "--assignor", "waits", is_ready=let_go, **environment
    ) as service:
        (tmp_path / "go").unlink()
        (pid,) = service.worker_pids()
        answer = read_valid_answer(service.assign(state, optassign_deadline_ms="4000"), state)
        why = Termination(reason="limit", limit="time", detail="waits was not done in time")
        assert is_greedys(answer, state, why)
        assert not service.events("worker_died", pid=pid), "nobody waits for that"
        died = service.wait_for("worker_died", pid=pid)
        assert died["why"] == "it was not done long after the deadline, and was killed"
        (tmp_path / "go").touch()
        wait_until(service.worker_pids)


SLOW_START = """
import importlib.abc, os, sys, time

def wait():
    while os.path.exists(os.environ["SLOW_START"]):
        time.sleep(0.05)

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "ortools":
            wait()

if "--multiprocessing-fork" in sys.orig_argv:
    if os.environ["SLOW_PART"] == "solver":
        sys.meta_path.insert(0, Finder())
    else:
        wait()
"""
"""Keeps all workers, or those that load a solver, from coming up while a file is there. Python imports it first."""


def start_slowly(
    folder: Path, part: str, state: ApplicationState, deadline_ms: int, status: int
) -> tuple[httpx.Response, TaskAssignment]:
    """Ask a service while it cannot come up, and again once it can: the response then, and the answer in the end.

    Where the machine was too slow for a response of that status, it is asked again.
    """
    (folder / "sitecustomize.py").write_text(SLOW_START, encoding="utf-8")
    blocked = folder / "blocked"
    blocked.touch()
    asked: list[httpx.Response] = []

    def is_ready(service: Service) -> bool:
        if not blocked.exists():
            return service.is_ready()
        if part == "solver":
            service.wait_for("worker_ready", crew="reserve")
        asked.append(service.assign(state, optassign_deadline_ms=str(deadline_ms)))
        if asked[-1].status_code == status:
            blocked.unlink()
        return False

    settings = {"PYTHONPATH": str(folder), "SLOW_START": str(blocked), "SLOW_PART": part}
    with run_service("--workers", "1", is_ready=is_ready, **settings) as service:
        return asked[-1], read_valid_answer(service.assign(state), state)


def test_a_service_that_starts_says_so_in_time(tmp_path: Path) -> None:
    state = make_state("early")
    response, answer = start_slowly(tmp_path, "all", state, 2000, 503)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json() == {"error": "no answer in time: the service is starting, and no worker is ready yet"}
    assert answer.without_times() == assign(state).without_times()


def test_greedy_says_that_the_solver_is_not_there_yet(tmp_path: Path) -> None:
    state = make_state("early-greedy")
    response, answer = start_slowly(tmp_path, "solver", state, 3000, 200)
    why = "the service is starting: no worker has loaded cp-sat yet"
    assert is_greedys(read_valid_answer(response, state), state, Termination(reason="limit", limit="time", detail=why))
    assert answer.report.termination.reason != "limit"


def test_requests_of_one_application_are_answered_in_order(service: Service, threads: ThreadPoolExecutor) -> None:
    state = make_state("in-order")
    with freeze(*service.worker_pids()):
        first = begin(service, threads, state)
        second = threads.submit(service.assign, state)
        wait_until(lambda: service.metric("optassign_in_flight") == 2)
        assert service.metric("optassign_queue_length") == 0  # it waits for its turn, and takes no worker meanwhile
    given = read_valid_answer(first.result(), state)
    expected = assign(state.model_copy(update={"remembered": given}))
    assert read_valid_answer(second.result(), state).without_times() == expected.without_times()
    service.wait_for("rebalance", 2, application="in-order")
    memories = [event["memory"] for event in service.events("rebalance", application="in-order")]
    assert memories == ["none", "service"]


def test_an_answer_that_nobody_can_have_got_is_not_remembered(service: Service) -> None:
    state = make_state("hung-up")
    body = state.model_dump_json().encode()
    url = service.client.base_url
    with freeze(*service.worker_pids()), socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(write_request_head("/v1/assign", len(body)) + body)
        wait_until(lambda: service.metric("optassign_workers_busy") == 1)
    assert service.wait_for("rebalance", application="hung-up")["in_time"] is False
    service.assign(state)
    assert service.wait_for("rebalance", 2, application="hung-up")["memory"] == "none"


def test_a_burst_waits_until_its_deadline(service: Service) -> None:
    """A hundred applications at once are a fraction of a second's work: none of them is refused."""
    states = [make_state(f"crowd-{i}") for i in range(100)]
    with ThreadPoolExecutor(100) as many:
        with freeze(*service.worker_pids()):
            taken = [many.submit(service.assign, state) for state in states]
            wait_until(lambda: service.metric("optassign_queue_length") == 99)
        assert [request.result().status_code for request in taken] == [200] * 100
