"""Tests of refusals: each row of the table in docs/reference/http.md is returned as JSON, and the service goes on.
They test `optassign.service.http.request`."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from command_line import run_here
from serving import HEADERS, MAX_BODY, MAX_CELLS, MAX_NAME, Service

from optassign.generating import generate

STATE = generate("steady", 12, 3, 1, seed=1)
DATA = json.loads(STATE.model_dump_json())


def change(**fields: Any) -> bytes:
    return json.dumps({**DATA, **fields}).encode()


def change_client(**fields: Any) -> bytes:
    return change(clients=[{**DATA["clients"][0], **fields}])


@pytest.mark.parametrize(
    ("headers", "status", "error"),
    [
        ({"optassign_protocol": None}, 400, {"where": "Optassign-Protocol", "found": "nothing", "allowed": '"1"'}),
        ({"optassign_protocol": "2"}, 400, {"where": "Optassign-Protocol", "found": "2", "allowed": '"1"'}),
        ({"optassign_protocol": "one"}, 400, {"where": "Optassign-Protocol", "found": "one", "allowed": '"1"'}),
        ({"optassign_deadline_ms": "soon"}, 400, {"where": "Optassign-Deadline-Ms", "found": "soon"}),
        ({"optassign_deadline_ms": "0"}, 400, {"found": "0", "allowed": "an integer from 1 to 60000"}),
        ({"optassign_deadline_ms": "-5"}, 400, {"where": "Optassign-Deadline-Ms", "found": "-5"}),
        ({"optassign_deadline_ms": "9" * 30}, 400, {"where": "Optassign-Deadline-Ms", "found": "9" * 30}),
        ({"optassign_mode": "test"}, 400, {"where": "Optassign-Mode", "found": "test", "allowed": '"active", "shadow"'}),
        ({"optassign_remembered_at": "yesterday"}, 400, {"where": "Optassign-Remembered-At", "found": "yesterday"}),
        ({"content_type": None}, 415, {"where": "Content-Type", "found": "nothing", "allowed": '"application/json"'}),
        ({"content_type": "text/plain"}, 415, {"where": "Content-Type", "found": "text/plain"}),
        ({"content_type": "application/json; charset=latin-1"}, 415, {"where": "Content-Type"}),
        ({"content_encoding": "br"}, 415, {"where": "Content-Encoding", "found": "br", "allowed": '"identity", "gzip"'}),
        ({"content_encoding": "gzip, gzip"}, 415, {"where": "Content-Encoding", "found": "gzip, gzip"}),
    ],
    ids=lambda value: "",
)
def test_headers(service: Service, headers: dict[str, Any], status: int, error: dict[str, str]) -> None:
    check_refusal(service.assign(STATE, **headers), status, error)


@pytest.mark.parametrize(
    ("body", "where", "found", "allowed"),
    [
        (b"", "request", "an empty text", "JSON in UTF-8"),
        (b"{", "line 1, column 2", "the end of a truncated text", "JSON in UTF-8"),
        (b"\xff", "byte 0", "byte 0xff, which is not UTF-8", "JSON in UTF-8"),
        (b"[" * 100_000, "request", "lists or objects nested too deeply", "JSON in UTF-8"),
        (b"[]", "the top level", "an empty list", "an object with the fields"),
        (b"7", "the top level", "7", "an object with the fields"),
        (b"{}", "format", "nothing", "1, the only version"),
        (change(format=2), "format", "2", "1, the only version"),
        (change(application=7), "application", "7", "a string"),
        (change(tasks=7), "tasks", "7", "a list"),
        (change(tasks=[7]), "tasks[0]", "7", "an object"),
        (change(clients=[]), "clients", "an empty list", "a list of at least 1"),
        (change_client(threads=0), "clients[0].threads", "0", "an integer from 1"),
        (change_client(process_id=7), "clients[0].process_id", "7", "a string that is not empty"),
        (change_client(colour=1, threads="2"), "clients[0].threads", '"2"', "an integer from 1"),
        (change(remembered={"format": 1}), "remembered.assignor", "nothing", "a string"),
    ],
    ids=lambda value: "",
)
def test_bodies(service: Service, body: bytes, where: str, found: str, allowed: str) -> None:
    error = check_refusal(service.assign(body), 400, {"where": where, "found": found})
    assert error["allowed"].startswith(allowed)


def test_half_characters(service: Service) -> None:
    """JSON may contain half of a surrogate pair, which no encoding can represent; the refusal still names it."""
    body = rb'{"\ud800": 1, "\ud800": 2}'
    check_refusal(service.assign(body), 400, {"found": 'field "\ud800" twice', "allowed": "each name once in an object"})
    response = service.client.post("/v1/compare", content=body, headers=HEADERS)
    check_refusal(response, 400, {"found": 'field "\ud800" twice'})


@pytest.mark.parametrize(
    ("clients", "where", "found"),
    [
        ([(2**31 - 1, 1e6)], "clients[0]", "2147483647000000"),
        ([(2**31 - 1, 4000.0), (1, 1.0), (2**31 - 1, 4000.0)], "clients[2]", "17179869176001"),  # each alone is allowed
    ],
    ids=["one", "together"],
)
def test_too_much_capacity_is_refused(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    clients: list[tuple[int, float]], where: str, found: str,
) -> None:  # fmt: skip
    listed = [{"process_id": f"c{i}", "threads": n, "capacity": each} for i, (n, each) in enumerate(clients)]
    error = {
        "where": where,
        "found": f"threads × capacity of {found}, together with the clients before it",
        "allowed": "at most 9000000000000 for all clients together",
    }
    check_refusal(service.assign(change(clients=listed)), 400, error)
    path = tmp_path / "snapshot.json"
    path.write_bytes(change(clients=listed))
    line = f"{path}: {where}: found {error['found']}; allowed: {error['allowed']}"
    assert run_here(capsys, "assign", str(path)) == (2, "", f"optassign assign: error: {line}\n")
    listed = [{**client, "capacity": 2000.0} for client in listed[:2]]
    assert service.assign(change(clients=listed)).status_code == 200


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"no gzip at all", "something else"),
        (gzip.compress(change())[:-9], "the end of a truncated text"),
        (gzip.compress(change()) + b"tail", "something else"),
        (b"", "nothing"),
    ],
    ids=["other", "cut", "tail", "empty"],
)
def test_bodies_that_are_not_gzip(service: Service, body: bytes, found: str) -> None:
    check_refusal(service.assign(body, content_encoding="gzip"), 400, {"where": "body", "found": found, "allowed": "gzip"})


def send_in_chunks(size: int) -> Iterator[bytes]:
    for _ in range(size // 10_000):
        yield b" " * 10_000


def test_a_body_over_the_limit(service: Service) -> None:
    allowed = f"at most {MAX_BODY} bytes"
    declared = check_refusal(service.assign(b" " * (MAX_BODY + 1)), 413, {"where": "body", "allowed": allowed})
    assert declared["found"] == f"{MAX_BODY + 1} bytes"
    response = service.client.post("/v1/assign", content=send_in_chunks(2 * MAX_BODY), headers=HEADERS)
    check_refusal(response, 413, {"found": f"more than {MAX_BODY} bytes", "allowed": allowed})
    assert service.assign(change() + b" " * (MAX_BODY - len(change()))).status_code == 200  # exactly at the limit


def test_a_small_body_that_inflates_to_a_large_one(service: Service) -> None:
    bomb = gzip.compress(b" " * (200 << 20))
    assert len(bomb) < MAX_BODY
    found = f"more than {MAX_BODY} bytes once it is inflated"
    check_refusal(service.assign(bomb, content_encoding="gzip"), 413, {"where": "body", "found": found})
    full = change() + b" " * (MAX_BODY - len(change()))
    assert service.assign(gzip.compress(full), content_encoding="gzip").status_code == 200


def test_too_many_tasks_and_clients(service: Service) -> None:
    tasks = [{"id": f"0_{i}", "stateful": True} for i in range(201)]
    clients = [{"process_id": f"c{i}", "threads": 1} for i in range(100)]
    body = change(tasks=tasks, clients=clients)
    check_refusal(service.assign(body), 413, {"where": "tasks", "found": "201 × 100", "allowed": f"at most {MAX_CELLS} in all"})
    assert service.assign(change(tasks=tasks[:200], clients=clients)).status_code == 200


def test_names_that_are_too_long(service: Service) -> None:
    allowed = f"at most {MAX_NAME}"
    check_refusal(service.assign(change(application="a" * 81)), 413, {"where": "application", "found": "81 characters"})
    body = change_client(process_id="c" * 81)
    check_refusal(service.assign(body), 413, {"where": "clients[0].process_id", "allowed": allowed})
    assert service.assign(change_client(process_id="c" * 80)).status_code == 200


def test_no_such_page(service: Service) -> None:
    error = check_refusal(service.client.get("/v2/assign"), 404, {"found": "GET /v2/assign"})
    assert "/v1/assign" in error["allowed"]
    assert check_refusal(service.client.get("/docs"), 404, {})  # the page would need the internet


def test_no_such_method(service: Service) -> None:
    response = service.client.get("/v1/assign")
    check_refusal(response, 405, {"found": "GET /v1/assign", "allowed": "POST"})
    assert response.headers["allow"] == "POST"


def test_a_header_twice(service: Service) -> None:
    headers = [*HEADERS.items(), ("Optassign-Mode", "active"), ("Optassign-Mode", "shadow")]
    response = service.client.post("/v1/assign", content=change(), headers=headers)
    check_refusal(response, 400, {"where": "Optassign-Mode", "found": "2 times", "allowed": "once"})


def test_refusals_are_not_logged_as_errors(service: Service) -> None:
    assert not service.list_events("bug")
    assert not [line for line in service.log if "traceback" in line]
    assert not service.list_events("worker_died")


def check_refusal(response: httpx.Response, status: int, error: dict[str, str]) -> dict[str, str]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["optassign-protocol"] == "1"
    found: dict[str, str] = response.json()
    assert set(found) <= {"error", "where", "found", "allowed"}
    assert found["error"]
    assert {name: found.get(name) for name in error} == error
    return found
