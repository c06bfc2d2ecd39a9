"""The pages of the service for machines, as a FastAPI application."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from optassign import __version__
from optassign.assignor import list_names_without_jdk
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.service.http.access import get_access
from optassign.service.http.gateway import to_response
from optassign.service.http.openapi import REFUSALS, AppliedReport, NextProgress, describe_body, describe_pages
from optassign.service.http.refusals import BUG, Refusal, RequestRefusedError, make_invalid, make_refusal, make_unavailable
from optassign.service.http.request import (
    BodyBudget,
    BodyHead,
    ProgressHead,
    ReportHead,
    RequestHead,
    find_application,
    read_body,
    read_small,
)
from optassign.service.http.request_pages import add_request_pages
from optassign.service.metrics import Metrics
from optassign.service.operators.operator_requests import OperatorRequests
from optassign.service.pages.routes import make_error_page, wants_html
from optassign.service.rebalances import Rebalances
from optassign.service.reports import Reports
from optassign.service.settings import Settings
from optassign.service.views.progress import ProgressReport, ProgressReports
from optassign.service.workers.messages import CompareJob
from optassign.service.workers.side_process import SideProcess

__all__ = ["PAGES", "make_app"]

_UPLOAD_S = 20.0  # seconds for the body of a comparison or report: a shutdown may wait that long for it
_COMPARE_S = 10.0
"""Seconds of solving for each assignor if the request states no deadline; enough to prove optimality for 3,000 tasks."""
_PROGRESS_S = 5.0  # seconds for a report on progress to arrive: it has a few hundred lines at most
_PROGRESS_BYTES = 65_536  # bytes of a report on progress: it has a few hundred lines at most

_QUESTIONS = frozenset({"/v1/assign", "/v1/applied", "/v1/compare", "/v1/progress"})
PAGES = _QUESTIONS | {"/healthz", "/readyz", "/metrics", "/openapi.json"}
"""Paths for machines, in addition to those of `optassign.service.pages`."""
_JSON = "application/json"


def make_app(
    settings: Settings,
    rebalances: Rebalances,
    reports: Reports,
    progress: ProgressReports,
    comparisons: SideProcess,
    metrics: Metrics,
    bodies: BodyBudget,
    operator_requests: OperatorRequests,
    find_why_not_ready: Callable[[], str | None],
) -> FastAPI:
    """Return the application. find_why_not_ready: returns the reason why the service is not ready, or None if it is."""
    app = FastAPI(
        title="optassign",
        description="Kafka Streams task assignment as an optimisation problem: the service behind the plug-in.",
        version=__version__,
        # FastAPI's own API pages load scripts from the internet, so only the description is served.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        responses=REFUSALS,
    )
    app.openapi = lambda: describe_pages(app)  # type: ignore[method-assign]
    limits = settings.limits

    def check_name(request: Request, application: str | None) -> None:
        """Raise RequestRefusedError if the name is invalid, not covered by the token, or not allowed by the file of
        applications."""
        if application is not None and not application.strip():
            raise make_refusal(400, "no such name", "application", repr(application[:100]), "a name, or none at all")
        get_access(request).check_application(application)
        request.state.application = application
        if not operator_requests.allows(application):
            raise make_refusal(403, "the application is not listed", "application", application, "one of --applications")

    @asynccontextmanager
    async def receive(request: Request, head: BodyHead, until: float) -> AsyncIterator[bytes]:
        """Yield the body of a request, after `check_name` for its application. Within the context the body counts towards the
        limit."""
        with bodies.hold() as held:
            body = await read_body(request, head.is_gzip, limits.body_bytes, until, held)
            check_name(request, find_application(body))
            yield body

    @app.post("/v1/assign", response_model=TaskAssignment, openapi_extra=describe_body(ApplicationState))
    async def assign(request: Request, head: Annotated[RequestHead, Header()]) -> Response:
        """Answer one rebalance."""
        arrived = asyncio.get_running_loop().time()
        deadline = head.find_deadline(settings.default_deadline)
        async with receive(request, head, arrived + deadline) as body:
            answer = await rebalances.answer(head, body, arrived, request.is_disconnected)
        return Response(answer.content, media_type=_JSON, headers={"Optassign-Answered-At": str(answer.at)})

    @app.post("/v1/applied", openapi_extra=describe_body(AppliedReport))
    async def applied(request: Request, head: Annotated[ReportHead, Header()]) -> Response:
        """Take an assignment that was applied in place of the service's answer; one report at a time."""
        arrived = asyncio.get_running_loop().time()
        async with receive(request, head, arrived + _UPLOAD_S) as body:
            return Response(await reports.take(head, body), media_type=_JSON)

    @app.post("/v1/compare", openapi_extra=describe_body(ApplicationState))
    async def compare(request: Request, head: Annotated[BodyHead, Header()], assignors: str | None = None) -> Response:
        """Answer a rebalance under several assignors, separated by commas; one comparison at a time."""
        arrived = asyncio.get_running_loop().time()
        chosen = _read_assignors(assignors)
        async with receive(request, head, arrived + _UPLOAD_S) as body:
            job = CompareJob(body, limits, chosen, head.find_deadline(_COMPARE_S))
            answer = await comparisons.run(job)
        return Response(answer.content, media_type=_JSON)

    @app.post("/v1/progress", response_model=NextProgress, openapi_extra=describe_body(ProgressReport))
    async def receive_progress(request: Request, head: Annotated[ProgressHead, Header()]) -> Response:
        """Take a report on the restore progress of an instance's copies, between two rebalances."""
        until = asyncio.get_running_loop().time() + _PROGRESS_S
        with bodies.hold() as held:
            body = await read_body(request, head.is_gzip, _PROGRESS_BYTES, until, held)
        report = read_small(body, ProgressReport)
        check_name(request, report.application)
        return JSONResponse({"next_ms": round(1000 * progress.take(report))})

    add_request_pages(app, operator_requests, bodies)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Answer that the process is alive."""
        return {"status": "alive"}

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        """Answer status 200 if the service is ready for rebalances, otherwise 503 with the reason."""
        why = find_why_not_ready()
        if why is not None:
            raise make_unavailable(why, 1, "other")
        return {"status": "ready"}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def scrape(request: Request) -> Response:
        """Answer with the metrics for Prometheus."""
        get_access(request).check_everything()
        return Response(metrics.render(), headers={"Content-Type": metrics.content_type})

    def respond(request: Request, refusal: Refusal) -> Response:
        return make_error_page(request, settings, refusal) if wants_html(request) else to_response(refusal)

    @app.exception_handler(RequestRefusedError)
    async def answer_refusal(request: Request, error: RequestRefusedError) -> Response:
        request.state.refusal = error.refusal  # the gateway logs and counts it
        return respond(request, error.refusal)

    @app.exception_handler(RequestValidationError)
    async def answer_invalid(request: Request, error: RequestValidationError) -> Response:
        return respond(request, make_invalid(error.errors(), ReportHead))

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


def _list_allowed(headers: dict[str, str]) -> str:
    """Return the methods of a page or, for an unknown path, all paths."""
    methods = [value for name, value in headers.items() if name.lower() == "allow"]
    return methods[0] if methods else ", ".join(sorted(PAGES))


def _read_assignors(text: str | None) -> tuple[str, ...]:
    """Return the assignors of the query, each once. RequestRefusedError with status 400 for an unknown assignor."""
    if text is None:
        return ()
    chosen = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    allowed = sorted(list_names_without_jdk())
    for name in chosen:
        if name not in allowed:
            raise make_refusal(400, "unknown assignor", "assignors", name[:100], ", ".join(allowed))
    return chosen
