"""The gateway: every request passes it before a page, for token, limits, shutdown, errors as JSON, metrics."""

import asyncio
import logging
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from optassign import __version__
from optassign.service.http.refusals import BUG, Refusal, RequestRefusedError, make_unavailable
from optassign.service.http.request_headers import PROTOCOL
from optassign.service.http.tokens import Access
from optassign.service.logs import log_event
from optassign.service.metrics import Metrics

__all__ = ["Gateway"]

_PUBLIC_PAGES = frozenset({"/healthz", "/readyz", "/login"})
_PUBLIC_FILES = "/static/"
"""They need no token, as they tell nothing."""
_RETRY_SECONDS = 1
_OTHER_PAGES = "other"
"""The label, in the metrics, of pages that there are not: labels must not be for others to choose."""


class Gateway:
    """An ASGI application around the one that has the pages."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        find_access: Callable[[str, str, str, Headers], Access],
        metrics: Metrics,
        pages: frozenset[str],
    ) -> None:
        """find_access: what a request may do, from method, path, query and headers; RequestRefusedError if nothing."""
        self._app, self._find_access, self._metrics, self._pages = app, find_access, metrics, pages
        self.in_flight = 0
        """Requests to /v1 that are read or answered."""
        self.draining = False
        """Shutting down: what is under way is finished, nothing new is taken."""
        self._idle = asyncio.Event()
        self._idle.set()

    async def wait_until_idle(self) -> None:
        """Wait until no request to /v1 is under way."""
        await self._idle.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start = asyncio.get_running_loop().time()
        response = _ResponseWriter(send)
        counted = False
        try:
            path = scope["path"]
            if path not in _PUBLIC_PAGES and not path.startswith(_PUBLIC_FILES):
                query = scope["query_string"].decode("latin-1")
                scope["state"]["access"] = self._find_access(scope["method"], path, query, Headers(scope=scope))
            if path.startswith("/v1/"):
                self._enter()
                counted = True
            await self._app(scope, receive, response.send)
        except RequestRefusedError as error:
            if error.refusal.status == 401:
                client = scope.get("client")
                log_event("login_failed", logging.WARNING, peer=client and client[0], path=scope["path"][:100])
            await response.refuse(error.refusal)
        except ClientDisconnect:
            response.status = None  # the application has said 500, but no client heard it
            log_event("client_gone", path=scope["path"])
        except Exception as error:
            log_event("bug", logging.ERROR, failed=True, path=scope["path"], error=f"{type(error).__name__}: {error}")
            await response.refuse(BUG)  # if no answer has begun yet
        finally:
            if counted:
                self._leave()
            endpoint = self._name_endpoint(scope)
            self._metrics.requests.labels(endpoint, str(response.status or 499)).inc()
            self._metrics.request_seconds.labels(endpoint).observe(asyncio.get_running_loop().time() - start)

    def _name_endpoint(self, scope: Scope) -> str:
        """The page, for metrics: its path or, where a path has parts that vary, the pattern of all such paths."""
        pattern = getattr(scope.get("route"), "path", None)
        return next((name for name in (scope["path"], pattern) if name in self._pages), _OTHER_PAGES)

    def _enter(self) -> None:
        if self.draining:
            raise make_unavailable("the service is shutting down", _RETRY_SECONDS)
        self.in_flight += 1
        self._idle.clear()

    def _leave(self) -> None:
        self.in_flight -= 1
        if not self.in_flight:
            self._idle.set()


class _ResponseWriter:
    """Sends a response with the headers that every response has, and knows its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        """None as long as nothing has been sent."""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = [(b"optassign-protocol", PROTOCOL.encode()), (b"optassign-service", __version__.encode())]
            message = {**message, "headers": [*message.get("headers", ()), *own]}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        if self.status is not None:  # too late
            return
        body = refusal.body()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
