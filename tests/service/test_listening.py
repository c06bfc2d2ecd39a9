"""The socket that the service listens on."""

import socket
from contextlib import closing

from optassign.service.listening import open_listener
from optassign.service.settings import Settings


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """Nagle's algorithm would hold back the second part of each answer for some 40 ms."""
    with closing(open_listener(Settings(port=0))) as listener, closing(socket.create_connection(listener.getsockname()[:2])):
        connection, _ = listener.accept()
        with closing(connection):
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
