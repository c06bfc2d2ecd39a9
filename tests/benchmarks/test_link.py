"""Tests that a link forwards, delays and cuts connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from optassign_benchmarks.kafka.cluster import Link
from optassign_benchmarks.kafka.processes import find_free_ports


@pytest.fixture
def link() -> Iterator[Link]:
    """Yield a link to an echo server."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    def echo(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1024):
                connection.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    (port,) = find_free_ports(1)
    link = Link(server.getsockname()[1], port)
    yield link
    link.close()
    server.close()


def connect(link: Link) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", link.port))
    connection.settimeout(60)
    return connection


def test_it_passes_on_both_ways_and_waits_each_way(link: Link) -> None:
    with connect(link) as connection:
        connection.sendall(b"one")
        assert connection.recv(1024) == b"one"
        link.delay = 0.2
        start = time.monotonic()
        connection.sendall(b"two")
        assert connection.recv(1024) == b"two"
        assert time.monotonic() - start >= 0.4


def test_a_cut_ends_what_is_open_and_what_comes_until_it_is_healed(link: Link) -> None:
    with connect(link) as before:
        before.sendall(b"here")
        assert before.recv(1024) == b"here"
        link.cut()
        with suppress(ConnectionResetError):
            assert before.recv(1024) == b""
    with connect(link) as during:
        assert during.recv(1024) == b""
    link.heal()
    with connect(link) as after:
        after.sendall(b"again")
        assert after.recv(1024) == b"again"
