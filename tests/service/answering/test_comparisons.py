"""Tests of POST /v1/compare that ends early: the service stops, the time-out passes, or the client disconnects."""

import asyncio
import multiprocessing
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import HEADERS, MOST_SECONDS, Running, freeze, wait_until, write_request_head
from serving_here import run_service_here

from optassign.generating import generate
from optassign.service.http.refusals import Refusal, RequestRefusedError
from optassign.service.settings import Limits
from optassign.service.workers.messages import CompareJob
from optassign.service.workers.side_process import SideProcess
from optassign.service.workers.worker import WorkerSpec

BODY = generate("scale-out", 300, 30, 1, seed=3).model_dump_json().encode()
JOB = CompareJob(BODY, Limits(), ("cp-sat",), 10.0)
STOPPED = Refusal(503, "the service is shutting down", headers={"Retry-After": "1"}, reason="stopping")


def post_comparison(service: Running) -> httpx.Response:
    return service.client.post("/v1/compare?assignors=cp-sat", content=BODY, headers=HEADERS)


def has_begun(pid: int) -> bool:
    """Return whether the process has begun its job: it loads the solver for a job only."""
    return "ortools" in Path(f"/proc/{pid}/maps").read_text()


def test_the_service_stops() -> None:
    with run_service_here("--workers", "1") as service, ThreadPoolExecutor(1) as thread, service.hold("unread", "others"):
        response = thread.submit(post_comparison, service)
        service.await_held("unread", "others")
        service.begin_to_stop()
        answer = response.result()
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json() == {"error": "the service is shutting down"}
        assert service.stop() == 0
        assert not service.list_events("bug")


def test_the_service_stops_while_the_snapshot_arrives() -> None:
    with run_service_here("--workers", "1") as service:
        url = service.client.base_url
        with socket.create_connection((url.host, url.port)) as connection:
            connection.sendall(write_request_head("/v1/compare", len(BODY)) + BODY[:100])
            wait_until(lambda: service.read_metric("optassign_in_flight") == 1)
            service.begin_to_stop()
            service.wait_for("stopping")
            connection.sendall(BODY[100:])
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 503 ")
        assert service.stop() == 0


# Without a service


def list_worker_pids() -> list[int]:
    return [p.pid for p in multiprocessing.active_children() if p.name == "optassign-worker" and p.pid is not None]


@pytest.fixture(autouse=True)
def check_that_no_worker_is_left() -> Iterator[None]:
    yield
    left = list_worker_pids()
    for pid in left:  # it would keep the tests from ending
        os.kill(pid, signal.SIGKILL)
    assert not left


def make_comparisons(seconds: float = 300.0) -> SideProcess:
    """Return the process for comparisons, with the service's settings and a time-out of `seconds`."""
    spec = WorkerSpec(None, "json")
    return SideProcess("there is no comparison", "another is under way", spec, seconds=seconds, most_jobs=1, is_kept=False)


def get_refusal(compared: asyncio.Future[Any]) -> Refusal:
    error = compared.exception()
    assert isinstance(error, RequestRefusedError)
    return error.refusal


def test_a_comparison_is_given_up_before_its_process_starts() -> None:
    async def run() -> Refusal:
        comparisons = make_comparisons()
        compared = asyncio.ensure_future(comparisons.run(JOB))
        await asyncio.sleep(0)  # the comparison begins
        comparisons.stop()
        await asyncio.wait([compared])
        with pytest.raises(RequestRefusedError, match="shutting down"):  # later jobs are refused
            await comparisons.run(JOB)
        return get_refusal(compared)

    assert asyncio.run(run()) == STOPPED


def test_a_comparison_times_out() -> None:
    async def run() -> Refusal:
        compared = asyncio.ensure_future(make_comparisons(0.0).run(JOB))
        await asyncio.wait([compared])
        return get_refusal(compared)

    too_long = "there is no comparison: it takes more than 0 s"
    assert asyncio.run(run()) == Refusal(503, too_long, headers={"Retry-After": "10"}, reason="pages")


def test_a_cancelled_comparison_makes_room_for_the_next() -> None:
    def find_busy_pid() -> int | None:
        return next((pid for pid in list_worker_pids() if has_begun(pid)), None)

    async def run() -> Refusal:
        comparisons = make_comparisons()
        compared = asyncio.ensure_future(comparisons.run(JOB))
        pid = await asyncio.to_thread(wait_until, find_busy_pid)
        with freeze(pid):  # so that the job never ends
            compared.cancel()
            done, _ = await asyncio.wait([compared], timeout=MOST_SECONDS)
            assert done
        assert compared.cancelled()
        again = asyncio.ensure_future(comparisons.run(CompareJob(b"{}", Limits(), (), 1.0)))
        await asyncio.wait([again])
        return get_refusal(again)

    assert asyncio.run(run()).status == 400  # not 503: the next job is accepted


def test_the_process_of_a_comparison_dies() -> None:
    def kill_worker() -> bool:
        found = list_worker_pids()
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return bool(found)

    async def run() -> Refusal:
        compared = asyncio.ensure_future(make_comparisons().run(JOB))
        await asyncio.to_thread(wait_until, kill_worker)
        await asyncio.wait([compared])
        return get_refusal(compared)

    assert asyncio.run(run()) == Refusal(500, "there is no comparison", found="the worker process died")
