"""Tests of the socket that the service listens on."""

import asyncio
import socket
from contextlib import closing

from optassign.service.http.connections import Connections, open_listener
from optassign.service.settings import Limits, Settings


async def accept_one() -> None:
    with closing(open_listener(Settings(port=0), False)) as listener:
        listener.connections = Connections(Limits(), 60)
        with closing(socket.create_connection(listener.getsockname()[:2])):
            connection, _ = listener.accept()
            assert len(listener.connections) == 1
            with closing(connection):
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert len(listener.connections) == 0


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """Nagle's algorithm would delay the second part of each answer by about 40 ms."""
    asyncio.run(accept_one())
