"""Logging in with a browser: the same tokens as the API, and a cookie that says which one without being it."""

import hashlib
import hmac
import ipaddress
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal
from optassign.service.http.tokens import Access, Tokens
from optassign_models.policy.constants import SESSION_S

__all__ = ["COOKIE", "Sessions"]

COOKIE = "optassign"
_MACHINES = ("/v1/", "/metrics", "/healthz", "/readyz")
"""Addresses of machines, which get 401, not a form."""


class Sessions:
    """Decide which page a visitor may see. A session is worth what its token is worth now: it ends with it, and with the
    service."""

    def __init__(self, tokens: Tokens, *, checks_host: bool, read_seconds: Callable[[], float] = time.time) -> None:
        """checks_host: no visitor has to log in, so the host name in requests has to be this machine's."""
        self._tokens, self._checks_host, self._read_seconds = tokens, checks_host, read_seconds
        self._secret = secrets.token_bytes(32)

    def check(self, method: str, path: str, query: str, headers: Headers) -> Access:
        """Return a request's rights. RequestRefusedError with status 401, or 303 to the form for a browser that asks for a
        page.

        The cookie counts for what is looked at, and for forms of our own pages; plug-ins send their token.
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
        if self._checks_host and not path.startswith(_MACHINES):
            _check_host(headers)
        return access

    def log_in(self, token: str) -> str | None:
        """The cookie for a token that is good; None for another."""
        try:
            self._tokens.check(Headers({"authorization": f"Bearer {token}"}))
        except (RequestRefusedError, UnicodeEncodeError):
            return None
        until = str(int(self._read_seconds()) + SESSION_S)
        return f"{until}.{self._sign(until, token.strip())}"

    def check_origin(self, headers: Headers) -> None:
        """RequestRefusedError with status 403 for a form from another site."""
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


def _check_host(headers: Headers) -> None:
    """RequestRefusedError with status 403 for a name that a foreign page may have made point here (DNS rebinding)."""
    host = headers.get("host", "")
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if name.lower() in ("localhost", ""):
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        allowed = "localhost or an IP address, as the service has no token"
        raise make_refusal(403, "the pages are not for this host", "Host", host[:100], allowed) from None
