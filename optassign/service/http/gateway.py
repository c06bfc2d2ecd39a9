"""What every request goes through before it comes to a page: token, limits, shutdown, errors as JSON, metrics."""

import asyncio
import logging

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from optassign import __version__
from optassign.service.http.refusals import BUG, Refusal, RequestRefusedError, make_unavailable
from optassign.service.http.request_headers import PROTOCOL
from optassign.service.http.tokens import Tokens
from optassign.service.logs import log_event
from optassign.service.metrics import Metrics

__all__ = ["Gateway"]

_PUBLIC_PAGES = frozenset({"/healthz", "/readyz"})
"""They need no token, as they tell nothing."""
_RETRY_SECONDS = 1
_OTHER_PAGES = "other"
"""The label, in the metrics, of pages that there are not: labels must not be for others to choose."""


class Gateway:
    """An ASGI application around the one that has the pages."""

    def __init__(self, app: ASGIApp, *, tokens: Tokens, metrics: Metrics, pages: frozenset[str]) -> None:
        self._app, self._tokens, self._metrics, self._pages = app, tokens, metrics, pages
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
            if path not in _PUBLIC_PAGES:
                scope["state"]["access"] = self._tokens.check(Headers(scope=scope))
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
            response.status = None  # the application has said 500, but nobody heard it
            log_event("client_gone", path=scope["path"])
        except Exception as error:
            log_event("bug", logging.ERROR, failed=True, path=scope["path"], error=f"{type(error).__name__}: {error}")
            await response.refuse(BUG)  # if nobody has said so yet
        finally:
            if counted:
                self._leave()
            endpoint = next((page for page in self._pages if _is_at(scope["path"], page)), _OTHER_PAGES)
            self._metrics.requests.labels(endpoint, str(response.status or 499)).inc()
            self._metrics.request_seconds.labels(endpoint).observe(asyncio.get_running_loop().time() - start)

    def _enter(self) -> None:
        if self.draining:
            raise make_unavailable("the service is shutting down", _RETRY_SECONDS)
        self.in_flight += 1
        self._idle.clear()

    def _leave(self) -> None:
        self.in_flight -= 1
        if not self.in_flight:
            self._idle.set()


def _is_at(path: str, page: str) -> bool:
    """Whether a path is a page or, of a page that ends with a slash, below it."""
    return path == page.removesuffix("/") or (page.endswith("/") and path.startswith(page))


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
