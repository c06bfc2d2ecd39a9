"""The connections of the service: their number, in total and for each peer, and how long a connection may be silent.

Connections are counted when they are accepted, below TLS and HTTP, so that an unfinished handshake counts as well. The protocol
is uvicorn's own, extended by the times at which its states began; a periodic check ends connections that stay in a state for
too long.
"""

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from optassign.service.logs import log_event
from optassign.service.settings import TOKEN_VARIABLE, Limits, Settings, SettingsError

__all__ = ["Connections", "LimitedListener", "check_address", "open_listener"]

_CONNECTION_LOOK_S = 1.0  # seconds from one check of all connections to the next: limits are ten times as long
_HEAD_S = 10.0
"""Seconds for the head of a request, for the first one including connection and TLS, so that slow senders hold no
connections."""
_READ_S = 30.0  # seconds for which a peer may leave a response unread: a stalled peer must not hold a connection


class Connections:
    """All open connections. Used by one event loop only."""

    def __init__(self, limits: Limits, idle_seconds: float) -> None:
        self._limits, self._idle_seconds = limits, idle_seconds
        self._sockets: dict[_CountedSocket, float] = {}
        """Socket → time of its acceptance, until a protocol has taken it."""
        self._by_peer: Counter[str] = Counter()
        self._protocols: set[_Protocol] = set()

    def __len__(self) -> int:
        return self._by_peer.total()

    def make_protocol(self, **settings: Any) -> "_Protocol":
        """Return a protocol for a connection; uvicorn calls this for each one."""
        return _Protocol(self, **settings)

    def accept(self, connection: "_CountedSocket") -> bool:
        """Count a connection, and return whether it may stay.

        At a limit, another connection is ended to make room: the one with the oldest unfinished head, otherwise the longest
        idle one.
        """
        peer = connection.peer
        if self._by_peer[peer] >= self._limits.connections_per_peer and not self._make_room(peer):
            return self._refuse("peer", peer)
        if len(self) >= self._limits.connections and not self._make_room(None):
            return self._refuse("total", peer)
        self._by_peer[peer] += 1
        self._sockets[connection] = asyncio.get_running_loop().time()
        return True

    def forget(self, connection: "_CountedSocket") -> None:
        """Stop counting a closed connection."""
        self._sockets.pop(connection, None)
        self._by_peer[connection.peer] -= 1
        if self._by_peer[connection.peer] <= 0:
            del self._by_peer[connection.peer]

    def add(self, protocol: "_Protocol", connection: Any) -> float:
        """Add a connection that has reached HTTP, and return the time of its acceptance."""
        self._protocols.add(protocol)
        accepted = None
        for known in self._sockets:  # only connections without a protocol yet: few, and each for a moment
            if known.fileno() == connection.fileno():
                accepted = known
                break
        now = asyncio.get_running_loop().time()
        return now if accepted is None else self._sockets.pop(accepted)

    def discard(self, protocol: "_Protocol") -> None:
        """Remove a connection that was lost or closed."""
        self._protocols.discard(protocol)

    async def watch(self) -> None:
        """End connections that are silent for too long. Never returns."""
        while True:
            await asyncio.sleep(_CONNECTION_LOOK_S)
            now = asyncio.get_running_loop().time()
            for connection, accepted in list(self._sockets.items()):
                if now - accepted > _HEAD_S:
                    self._end("handshake", connection.shut_down)
            for protocol in list(self._protocols):
                why = protocol.find_timeout(now, self._idle_seconds)
                if why is not None:
                    self._end(why, protocol.abort)

    def _make_room(self, peer: str | None) -> bool:
        """End a connection of `peer`, or of any peer for None, without a request under way, and return whether any existed."""
        of_peer = [protocol for protocol in self._protocols if peer in (None, protocol.peer)]
        waiting = [protocol for protocol in of_peer if protocol.head_since is not None]
        waiting = waiting or [protocol for protocol in of_peer if protocol.idle_since is not None]
        if not waiting:
            return False
        self._end("crowded out", min(waiting, key=lambda protocol: protocol.head_since or protocol.idle_since or 0.0).abort)
        return True

    def _end(self, why: str, end: Callable[[], None]) -> None:
        log_event("connection_ended", why=why)
        end()

    def _refuse(self, why: str, peer: str) -> bool:
        log_event("connection_refused", limit=why, peer=peer)
        return False


class LimitedListener(socket.socket):
    """A listening socket that counts its connections, and closes them at once beyond the limits."""

    connections: Connections

    def accept(self) -> "tuple[_CountedSocket, Any]":
        """Return the next connection and its address. ConnectionAbortedError for a connection beyond the limits; asyncio
        ignores this error."""
        handle, address = super()._accept()  # type: ignore[misc]
        connection = _CountedSocket(self.family, self.type, self.proto, fileno=handle)
        connection.peer = str(address[0])
        if not self.connections.accept(connection):
            socket.socket.close(connection)
            raise ConnectionAbortedError
        connection.connections = self.connections
        return connection, address


class _CountedSocket(socket.socket):
    """An accepted connection that counts towards the limits until it is closed."""

    peer: str
    connections: Connections | None = None

    def close(self) -> None:
        connections, self.connections = self.connections, None
        if connections is not None:
            connections.forget(self)
        super().close()

    def shut_down(self) -> None:
        """End a connection that no protocol has taken yet."""
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)


class _Protocol(H11Protocol):
    """Uvicorn's protocol, extended by the times at which its states began."""

    def __init__(self, owner: Connections, **settings: Any) -> None:
        super().__init__(**settings)
        self._owner = owner
        self.peer = ""
        self.idle_since: float | None = None
        """The time since which no request has been under way and no byte of the next has arrived; None in other states."""
        self.head_since: float | None = None
        """The time since which the head of a request has been arriving, or None."""
        self._unread_since: float | None = None
        """The time since which the peer has left written data unread, or None."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.peer = str(transport.get_extra_info("peername", ("",))[0])
        self.head_since = self._owner.add(self, transport.get_extra_info("socket"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.head_since is None and self.idle_since is not None:
            self.head_since = self.loop.time()
        self.idle_since = None
        super().data_received(data)
        if self._is_under_way():
            self.head_since = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._is_under_way():  # otherwise the next request has begun already
            self.idle_since, self.head_since = self.loop.time(), None
            if self.conn.their_state is not h11.IDLE:  # the rest of a body that no page reads
                self.head_since = self.idle_since

    def _is_under_way(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_since = None

    def find_timeout(self, now: float, idle_seconds: float) -> str | None:
        """Return why to end the connection (`head`, `answer unread` or `idle` too long), or None.

        `read_body` and `read_form` limit bodies.
        """
        if self.head_since is not None and now - self.head_since > _HEAD_S:
            return "head"
        if self._unread_since is not None and now - self._unread_since > _READ_S:
            return "answer unread"
        if self.idle_since is not None and now - self.idle_since > idle_seconds:
            return "idle"
        return None

    def abort(self) -> None:
        """End the connection at once."""
        self.idle_since = self.head_since = self._unread_since = None
        self.transport.abort()


def check_address(settings: Settings, has_token: bool) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """Return family and address to listen on. SettingsError for an unknown address, or if other machines could reach it without
    access control or TLS."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise SettingsError(f"--host: found {settings.host!r} ({error}); allowed: an address of this machine") from None
    family, _, _, _, address = found[0]
    if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        _check_safety(settings, has_token)
    return family, (str(address[0]), int(address[1]))


def open_listener(settings: Settings, has_token: bool) -> LimitedListener:
    """Return the listening socket. SettingsError as from `check_address`, or if the system refuses the address."""
    family, address = check_address(settings, has_token)
    try:
        listener = socket.create_server(address, family=family, backlog=256)
        # Each connection inherits the option. asyncio sets it only on sockets with a stated protocol, which these do not have.
        # With Nagle's algorithm each answer would wait some 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return LimitedListener(listener.family, listener.type, listener.proto, fileno=listener.detach())
    except OSError as error:
        where = f"{settings.host} port {settings.port}"
        raise SettingsError(f"--host, --port: found that {where} cannot be listened on ({error.strerror})") from None


def _check_safety(settings: Settings, has_token: bool) -> None:
    """Raise SettingsError unless callers need a token or client certificate, and TLS or a proxy keeps the token secret."""
    if not has_token and settings.tls_client_ca is None:
        raise SettingsError(
            f"--host: found {settings.host}, which others can reach, without a token; allowed: a loopback address, or"
            f" --token-file (or {TOKEN_VARIABLE}) together with --tls-cert and --tls-key or --behind-proxy"
        )
    if settings.tls_cert is None and not settings.behind_proxy:
        raise SettingsError(
            f"--host: found {settings.host}, which others can reach, without TLS, so that others could read the token;"
            " allowed: --tls-cert and --tls-key, or --behind-proxy where a proxy does TLS"
        )
