"""Tests of requests that take effect soon: a drain on the pages, long quiet hours; and of bodies with two lengths."""

import socket
from pathlib import Path

from serving import make_state, read_answer, wait_until
from serving_here import ServiceHere, run_service_here

ASK = {"Optassign-Protocol": "1"}


def test_a_requested_drain_shows_at_once(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        state = make_state("orders")
        service.assign(state)
        wait_until(lambda: service.client.get("/v1/history/orders").status_code == 200)
        client = state.clients[0].process_id
        service.client.post(f"/v1/applications/orders/drains/{client}", json={"by": "ann"}, headers=ASK)
        status = service.client.get("/v1/history/orders").json()["row"]["status"]
        assert status["word"] == "draining"
        assert "ann" in status["about"]
        assert service.read_metric("optassign_application_status", application="orders", status="draining") == 1


def test_quiet_hours_defer_by_an_hour_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "applications.toml"
    file.write_text('[applications.orders]\nquiet_hours = ["00:00-24:00"]\n', encoding="utf-8")
    with run_service_here("--workers", "1", "--applications", str(file)) as service:
        answer = read_answer(service.assign(make_state("orders")))
        delays = [c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None]
        assert answer.report.termination.reason == "held"
        assert delays
        assert max(delays) <= 3_601_000


def test_a_body_with_two_lengths_is_refused(here: ServiceHere) -> None:
    url = here.client.base_url
    head = (
        "POST /v1/assign HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nOptassign-Protocol: 1\r\n"
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port or 0), timeout=30) as connection:
        connection.sendall(head.encode() + b"0\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 400")
