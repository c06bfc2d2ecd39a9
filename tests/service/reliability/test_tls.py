"""Tests of TLS handshakes that stop or are followed by nothing, and of certificates that change while the service runs."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import trustme
from attacking import read_address
from certificates import Files, trust, write_certificate
from serving import MOST_SECONDS, make_headers, make_state, read_answer, wait_until
from serving_here import ServiceHere, run_service_here


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> Files:
    return write_certificate(authority, tmp_path)


@pytest.fixture
def service(authority: trustme.CA, files: Files) -> Iterator[ServiceHere]:
    options = ("--workers", "1", "--max-connections-per-peer", "8", *files.options)
    with run_service_here(*options, verify=trust(authority)) as started:
        yield started


def open_client(service: ServiceHere, authority: trustme.CA) -> httpx.Client:
    """Return a client that trusts this authority only."""
    return httpx.Client(base_url=service.client.base_url, verify=trust(authority), timeout=MOST_SECONDS)


def write_hello() -> bytes:
    """Return the first message of a TLS client."""
    sent = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="127.0.0.1").do_handshake()
    return sent.read()


def await_end(connection: socket.socket) -> None:
    """Read until the other side has closed the connection."""
    connection.settimeout(MOST_SECONDS)
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass


@pytest.mark.parametrize("bytes_sent", [0, 1, 50, None], ids=["nothing", "a byte", "half", "all of the hello"])
def test_half_a_handshake_ends_by_itself(service: ServiceHere, bytes_sent: int | None) -> None:
    with socket.create_connection(read_address(service)) as connection:
        connection.sendall(write_hello()[:bytes_sent])
        assert read_answer(service.assign(make_state("not_applied"))).clients
        service.pass_seconds(11)
        await_end(connection)
    assert service.wait_for("connection_ended")["why"] == "handshake"
    wait_until(lambda: find_connections(service) == 1)


def find_connections(service: ServiceHere) -> float | None:
    """Return the number of connections, or None while this connection is refused, too."""
    try:
        return service.read_metric("optassign_connections")
    except httpx.TransportError:
        return None


def test_half_handshakes_count_and_further_connections_are_refused(service: ServiceHere) -> None:
    """Half handshakes count towards their peer's limit until they end; another peer is still served."""
    held = [socket.create_connection(read_address(service)) for _ in range(12)]
    for connection in held[:7]:
        connection.sendall(write_hello()[:50])
    service.wait_for("connection_refused", limit="peer")
    other = httpx.HTTPTransport(verify=service.verify, local_address="127.0.0.2")
    with httpx.Client(base_url=service.client.base_url, transport=other, timeout=MOST_SECONDS) as client:
        content = make_state("next-to-many").model_dump_json()
        assert client.post("/v1/assign", content=content, headers=make_headers({})).status_code == 200
    service.pass_seconds(11)
    for connection in held:
        await_end(connection)
        connection.close()
    wait_until(lambda: find_connections(service) == 1)
    with httpx.Client(base_url=service.client.base_url, verify=service.verify, timeout=MOST_SECONDS) as client:
        assert client.get("/readyz").status_code == 200


def test_a_connection_without_a_request_ends_by_itself(service: ServiceHere, authority: trustme.CA) -> None:
    with (
        socket.create_connection(read_address(service)) as plain,
        trust(authority).wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        service.pass_seconds(11)
        await_end(connection)
    assert service.wait_for("connection_ended")["why"] == "head"


def test_idle_connections_make_room(service: ServiceHere, authority: trustme.CA) -> None:
    """The connection that has been idle for the longest is closed first."""
    clients = [open_client(service, authority) for _ in range(12)]
    assert [client.get("/healthz").status_code for client in clients] == [200] * 12
    assert service.wait_for("connection_ended")["why"] == "crowded out"
    assert not service.list_events("connection_refused")
    for client in clients:
        client.close()


def test_a_new_certificate_is_used_without_a_restart(service: ServiceHere, authority: trustme.CA, files: Files) -> None:
    other = trustme.CA()
    write_certificate(other, files.certificate.parent)
    service.await_look("certificate_read")
    with open_client(service, other) as client:
        assert client.get("/readyz").status_code == 200
    with open_client(service, authority) as late, pytest.raises(httpx.ConnectError):
        late.get("/readyz")
    assert read_answer(service.assign(make_state("still-connected"))).clients  # on the old connection


def test_a_certificate_that_cannot_be_used_changes_nothing(service: ServiceHere, authority: trustme.CA, files: Files) -> None:
    files.certificate.write_text("no certificate\n", encoding="ascii")
    assert "cannot be used" in service.await_look("settings_kept")["why"]
    with open_client(service, authority) as client:
        assert client.get("/readyz").status_code == 200
