"""What an attacker does to the service, in small (`make attacks` does it in large): an innocent plug-in gets its answers."""

import signal
from pathlib import Path

import httpx
import pytest
from attacking import (
    Innocent,
    MemoryWatch,
    begin_bodies,
    count_open,
    is_running,
    kill_with_stuck_workers,
    open_connections,
    start_unread_service,
)
from hostile_bodies import BODIES, hide_application, write_wrong_consumers
from serving import (
    HEADERS,
    MOST_SECONDS,
    SUPPORT,
    Service,
    make_state,
    read_answer,
    run_service,
    wait_until,
    write_request_head,
)

_HALF_A_HEAD = b"POST /v1/assign HTTP/1.1\r\nHost: x\r\nContent-Ty"
_TOKENS = ("all-of-them-0123456789", "orders-only-0123456789")


def test_half_sent_heads_make_room_for_others_and_end() -> None:
    """From the same address, even: the oldest half head goes first."""
    with run_service("--workers", "1", "--max-connections", "40", "--max-connections-per-peer", "30") as service:
        held = open_connections(service, 60, _HALF_A_HEAD)
        with Innocent(service, deadline=60.0) as innocent:
            wait_until(lambda: len(innocent.seconds) >= 10)
        assert innocent.missed == 0
        assert count_open(held) <= 30
        wait_until(lambda: count_open(held) == 0)  # 10 s, and not for ever
        ended = service.events("connection_ended", why="crowded out")
        assert ended
        assert service.client.get("/readyz").status_code == 200
        wait_until(lambda: service.metric("optassign_connections") == 1)


def test_a_peer_does_not_have_all_connections() -> None:
    """What is under way is not ended for others: they are refused."""
    with run_service("--workers", "1", "--max-connections-per-peer", "5") as service:
        service.client.close()
        held = begin_bodies(service, 5)
        service.wait_for("listening")
        wait_until(lambda: len(begin_bodies(service, 1)) and service.events("connection_refused", limit="peer"))
        assert len(service.events("connection_ended", why="crowded out")) <= 1  # the client's own may have counted still
        for connection in held:
            connection.close()
        with httpx.Client(base_url=service.client.base_url, timeout=MOST_SECONDS) as client:
            wait_until(lambda: _is_ready(client))


def assert_answered(response: httpx.Response) -> None:
    assert read_answer(response).clients


def _is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def test_a_body_that_stands_still_holds_nothing_for_others() -> None:
    with run_service("--workers", "1") as service:
        held = begin_bodies(service, 100)
        assert_answered(service.assign(make_state("beside-the-held")))
        for connection in held:
            connection.settimeout(MOST_SECONDS)
        assert b" 408 " in held[0].recv(1000)  # long before the 60 s of its deadline are over
        assert not service.events("rebalance", in_time=False)


def test_the_largest_body_on_its_way_goes_where_there_is_no_room() -> None:
    with run_service("--workers", "1", "--max-body", "4M", "--max-held", "5M") as service:
        held = open_connections(service, 1, write_request_head("/v1/assign", 4_000_000) + b" " * 3_900_000)
        wait_until(lambda: (service.metric("optassign_held_bytes") or 0) >= 3_900_000)
        large = write_request_head("/v1/assign", 3_000_000) + b" " * 2_900_000
        others = open_connections(service, 1, large)
        held[0].settimeout(MOST_SECONDS)
        assert b" 503 " in held[0].recv(1000)
        assert_answered(service.assign(make_state("small-beside-large")))
        for connection in others:
            connection.close()


def test_a_log_that_nobody_reads_stops_nothing() -> None:
    process, port = start_unread_service("--workers", "1")
    body = make_state("unread").model_dump_json().encode()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=MOST_SECONDS) as client:
            wait_until(lambda: _is_ready(client))
            statuses = {client.post("/v1/assign", content=body, headers=HEADERS).status_code for _ in range(150)}
        assert statuses == {200}
        process.send_signal(signal.SIGTERM)
        assert process.wait(MOST_SECONDS) == 0
    finally:
        process.kill()


@pytest.mark.skipif(not Path("/proc").exists(), reason="as Linux does it")
def test_workers_do_not_outlive_the_service() -> None:
    """Not even those that are stuck, here stopped, and so cannot see that it has gone."""
    with run_service("--workers", "1") as service:
        pids = kill_with_stuck_workers(service)
        wait_until(lambda: not any(is_running(pid) for pid in pids))


def test_a_worker_has_only_so_much_memory() -> None:
    support = str(SUPPORT)
    with run_service(
        "--workers", "1", "--register", "eats=failing_assignors:Eats", "--assignor", "eats", "--max-worker-memory", "3G",
        is_ready=lambda service: bool(service.events("worker_failed")), PYTHONPATH=support,
    ) as service:  # fmt: skip
        (line,) = service.events("log", message="a worker does not start")[:1]
        assert "MemoryError" in line["traceback"]
        assert service.client.get("/readyz").status_code == 503


def test_errors_are_not_collected_without_end(service: Service) -> None:
    response = service.assign(write_wrong_consumers(290_000))
    assert response.status_code == 400
    assert response.json()["where"] == 'clients[0].consumers["0"][0]'


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc").exists(), reason="memory as Linux tells it")
def test_no_body_takes_the_service_far_beyond_its_size() -> None:
    """All that `make attacks` sends, smaller: refused in words, by the worker that got it, which goes on."""
    with run_service("--workers", "1") as service, MemoryWatch(service.process.pid) as watch:
        pids = {*service.worker_pids(), *service.worker_pids("reserve")}
        for name, make in BODIES.items():
            response = service.assign(make(15_000_000 if name == "empty lists" else 3_000_000))
            assert (name, response.status_code) in {(name, 400), (name, 413)}
            assert response.json()["error"]
        assert_answered(service.assign(make_state("after-all-bodies")))
        assert {*service.worker_pids(), *service.worker_pids("reserve")} == pids
    assert max(watch.most.values()) < 400 << 20


def test_an_application_that_comes_late_is_refused_in_words() -> None:
    with run_service("--workers", "1") as service:
        response = service.assign(hide_application(900_000))
        assert response.status_code == 400
        assert response.json()["where"] == "application"
        assert response.json()["found"] == "it after more than 256 KiB of other fields"


def test_tokens_of_applications_are_read_anew_without_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# all\n{_TOKENS[0]}\n{_TOKENS[1]} orders payments\n", encoding="utf-8")
    with run_service("--workers", "1", "--token-file", str(file)) as service:

        def ask(token: str, application: str) -> int:
            return service.assign(make_state(application), authorization=f"Bearer {token}").status_code

        assert [ask(_TOKENS[0], "other"), ask(_TOKENS[1], "orders"), ask(_TOKENS[1], "other")] == [200, 200, 403]
        headers = {"Authorization": f"Bearer {_TOKENS[1]}"}
        assert service.client.get("/metrics", headers=headers).status_code == 403
        assert ask("wrong-wrong-wrong-wrong", "orders") == 401
        failed = service.wait_for("login_failed")
        assert (failed["peer"], failed["path"], failed["level"]) == ("127.0.0.1", "/v1/assign", "warning")
        file.write_text(f"{_TOKENS[0]}\nanother-token-0123456789 other\n", encoding="utf-8")
        service.wait_for("tokens_read")
        assert [ask(_TOKENS[1], "orders"), ask("another-token-0123456789", "other")] == [401, 200]
        file.write_text("short\n", encoding="utf-8")
        kept = service.wait_for("settings_kept")
        assert "found a token of 5 characters" in kept["why"]
        assert ask(_TOKENS[0], "orders") == 200
