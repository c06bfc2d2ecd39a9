"""The paths of the pages, as HTML and as JSON below /v1/history, and the data that each page needs."""

import logging
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response

from optassign.service.http.access import COOKIE, Access, LoginPauses, Sessions, get_access
from optassign.service.http.refusals import Refusal, make_refusal
from optassign.service.http.request import read_form
from optassign.service.http.request_pages import check_length, name_operator
from optassign.service.logs import log_event
from optassign.service.operators.operator_requests import OperatorRequests
from optassign.service.pages.jobs import PageJob, PageName
from optassign.service.pages.rendering import render
from optassign.service.settings import Settings
from optassign.service.views.progress import ProgressReports
from optassign.service.views.timeline import SimulatedChange
from optassign.service.views.types import ApplicationsView, ApplicationView, RebalanceView
from optassign.service.views.what_if import WhatIfView
from optassign.service.workers.side_process import SideProcess

__all__ = ["add_pages", "make_error_page", "wants_html"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_STATIC = {
    "htmx.min.js": "text/javascript",
    "uPlot.iife.min.js": "text/javascript",
    "timeline.js": "text/javascript",
    "uPlot.min.css": "text/css",
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_HTML, _JSON = "text/html; charset=utf-8", "application/json"
_REBALANCE = "/applications/{application}/rebalances/{day}/{time}"
_SLOW: frozenset[PageName] = frozenset({"compare", "what-if", "timeline"})


def add_pages(
    app: FastAPI,
    settings: Settings,
    sessions: Sessions,
    operator_requests: OperatorRequests,
    progress: ProgressReports,
    quick: SideProcess,
    slow: SideProcess,
    read_seconds: Callable[[], float] = time.time,
) -> None:
    """Add all pages to the application. `quick` makes pages that only read, `slow` pages that solve or simulate."""
    pauses = LoginPauses(read_seconds)
    contents = {name: (files("optassign.service.pages") / "static" / name).read_bytes() for name in _STATIC}

    async def make(page: PageName, request: Request, as_json: bool) -> Response:
        access: Access = request.scope["state"]["access"]
        job = PageJob(
            page=page,
            recordings=settings.recordings,
            now=read_seconds(),
            allowed=access.applications,
            as_json=as_json,
            query=dict(request.query_params),
            query_text=request.url.query,
            assignor=settings.assignor,
            frame={
                **_make_frame(request, settings),
                "may_operate": access.may_operate,
                "operator_requests_lost": operator_requests.lost,
            },
            operator_requests={
                name: operator_requests.describe(name) for name in operator_requests.list_known_names() if access.covers(name)
            },
            heard=progress.list(request.path_params["application"]) if page == "application" else (),
            **request.path_params,
        )
        is_slow = page in _SLOW and not (page == "what-if" and not request.url.query)
        answer = await (slow if is_slow else quick).run(job)
        headers = dict(_HEADERS)
        if page == "snapshot":
            headers["Content-Disposition"] = f'attachment; filename="{request.path_params["time"]}.json"'
        return Response(answer.content, media_type=_JSON if as_json or page == "snapshot" else _HTML, headers=headers)

    def add(path: str, page: PageName, about: str, view: Any) -> None:
        """Add a page as HTML and as JSON. In the API description, `about` is its summary and `view` its content."""

        async def for_people(request: Request) -> Response:
            return await make(page, request, False)

        async def for_machines(request: Request) -> Response:
            return await make(page, request, True)

        app.get(path, include_in_schema=False)(for_people)
        described = "/v1/history" + path.removeprefix("/applications").rstrip("/")
        app.get(described, **_describe(about, view, described, page))(for_machines)

    add("/", "applications", "All applications: how each is, and since when", ApplicationsView)
    add("/applications/{application}", "application", "One application: rebalances, what is waited for, rates", ApplicationView)
    add(_REBALANCE, "rebalance", "One rebalance, and why its answer is as it is", RebalanceView)
    add(f"{_REBALANCE}/compare", "compare", "Other assignors' answers to a recorded rebalance", None)
    add(f"{_REBALANCE}/snapshot", "snapshot", "The snapshot of a rebalance", None)
    add("/applications/{application}/what-if", "what-if", "What a change would come to", WhatIfView)
    add("/applications/{application}/what-if/timeline", "timeline", "The way there, simulated", SimulatedChange)

    _add_controls(app, operator_requests, sessions, _HEADERS)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in _STATIC:
            raise make_refusal(404, "no such page", found=name[:100], allowed=", ".join(_STATIC))
        headers = {**_HEADERS, "Cache-Control": "public, max-age=3600"}
        return Response(contents[name], media_type=f"{_STATIC[name]}; charset=utf-8", headers=headers)

    @app.get("/login", include_in_schema=False)
    async def show_login(request: Request) -> Response:
        return _show_login(request, settings, request.query_params.get("next", "/"), failed=False)

    @app.post("/login", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        sessions.check_origin(request.headers)
        client = request.client
        address = "" if client is None else client.host
        if not settings.behind_proxy:  # otherwise all clients have the address of the proxy
            pauses.check(address)
        form = await read_form(request)
        target, cookie = _find_target(form.get("next", "/")), sessions.log_in(form.get("token", ""))
        pauses.note(address, failed=cookie is None)
        if cookie is None:
            log_event("login_failed", logging.WARNING, peer=client and client.host, path="/login")
            return _show_login(request, settings, target, failed=True)
        response = Response(status_code=303, headers={**_HEADERS, "Location": target})
        _set_cookie(response, settings, cookie, None)
        return response

    @app.post("/logout", include_in_schema=False)
    async def log_out(request: Request) -> Response:
        response = Response(status_code=303, headers={**_HEADERS, "Location": "/login"})
        _set_cookie(response, settings, "", 0)
        return response


def wants_html(request: Request) -> bool:
    """Return whether the request is for a page: it accepts HTML, and its path is not below /v1/."""
    return not request.url.path.startswith("/v1/") and "text/html" in request.headers.get("accept", "")


def make_error_page(request: Request, settings: Settings, refusal: Refusal) -> Response:
    """Return the page of a refusal."""
    content = render("error.html", error=refusal, **_make_frame(request, settings))
    return Response(content, refusal.status, {**_HEADERS, **refusal.headers}, _HTML)


def _make_frame(request: Request, settings: Settings) -> dict[str, Any]:
    return {
        "signed_in": COOKIE in request.cookies,
        "demo": settings.demo,
        "runbook": settings.runbook,
        "grafana": settings.grafana,
    }


def _show_login(request: Request, settings: Settings, target: str, *, failed: bool) -> Response:
    content = render(
        "login.html", failed=failed, next=_find_target(target), **{**_make_frame(request, settings), "signed_in": False}
    )
    return Response(content, 401 if failed else 200, _HEADERS, _HTML)


def _find_target(text: str) -> str:
    """Return the page to open after the login: `text` if it is a path of this service, otherwise `/`."""
    safe = quote(text, safe="/?&=%+.-_~,:")
    return safe if text.startswith("/") and not text.startswith("//") and "\\" not in text else "/"


def _set_cookie(response: Response, settings: Settings, value: str, seconds: int | None) -> None:
    secure = settings.tls_cert is not None or settings.behind_proxy
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")


def _describe(about: str, view: Any, path: str, page: PageName) -> dict[str, Any]:
    """Return a page's part of the API description."""
    parameters: list[dict[str, Any]] = []
    if page == "applications":
        parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("status", "find")]
    if page in ("what-if", "timeline"):
        from optassign.service.views.what_if import CHANGES

        parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in CHANGES]
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    parameters = [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names] + parameters
    success = {"model": view} if view is not None else {"content": {_JSON: {"schema": {"type": "object"}}}}
    return {
        "summary": about,
        "responses": {200: {"description": about, **success}},
        "openapi_extra": {"parameters": parameters},
        "response_model": None,
    }


_ACTIONS = ("pause", "resume", "forget", "keep", "drain", "undrain", "end", "go-on")


def _add_controls(app: FastAPI, operator_requests: OperatorRequests, sessions: Sessions, headers: Mapping[str, str]) -> None:
    """Add the path for the forms of `requests.html`, which redirects back to the page."""

    @app.post("/applications/{folder}/requests", include_in_schema=False)
    async def change(request: Request, folder: str) -> Response:
        sessions.check_origin(request.headers)
        form = await read_form(request)
        application, client, action = form.get("application", ""), form.get("client", "").strip(), form.get("do", "")
        access = get_access(request)
        access.check_application(application)
        access.check_operating()
        check_length("application", application)
        by = name_operator(request, access, form.get("by", "").strip() or None)
        if action not in _ACTIONS:
            raise make_refusal(400, "no such request", "do", action[:100], ", ".join(_ACTIONS))
        if action in ("drain", "undrain"):
            check_length("client", client)
        if action == "drain":
            await operator_requests.add_drain(application, client, by)
        elif action == "undrain":
            await operator_requests.remove_drain(application, client, by)
        elif action == "end":
            await operator_requests.set_end(application, 0, by)
        elif action == "go-on":
            await operator_requests.clear_end(application, by)
        elif action in ("pause", "forget"):
            await operator_requests.make_request(application, "paused" if action == "pause" else "forget_plan", by)
        else:
            await operator_requests.cancel_request(application, "paused" if action == "resume" else "forget_plan", by)
        return Response(status_code=303, headers={**headers, "Location": f"/applications/{quote(folder, safe='')}"})
