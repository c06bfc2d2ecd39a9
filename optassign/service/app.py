"""The pages of the service."""

import asyncio
from collections.abc import Callable

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from optassign import __version__
from optassign.assignor import names_without_jdk
from optassign.service.comparing import Comparing
from optassign.service.http import openapi
from optassign.service.http.body import read_body
from optassign.service.http.headers import content_encoding, deadline_of, read_head
from optassign.service.http.problem import Refusal, RequestRefusedError, refused
from optassign.service.metrics import Metrics
from optassign.service.rebalances import Rebalances
from optassign.service.settings import Settings
from optassign.service.workers.jobs import CompareJob

__all__ = ["PAGES", "make_app"]

PAGES = frozenset({"/v1/assign", "/v1/compare", "/healthz", "/readyz", "/metrics", "/openapi.json"})
_JSON = "application/json"
_LONGEST_UPLOAD = 20.0
"""Seconds for the body of a comparison: so long, too, it can hold up the end of the service."""
_COMPARE_SECONDS = 10.0


def make_app(
    settings: Settings, rebalances: Rebalances, comparing: Comparing, metrics: Metrics, ready: Callable[[], str | None]
) -> FastAPI:
    """The application. `ready`: None, or why the service is not."""
    # FastAPI's pages on the API load their scripts from the internet: only the description itself is here.
    app = FastAPI(title="optassign", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.openapi = lambda: openapi.describe(app)  # type: ignore[method-assign]
    limits = settings.limits

    @app.post("/v1/assign", **openapi.ASSIGN)
    async def assign(request: Request) -> Response:
        arrived = asyncio.get_running_loop().time()
        head = read_head(request.headers, settings.default_deadline)
        encoding = content_encoding(request.headers)
        body = await read_body(request, encoding, limits.body_bytes, arrived + head.deadline)
        answered = await rebalances.answer(head, body, arrived, request.is_disconnected)
        return Response(answered.content, media_type=_JSON, headers={"Optassign-Answered-At": str(answered.at)})

    @app.post("/v1/compare", **openapi.COMPARE)
    async def compare(request: Request) -> Response:
        arrived = asyncio.get_running_loop().time()
        seconds = deadline_of(request.headers, _COMPARE_SECONDS)
        encoding = content_encoding(request.headers)
        chosen = _chosen(request.query_params.get("assignors"))
        body = await read_body(request, encoding, limits.body_bytes, arrived + _LONGEST_UPLOAD)
        answer = await comparing.compare(CompareJob(body, limits, chosen, seconds))
        return Response(answer.content, media_type=_JSON)

    @app.get("/healthz", **openapi.HEALTHZ)
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", **openapi.READYZ)
    async def readyz() -> Response:
        why = ready()
        if why is not None:
            return _as_response(Refusal(503, why, headers={"Retry-After": "1"}))
        return Response(b'{"status":"ready"}', media_type=_JSON)

    @app.get("/metrics", **openapi.METRICS)
    async def scrape() -> Response:
        return Response(metrics.text(), headers={"Content-Type": metrics.content_type})

    @app.exception_handler(RequestRefusedError)
    async def refuse(request: Request, error: RequestRefusedError) -> Response:
        return _as_response(error.refusal)

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> Response:
        return _as_response(Refusal(500, "a bug of the service; its log tells more"))  # the guard logs it

    @app.exception_handler(HTTPException)
    async def no_such_page(request: Request, error: HTTPException) -> Response:
        found = f"{request.method} {request.url.path[:100]}"
        headers = dict(error.headers or {})
        what = "no such page" if error.status_code == 404 else str(error.detail)
        return _as_response(Refusal(error.status_code, what, found=found, allowed=_allowed(headers), headers=headers))

    return app


def _allowed(headers: dict[str, str]) -> str:
    methods = [value for name, value in headers.items() if name.lower() == "allow"]
    return methods[0] if methods else ", ".join(sorted(PAGES))


def _chosen(text: str | None) -> tuple[str, ...]:
    """The assignors of the query; none: all."""
    if text is None:
        return ()
    chosen = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    known = sorted(names_without_jdk())
    for name in chosen:
        if name not in known:
            raise refused(400, "unknown assignor", "assignors", name[:100], ", ".join(known))
    return chosen


def _as_response(refusal: Refusal) -> Response:
    return Response(refusal.body(), refusal.status, refusal.headers, _JSON)
