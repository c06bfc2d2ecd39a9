"""Tests of attacks on a small scale (`make attacks` has the large ones): an innocent plug-in gets its answers."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from attacking import (
    MemoryWatch,
    begin_bodies,
    count_open,
    is_running,
    open_connections,
    start_unread_service,
)
from hostile_bodies import BODIES, hide_application, write_wrong_consumers
from serving import (
    HEADERS,
    MOST_SECONDS,
    Service,
    freeze,
    make_state,
    read_answer,
    run_service,
    wait_until,
    write_request_head,
)
from serving_here import ServiceHere, run_service_here
from uvicorn import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.server import ServerState

from optassign.service.http.connections import Connections
from optassign.service.settings import Limits

_HALF_A_HEAD = b"POST /v1/assign HTTP/1.1\r\nHost: x\r\nContent-Ty"
_TOKENS = ("all-of-them-0123456789", "orders-only-0123456789")
_LIMITS = ("--max-connections", "40", "--max-connections-per-peer", "30", "--max-body", "4M", "--max-held", "5M")


@pytest.fixture
def flooded() -> Iterator[ServiceHere]:
    """Yield a service with low limits."""
    with run_service_here("--workers", "1", *_LIMITS) as service:
        yield service


def test_half_sent_heads_make_room_for_others_and_end(flooded: ServiceHere) -> None:
    """Even from the same address, the connection with the oldest half head is closed first."""
    held = open_connections(flooded, 60, _HALF_A_HEAD)
    with httpx.Client(base_url=flooded.client.base_url, timeout=MOST_SECONDS) as innocent:
        for number in range(10):
            body = make_state(f"innocent-{number}").model_dump_json()
            assert_answered(innocent.post("/v1/assign", content=body, headers=HEADERS))
        assert 0 < count_open(held) <= 30
        assert flooded.list_events("connection_ended", why="crowded out")
        flooded.pass_seconds(9.9)
        assert innocent.get("/readyz").status_code == 200
        assert count_open(held) > 0
        flooded.pass_seconds(1.2)  # 10 s for a head, and a second between checks
        wait_until(lambda: count_open(held) == 0)
        assert innocent.get("/readyz").status_code == 200
    wait_until(lambda: flooded.read_metric("optassign_connections") == 1)


def test_a_peer_does_not_have_all_connections(flooded: ServiceHere) -> None:
    """Connections with requests under way stay, and further connections of this peer are refused; another peer is served."""
    flooded.client.close()
    other = httpx.HTTPTransport(local_address="127.0.0.2")
    flooded.client = httpx.Client(base_url=flooded.client.base_url, transport=other, timeout=MOST_SECONDS)
    wait_until(lambda: flooded.read_metric("optassign_connections") == 1)
    held = begin_bodies(flooded, 30)
    wait_until(lambda: flooded.read_metric("optassign_in_flight") == 30)
    begin_bodies(flooded, 3)
    wait_until(lambda: len(flooded.list_events("connection_refused", limit="peer")) == 3)
    assert not flooded.list_events("connection_ended")
    assert count_open(held) == 30
    for connection in held:
        connection.close()
    with httpx.Client(base_url=flooded.client.base_url, timeout=MOST_SECONDS) as client:
        wait_until(lambda: _is_ready(client))


def test_idle_connections_are_closed(flooded: ServiceHere) -> None:
    (idle,) = open_connections(flooded, 1, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    idle.settimeout(MOST_SECONDS)
    output = b""
    while b"alive" not in output:
        output += idle.recv(1000)
    flooded.pass_seconds(29 * 60)
    assert count_open([idle]) == 1
    flooded.pass_seconds(62)
    wait_until(lambda: count_open([idle]) == 0)
    assert flooded.list_events("connection_ended", why="idle")


def test_connections_that_read_no_answer_are_closed() -> None:
    async def find_faults() -> list[str | None]:
        connections = Connections(Limits(), 1800)
        protocol = connections.make_protocol(config=Config(lambda: None), server_state=ServerState(), app_state={})
        now = asyncio.get_running_loop().time()
        protocol.flow = FlowControl(asyncio.Transport())
        protocol.pause_writing()
        faults = [protocol.find_timeout(now + seconds, 1800) for seconds in (29, 31)]
        protocol.resume_writing()
        return [*faults, protocol.find_timeout(now + 31, 1800)]

    assert asyncio.run(find_faults()) == [None, "answer unread", None]


def test_stalled_bodies_do_not_block_others(flooded: ServiceHere) -> None:
    held = begin_bodies(flooded, 25)
    wait_until(lambda: flooded.read_metric("optassign_in_flight") == 25)
    assert_answered(flooded.assign(make_state("during-the-bodies")))
    flooded.pass_seconds(10.1)  # long before the end of their deadline of 60 s
    for connection in held:
        connection.settimeout(MOST_SECONDS)
        assert b" 408 " in connection.recv(1000)
    assert not flooded.list_events("rebalance", in_time=False)


def test_stalled_forms_end(flooded: ServiceHere) -> None:
    kind = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"

    def has_ended(connection: socket.socket) -> bool:
        flooded.pass_seconds(10.1)
        connection.settimeout(0.2)
        try:
            return b" 408 " in connection.recv(1000)
        except TimeoutError:
            return False

    for connection in open_connections(flooded, 3, b"POST /login HTTP/1.1\r\nHost: localhost\r\n" + kind + b"token="):
        wait_until(partial(has_ended, connection))


def test_the_largest_body_under_way_is_dropped_for_lack_of_room(flooded: ServiceHere) -> None:
    held = open_connections(flooded, 1, write_request_head("/v1/assign", 4_000_000) + b" " * 3_900_000)
    wait_until(lambda: (flooded.read_metric("optassign_held_bytes") or 0) >= 3_900_000)
    large = write_request_head("/v1/assign", 3_000_000) + b" " * 2_900_000
    others = open_connections(flooded, 1, large)
    held[0].settimeout(MOST_SECONDS)
    assert b" 503 " in held[0].recv(1000)
    assert_answered(flooded.assign(make_state("small-during-large")))
    for connection in others:
        connection.close()


def assert_answered(response: httpx.Response) -> None:
    assert read_answer(response).clients


def _is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def test_an_unread_log_does_not_block_the_service() -> None:
    process, port = start_unread_service("--workers", "1", "--assignor", "greedy")
    body = make_state("unread").model_dump_json().encode()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=MOST_SECONDS) as client:
            wait_until(lambda: _is_ready(client))
            statuses = {
                client.post("/v1/assign", content=body, headers=HEADERS).status_code for _ in range(30)
            }  # a service that waits for its log's reader hangs after 6
        assert statuses == {200}
        process.send_signal(signal.SIGTERM)
        assert process.wait(MOST_SECONDS) == 0
    finally:
        process.kill()


@pytest.mark.skipif(not Path("/proc").exists(), reason="as Linux does it")
def test_workers_do_not_outlive_the_service() -> None:
    """A worker that is stuck, here stopped, cannot notice that the service is gone, and still ends."""
    with run_service("--workers", "1") as service:
        stuck = service.list_worker_pids()
        assert all(is_running(pid) for pid in stuck)
        with freeze(*stuck):
            service.process.kill()
            service.process.wait()
            wait_until(lambda: not any(is_running(pid) for pid in stuck))


def test_many_errors_are_refused_by_the_first(service: Service) -> None:
    response = service.assign(write_wrong_consumers(290_000))
    assert response.status_code == 400
    assert response.json()["where"] == 'clients[0].consumers["0"][0]'


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc").exists(), reason="memory as Linux tells it")
def test_no_body_takes_the_service_far_beyond_its_size() -> None:
    """A worker refuses each body of `make attacks`, here smaller, with an error, and goes on."""
    with run_service("--workers", "1") as service, MemoryWatch(service.process.pid) as watch:
        pids = set(service.list_worker_pids())
        for name, make in BODIES.items():
            response = service.assign(make(15_000_000 if name == "empty lists" else 3_000_000))
            assert (name, response.status_code) in {(name, 400), (name, 413)}
            assert response.json()["error"]
        assert_answered(service.assign(make_state("after-all-bodies")))
        assert set(service.list_worker_pids()) == pids
    assert max(watch.most.values()) < 400 << 20


def test_a_late_application_field_is_refused(one_worker: Service) -> None:
    response = one_worker.assign(hide_application(900_000))
    assert response.status_code == 400
    assert response.json()["where"] == "application"
    assert response.json()["found"] == "it after more than 256 KiB of other fields"


def test_tokens_of_applications_are_reloaded_without_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# all\n{_TOKENS[0]}\n{_TOKENS[1]} orders payments\n", encoding="utf-8")
    with run_service_here("--workers", "1", "--token-file", str(file)) as service:

        def ask(token: str, application: str) -> int:
            return service.assign(make_state(application), authorization=f"Bearer {token}").status_code

        assert [ask(_TOKENS[0], "other"), ask(_TOKENS[1], "orders"), ask(_TOKENS[1], "other")] == [200, 200, 403]
        headers = {"Authorization": f"Bearer {_TOKENS[1]}"}
        assert service.client.get("/metrics", headers=headers).status_code == 403
        assert ask("wrong-wrong-wrong-wrong", "orders") == 401
        failed = service.wait_for("login_failed")
        assert (failed["peer"], failed["path"], failed["level"]) == ("127.0.0.1", "/v1/assign", "warning")
        file.write_text(f"{_TOKENS[0]}\nanother-token-0123456789 other\n", encoding="utf-8")
        service.await_look("tokens_read")
        assert [ask(_TOKENS[1], "orders"), ask("another-token-0123456789", "other")] == [401, 200]
        file.write_text("short\n", encoding="utf-8")
        kept = service.await_look("settings_kept")
        assert "found a token of 5 characters" in kept["why"]
        assert ask(_TOKENS[0], "orders") == 200
