"""Access: tokens with their rights to applications (docs/how-to/secure.md), and browser logins."""

import hashlib
import hmac
import ipaddress
import math
import os
import re
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser

from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal
from optassign.service.newest import Newest
from optassign.service.settings import TOKEN_VARIABLE, SettingsError, WatchedFiles
from optassign_models.policy.constants import MOST_DOUBLINGS

__all__ = ["COOKIE", "EVERYTHING", "Access", "LoginPauses", "Sessions", "Tokens", "get_access", "read_tokens"]

_SHORTEST_TOKEN = 16  # characters of a token, at least: shorter tokens can be guessed
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # a bearer token (RFC 6750, section 2.1); the plug-in refuses any other
_TOKEN_FILE = 1_048_576  # bytes of a file with tokens: a larger file was named by mistake
_FREE_LOGINS = 10  # failed logins of an address before it must wait: people mistype, and several may share an address
_LOGIN_PAUSE_S = 1.0
"""Seconds to wait after too many failed logins from an address. Each further failure doubles it, so that guessing takes
years."""
_LONGEST_LOGIN_PAUSE_S = 60.0  # seconds to wait at most: an operator may share the address
_LOGIN_ADDRESSES = 1_024
"""The number of addresses whose failed logins are counted. Addresses come from outside, so the memory for them needs a
bound."""
_SESSION_S = 43_200  # seconds until a user must log in again: a working day


_MAY_OPERATE, _MAY_DRAIN, _NAME, _CLIENT = "may=operate", "may=drain", "name=", "client="
"""Words after a token that are not applications: application ids have no equals sign."""


@dataclass(frozen=True)
class Access:
    """The rights of a token's holder."""

    applications: frozenset[str] | None
    """None: every application, and the pages about all of them."""
    may_operate: bool = False
    """Whether the holder may pause an application, drain its clients and request a new target."""
    name: str | None = None
    """The holder's name in logs and lists."""
    may_drain: bool = False
    """Whether the holder may drain clients and cancel drains, which a pod needs before it stops."""
    clients: frozenset[str] = frozenset()
    """The clients that the holder may drain; empty: every client of its applications."""

    def covers(self, application: str) -> bool:
        """Return whether the token is for the application."""
        return self.applications is None or application in self.applications

    def check_application(self, application: str | None) -> None:
        """Raise RequestRefusedError with status 403 if the token is not for the application."""
        if self.applications is not None and application not in self.applications:
            raise make_refusal(403, "the token is not for this application", "application", application or "nothing")

    def check_operating(self) -> None:
        """Raise RequestRefusedError with status 403 unless the token may operate."""
        if not self.may_operate:
            allowed = f"one whose line in the file of tokens has {_MAY_OPERATE}"
            raise make_refusal(403, "the token may not operate", "Authorization", "a token for answers only", allowed)

    def check_draining(self, client: str) -> None:
        """Raise RequestRefusedError with status 403 if the token may neither drain this client nor operate."""
        if not self.may_drain or (self.clients and client not in self.clients):
            self.check_operating()

    def check_everything(self) -> None:
        """Raise RequestRefusedError with status 403 if the token is for some applications only."""
        if self.applications is not None:
            raise make_refusal(403, "the token is for some applications only")


EVERYTHING = Access(None, may_operate=True)
"""The access without tokens: the service then listens on a loopback address, or requires client certificates."""


def get_access(request: Request) -> Access:
    """Return the rights of the request's token, which the gateway has stored."""
    access = request.scope["state"]["access"]
    assert isinstance(access, Access)
    return access


class Tokens:
    """The valid tokens. Without any, every caller has full access."""

    def __init__(self, path: Path | None) -> None:
        """Read the tokens. SettingsError if they are unreadable, or too weak to serve."""
        self._path, self._files = path, WatchedFiles(path)
        self._tokens = read_tokens(path)

    def __bool__(self) -> bool:
        return self._tokens is not None

    def check(self, headers: Headers) -> Access:
        """Return the rights of a request. RequestRefusedError with status 401 without a valid token."""
        if self._tokens is None:
            return EVERYTHING
        values = headers.getlist("authorization")
        scheme, _, given = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        encoded = given.strip().encode("utf-8", "replace")
        found = None
        # Compare every token in constant time, so that the duration tells nothing about the tokens.
        for token, access in self._tokens.items():
            if hmac.compare_digest(encoded, token.encode()):
                found = access
        if scheme.lower() != "bearer" or found is None:
            allowed, headers_back = "Bearer and the service's token", {"WWW-Authenticate": "Bearer"}
            refusal = Refusal(401, "the token is missing or wrong", "Authorization", allowed=allowed, headers=headers_back)
            raise RequestRefusedError(refusal)
        return found

    def list_all(self) -> Iterable[tuple[str, Access]]:
        """Return the valid tokens, each with its rights."""
        return () if self._tokens is None else self._tokens.items()

    def reload(self) -> bool:
        """Read the file again if it has changed, and return whether it had. Not for the event loop, since it reads a file.

        SettingsError for an unreadable file; the old tokens then stay.
        """
        if self._path is None or not self._files.have_changed():
            return False
        self._tokens = read_tokens(self._path)
        return True


def read_tokens(path: Path | None) -> Mapping[str, Access] | None:
    """Return token → its rights, from the file, or without a file from the environment; None without either.

    Each line of the file has a token, followed by its applications; without any, the token is for all. Further words:
    `may=operate` lets the holder pause, drain and replan, `may=drain` only drain, `client=…` restricts drains to these clients,
    and `name=…` is the name in logs and lists. Empty lines and lines that begin with # are ignored. SettingsError for a file
    without tokens, or for a weak token.
    """
    if path is None:
        if TOKEN_VARIABLE not in os.environ:
            return None
        token = os.environ[TOKEN_VARIABLE].strip()
        _check(token, TOKEN_VARIABLE)
        return {token: Access(None)}
    try:
        with open(path, "rb") as file:
            text = file.read(_TOKEN_FILE).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--token-file: found that {path} cannot be read ({error}); allowed: a text file") from None
    found: dict[str, Access] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        token, *words = line.split()
        where = f"{path}: line {number}"
        _check(token, where)
        if token in found:
            raise SettingsError(f"{where}: found a repeated token; allowed: one line for each token, with all its applications")
        found[token] = _read_access(words, where)
    if not found:
        raise SettingsError(f"{path}: found no token; allowed: lines with a token and its applications")
    return found


def _read_access(words: list[str], where: str) -> Access:
    applications = frozenset(word for word in words if "=" not in word)
    names = [word.removeprefix(_NAME) for word in words if word.startswith(_NAME)]
    for word in words:
        if "=" in word and word not in (_MAY_OPERATE, _MAY_DRAIN) and not word.startswith((_NAME, _CLIENT)):
            allowed = f"applications, {_MAY_OPERATE}, {_MAY_DRAIN}, {_CLIENT}…, {_NAME}…"
            raise SettingsError(f"{where}: found {word!r}; allowed: {allowed}")
    if len(names) > 1 or "" in names:
        raise SettingsError(f"{where}: found {_NAME} {'without a name' if '' in names else 'twice'}; allowed: one name")
    clients = frozenset(word.removeprefix(_CLIENT) for word in words if word.startswith(_CLIENT))
    if "" in clients or (clients and _MAY_DRAIN not in words):
        raise SettingsError(
            f"{where}: found {_CLIENT} without a name, or without {_MAY_DRAIN}; allowed: {_MAY_DRAIN} {_CLIENT}NAME"
        )
    return Access(applications or None, _MAY_OPERATE in words, names[0] if names else None, _MAY_DRAIN in words, clients)


def _check(token: str, where: str) -> None:
    if len(token) < _SHORTEST_TOKEN or not _TOKEN.fullmatch(token):
        allowed = f"at least {_SHORTEST_TOKEN} characters of A-Z a-z 0-9 - . _ ~ + /, then any number of ="
        raise SettingsError(f"{where}: found a token of {len(token)} characters; allowed: {allowed}")


class LoginPauses:
    """Waiting times of addresses after failed logins. Used by the event loop only."""

    def __init__(self, read_seconds: Callable[[], float]) -> None:
        """Start without failed logins. read_seconds: returns seconds since 1970."""
        self._read_seconds = read_seconds
        self._failed = Newest[str, tuple[int, float]](_LOGIN_ADDRESSES)
        """Address → number of failed logins, and the time until which it must wait."""

    def check(self, address: str) -> None:
        """Raise RequestRefusedError with status 429 if the address must wait."""
        left = self._failed.get(address, (0, 0.0))[1] - self._read_seconds()
        if left > 0:
            seconds = str(math.ceil(left))
            raise RequestRefusedError(
                Refusal(429, f"too many failed logins: wait {seconds} s", headers={"Retry-After": seconds})
            )

    def note(self, address: str, *, failed: bool) -> None:
        """Count a failed login; a successful login resets the count."""
        number = self._failed.pop(address, (0, 0.0))[0] + 1
        if not failed:
            return
        doublings = min(number - _FREE_LOGINS, MOST_DOUBLINGS)
        pause = 0.0 if doublings < 0 else min(_LONGEST_LOGIN_PAUSE_S, _LOGIN_PAUSE_S * 2.0**doublings)
        self._failed[address] = (number, self._read_seconds() + pause)


COOKIE = "optassign"
_MACHINES = ("/v1/", "/metrics", "/healthz", "/readyz")
"""Paths for machines, which get status 401 instead of the login form."""


class Sessions:
    """Browser sessions. A session has its token's present rights, and ends with the token or the service, or after 12 h."""

    def __init__(self, tokens: Tokens, *, checks_host: bool, read_seconds: Callable[[], float] = time.time) -> None:
        """Start without sessions. checks_host: whether requests for pages must name localhost or an IP address as host."""
        self._tokens, self._checks_host, self._read_seconds = tokens, checks_host, read_seconds
        self._secret = secrets.token_bytes(32)

    def check(self, method: str, path: str, query: str, headers: Headers) -> Access:
        """Return a request's rights. RequestRefusedError: 401 without a valid token or cookie, for a browser 303 to the login
        form; 403 for a foreign form or host.

        The cookie is valid for reading, and for the forms of the service's own pages. Plug-ins send their token.
        """
        own = method in ("GET", "HEAD") or not path.startswith("/v1/")
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE)
        if "authorization" not in headers and cookie is not None and own and self._tokens:
            access = self._find_access(cookie)
            if access is not None:
                if method not in ("GET", "HEAD"):
                    self.check_origin(headers)
                return access
        try:
            access = self._tokens.check(headers)
        except RequestRefusedError:
            is_browser = "text/html" in headers.get("accept", "") or "hx-request" in headers
            if not is_browser or path.startswith(_MACHINES) or path == "/openapi.json" or "authorization" in headers:
                raise
            target = f"{path}?{query}" if query else path
            where = "/login?next=" + quote(target, safe="")
            status, name = (401, "HX-Redirect") if "hx-request" in headers else (303, "Location")
            raise RequestRefusedError(Refusal(status, "log in first", headers={name: where})) from None
        if self._checks_host and (_is_of_browser(headers) or not path.startswith(_MACHINES)):
            _check_host(headers)
        return access

    def log_in(self, token: str) -> str | None:
        """Return the cookie for a valid token, or None for an invalid one."""
        try:
            self._tokens.check(Headers({"authorization": f"Bearer {token}"}))
        except (RequestRefusedError, UnicodeEncodeError):
            return None
        until = str(int(self._read_seconds()) + _SESSION_S)
        return f"{until}.{self._sign(until, token.strip())}"

    def check_origin(self, headers: Headers) -> None:
        """Raise RequestRefusedError with status 403 if the form comes from another site."""
        origin, host = headers.get("origin"), headers.get("host", "")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") or (
            origin not in (None, "null") and origin.partition("://")[2] != host
        ):
            raise make_refusal(403, "the form is not of this service", "Origin", (origin or "another site")[:100])

    def _find_access(self, cookie: str) -> Access | None:
        until, _, signature = cookie.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 15) or int(until) < self._read_seconds():
            return None
        found = None
        for token, access in self._tokens.list_all():
            if hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(until, token).encode()):
                found = access
        return found

    def _sign(self, until: str, token: str) -> str:
        digest = hmac.new(self._secret, f"{until}.{token}".encode(), hashlib.sha256).digest()
        return urlsafe_b64encode(digest).decode().rstrip("=")


def _is_of_browser(headers: Headers) -> bool:
    """Return whether a browser sends the request, perhaps for a foreign page."""
    return "origin" in headers or "sec-fetch-site" in headers or "mozilla" in headers.get("user-agent", "").lower()


def _check_host(headers: Headers) -> None:
    """Raise RequestRefusedError with status 403 for a host name that a foreign page may direct to this machine (DNS
    rebinding)."""
    host = headers.get("host", "")
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if name.lower() in ("localhost", ""):
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        allowed = "localhost or an IP address, as the service has no token"
        raise make_refusal(403, "the pages are not for this host", "Host", host[:100], allowed) from None
