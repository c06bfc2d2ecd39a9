"""The socket that the service listens on, which others may reach only with token and TLS."""

import ipaddress
import socket

from optassign.service.http.connections import LimitedListener
from optassign.service.settings import TOKEN_VARIABLE, Settings, SettingsError

__all__ = ["open_listener"]


def open_listener(settings: Settings, has_token: bool) -> LimitedListener:
    """The socket to listen on. SettingsError if it cannot be had, or if others could reach it without token and TLS."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise SettingsError(f"--host: found {settings.host!r} ({error}); allowed: an address of this machine") from None
    family, _, _, _, address = found[0]
    if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        _check_safety(settings, has_token)
    try:
        listener = socket.create_server(address[:2], family=family, backlog=256)
        # Inherited by each connection. asyncio sets it itself only on sockets whose protocol is stated, which these do not
        # do; with Nagle's algorithm each answer would wait some 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return LimitedListener(listener.family, listener.type, listener.proto, fileno=listener.detach())
    except OSError as error:
        where = f"{settings.host} port {settings.port}"
        raise SettingsError(f"--host, --port: found that {where} cannot be listened on ({error.strerror})") from None


def _check_safety(settings: Settings, has_token: bool) -> None:
    """SettingsError if an address that others can reach has no token, or no TLS to keep the token secret."""
    if not has_token and settings.tls_client_ca is None:
        raise SettingsError(
            f"--host: found {settings.host}, which others can reach, and no token; allowed: a loopback address, or --token-file"
            f" (or {TOKEN_VARIABLE}) together with --tls-cert and --tls-key or --behind-proxy"
        )
    if settings.tls_cert is None and not settings.behind_proxy:
        raise SettingsError(
            f"--host: found {settings.host}, which others can reach, and no TLS, so that the token could be read on its way;"
            " allowed: --tls-cert and --tls-key, or --behind-proxy where a proxy does TLS"
        )
