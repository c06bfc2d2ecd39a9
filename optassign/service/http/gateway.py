"""The gateway before all pages: it checks access, refuses requests at shutdown, turns errors into JSON, and counts."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from optassign.service.http.access import Access
from optassign.service.http.refusals import BUG, Refusal, RequestRefusedError, make_refusal, make_unavailable
from optassign.service.logs import log_event
from optassign.service.metrics import Metrics

__all__ = ["Gateway", "to_response"]

_RETRY_S = 1  # seconds after which a client may repeat a request refused at shutdown: a restarted service may answer by then

_PUBLIC_PAGES = frozenset({"/healthz", "/readyz", "/login"})
_PUBLIC_FILES = "/static/"
"""Pages and files that need no token, as they reveal nothing."""
_OTHER_PAGES = "other"
"""The label of unknown pages in the metrics, so that outsiders cannot choose labels."""


class Gateway:
    """ASGI middleware around the application with the pages."""

    def __init__(
        self, app: ASGIApp, *, find_access: Callable[[str, str, str, Headers], Access], metrics: Metrics, pages: frozenset[str]
    ) -> None:
        """Wrap `app`. find_access: returns the rights of a request from method, path, query and headers, or raises
        RequestRefusedError."""
        self._app, self._find_access, self._metrics, self._pages = app, find_access, metrics, pages
        self.in_flight = 0
        """Number of requests to /v1 that are being read or answered."""
        self.draining = False
        """Whether the service is shutting down: requests under way are finished, and new ones are refused."""
        self._idle = asyncio.Event()
        self._idle.set()

    async def wait_until_idle(self) -> None:
        """Wait until no request to /v1 is under way."""
        await self._idle.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start = asyncio.get_running_loop().time()
        status: int | None = None
        counted = False

        async def note_and_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        async def refuse(refusal: Refusal) -> None:
            scope["state"]["refusal"] = refusal
            if status is None:  # otherwise a response has begun already
                await to_response(refusal)(scope, receive, note_and_send)

        try:
            path = scope["path"]
            if path not in _PUBLIC_PAGES and not path.startswith(_PUBLIC_FILES):
                query = scope["query_string"].decode("latin-1")
                headers = Headers(scope=scope)
                scope["state"]["access"] = self._find_access(scope["method"], path, query, headers)
                _check_once(headers)
            if path.startswith("/v1/"):
                self._enter()
                counted = True
            await self._app(scope, receive, note_and_send)
        except RequestRefusedError as error:
            if error.refusal.status == 401:
                client = scope.get("client")
                log_event("login_failed", logging.WARNING, peer=client and client[0], path=scope["path"][:100])
            await refuse(error.refusal)
        except ClientDisconnect:
            status = None  # the application sent 500, but the client had left
            log_event("client_gone", path=scope["path"])
        except Exception as error:
            log_event("bug", logging.ERROR, failed=True, path=scope["path"], error=f"{type(error).__name__}: {error}")
            await refuse(BUG)  # only if no response has begun
        finally:
            if counted:
                self._leave()
            self._note_refusal(scope, asyncio.get_running_loop().time() - start)
            endpoint = self._name_endpoint(scope)
            self._metrics.requests.labels(endpoint, str(status or 499)).inc()
            self._metrics.request_seconds.labels(endpoint).observe(asyncio.get_running_loop().time() - start)

    def _note_refusal(self, scope: Scope, seconds: float) -> None:
        """Log and count a refusal with status 503: the plug-in's planner answers this rebalance."""
        refusal = scope["state"].get("refusal")
        if refusal is None or refusal.status != 503 or not scope["path"].startswith("/v1/"):
            return
        self._metrics.refused.labels(refusal.reason).inc()
        log_event(
            "refused",
            logging.WARNING,
            application=scope["state"].get("application"),
            path=scope["path"][:100],
            reason=refusal.reason,
            why=refusal.error,
            seconds=round(seconds, 3),
        )

    def _name_endpoint(self, scope: Scope) -> str:
        """Return the label of the page in metrics: its path, the pattern of a path with variable parts, or `other`."""
        pattern = getattr(scope.get("route"), "path", None)
        return next((name for name in (scope["path"], pattern) if name in self._pages), _OTHER_PAGES)

    def _enter(self) -> None:
        if self.draining:
            raise make_unavailable("the service is shutting down", _RETRY_S, "stopping")
        self.in_flight += 1
        self._idle.clear()

    def _leave(self) -> None:
        self.in_flight -= 1
        if not self.in_flight:
            self._idle.set()


def to_response(refusal: Refusal) -> Response:
    """Return the response with the refusal as JSON."""
    return Response(refusal.body(), refusal.status, refusal.headers, "application/json")


def _check_once(headers: Headers) -> None:
    """Raise RequestRefusedError with status 400 for a repeated header, or a body with two lengths: FastAPI would take one of
    the values, and a proxy may take the other (RFC 9112, section 6.1)."""
    if "content-length" in headers and "transfer-encoding" in headers:
        found, allowed = "Content-Length with Transfer-Encoding", "one of them"
        raise make_refusal(400, "the body has two lengths", "Transfer-Encoding", found, allowed)
    for name, count in Counter(headers.keys()).items():
        if count > 1 and name.startswith(("optassign-", "content-")):
            raise make_refusal(400, "the header is repeated", name.title(), f"{count} times", "once")
