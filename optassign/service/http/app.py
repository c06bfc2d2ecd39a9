"""The pages of the service, as an application of FastAPI."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from optassign import __version__
from optassign.assignor import names_without_jdk
from optassign.service.answering.comparisons import Comparisons
from optassign.service.answering.rebalances import Rebalances
from optassign.service.answering.reports import Reports
from optassign.service.holding.holds import Holds
from optassign.service.http import openapi
from optassign.service.http.held_bodies import HeldBodies
from optassign.service.http.holding_pages import add_holding_pages
from optassign.service.http.refusals import BUG, Refusal, RequestRefusedError, make_refusal
from optassign.service.http.request_body import find_application, read_body
from optassign.service.http.request_headers import (
    read_content_encoding,
    read_deadline,
    read_report_head,
    read_request_head,
)
from optassign.service.http.tokens import Access
from optassign.service.metrics import Metrics
from optassign.service.pages.routes import make_error_page, wants_html
from optassign.service.settings import Settings
from optassign.service.workers.messages import CompareJob

__all__ = ["PAGES", "make_app"]

PAGES = frozenset({"/v1/assign", "/v1/applied", "/v1/compare", "/healthz", "/readyz", "/metrics", "/openapi.json"})
"""For machines, besides those of `optassign.service.pages`."""
_JSON = "application/json"
_LONGEST_UPLOAD = 20.0
"""Seconds for the body of a comparison or report; the end of the service may have to wait so long for it."""
_COMPARE_SECONDS = 10.0
"""Seconds of solving for each assignor, if the request states no deadline."""


def make_app(
    settings: Settings,
    rebalances: Rebalances,
    reports: Reports,
    comparisons: Comparisons,
    metrics: Metrics,
    bodies: HeldBodies,
    holds: Holds,
    find_why_not_ready: Callable[[], str | None],
) -> FastAPI:
    """The application. `find_why_not_ready`: None where the service is ready."""
    # FastAPI's pages on the API load their scripts from the internet: only the description itself is here.
    app = FastAPI(title="optassign", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.openapi = lambda: openapi.describe_pages(app)  # type: ignore[method-assign]
    limits = settings.limits

    @asynccontextmanager
    async def receive(request: Request, until: float) -> AsyncIterator[bytes]:
        """The body of a request whose token is for the application that it is about; held as long as the context lasts."""
        encoding = read_content_encoding(request.headers)
        with bodies.hold() as held:
            body = await read_body(request, encoding, limits.body_bytes, until, held)
            _get_access(request).check_application(find_application(body))
            yield body

    @app.post("/v1/assign", **openapi.ASSIGN)
    async def assign(request: Request) -> Response:
        arrived = asyncio.get_running_loop().time()
        head = read_request_head(request.headers, settings.default_deadline)
        async with receive(request, arrived + head.deadline) as body:
            answer = await rebalances.answer(head, body, arrived, request.is_disconnected)
        return Response(answer.content, media_type=_JSON, headers={"Optassign-Answered-At": str(answer.at)})

    @app.post("/v1/applied", **openapi.APPLIED)
    async def applied(request: Request) -> Response:
        arrived = asyncio.get_running_loop().time()
        head = read_report_head(request.headers, settings.default_deadline)
        async with receive(request, arrived + _LONGEST_UPLOAD) as body:
            return Response(await reports.take(head, body), media_type=_JSON)

    @app.post("/v1/compare", **openapi.COMPARE)
    async def compare(request: Request) -> Response:
        arrived = asyncio.get_running_loop().time()
        seconds = read_deadline(request.headers, _COMPARE_SECONDS)
        chosen = _read_assignors(request.query_params.get("assignors"))
        async with receive(request, arrived + _LONGEST_UPLOAD) as body:
            answer = await comparisons.compare(CompareJob(body, limits, chosen, seconds))
        return Response(answer.content, media_type=_JSON)

    add_holding_pages(app, holds, bodies)

    @app.get("/healthz", **openapi.HEALTHZ)
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", **openapi.READYZ)
    async def readyz() -> Response:
        why = find_why_not_ready()
        if why is not None:
            return _make_response(Refusal(503, why, headers={"Retry-After": "1"}))
        return Response(b'{"status":"ready"}', media_type=_JSON)

    @app.get("/metrics", **openapi.METRICS)
    async def scrape(request: Request) -> Response:
        _get_access(request).check_everything()
        return Response(metrics.render(), headers={"Content-Type": metrics.content_type})

    def respond(request: Request, refusal: Refusal) -> Response:
        return make_error_page(request, settings, refusal) if wants_html(request) else _make_response(refusal)

    @app.exception_handler(RequestRefusedError)
    async def answer_refusal(request: Request, error: RequestRefusedError) -> Response:
        return respond(request, error.refusal)

    @app.exception_handler(Exception)
    async def answer_bug(request: Request, error: Exception) -> Response:
        return respond(request, BUG)  # the gateway logs it

    @app.exception_handler(HTTPException)
    async def answer_http_error(request: Request, error: HTTPException) -> Response:
        found = f"{request.method} {request.url.path[:100]}"
        headers = dict(error.headers or {})
        what = "no such page" if error.status_code == 404 else str(error.detail)
        return respond(request, Refusal(error.status_code, what, found=found, allowed=_list_allowed(headers), headers=headers))

    return app


def _get_access(request: Request) -> Access:
    """Return the rights of the request's token, as the gateway found them."""
    access = request.scope["state"]["access"]
    assert isinstance(access, Access)
    return access


def _list_allowed(headers: dict[str, str]) -> str:
    """The allowed alternatives to a request that no page takes: its methods or, if there is no such page, all pages."""
    methods = [value for name, value in headers.items() if name.lower() == "allow"]
    return methods[0] if methods else ", ".join(sorted(PAGES))


def _read_assignors(text: str | None) -> tuple[str, ...]:
    """The assignors of the query, each once; empty without any. RequestRefusedError with status 400 for an unknown one."""
    if text is None:
        return ()
    chosen = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    allowed = sorted(names_without_jdk())
    for name in chosen:
        if name not in allowed:
            raise make_refusal(400, "unknown assignor", "assignors", name[:100], ", ".join(allowed))
    return chosen


def _make_response(refusal: Refusal) -> Response:
    return Response(refusal.body(), refusal.status, refusal.headers, _JSON)
