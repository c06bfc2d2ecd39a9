"""The pages under /v1/applications: the requests of operators (docs/reference/http.md)."""

import asyncio
import json
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Query, Request, Response
from pydantic import BaseModel, Field

from optassign.formats.configs import Limit
from optassign.service.http.access import Access, get_access
from optassign.service.http.openapi import LONGEST_BY, Operator, describe_body
from optassign.service.http.refusals import make_refusal
from optassign.service.http.request import BodyBudget, RequiresProtocol, read_body, read_small
from optassign.service.operators.operator_requests import OperatorRequests, RequestKind
from optassign.service.operators.requested_options import DrainState

__all__ = ["AllRequests", "ApplicationRequests", "add_request_pages", "check_length", "name_operator"]

_HELD_BYTES = 4_096  # bytes of the body of a pause, drain or limit: it has a few fields
_LONGEST_CLIENT = 255  # characters of a client's name: the limit of a file name
_HELD_S = 5.0  # seconds for such a body to arrive
_DRAIN_WAITS_S = 3600.0  # seconds that a request may wait for a drain: the time for which a connection stays open is bounded
_DRAIN_LOOK_S = 0.5  # seconds between two checks of a drain for which a request waits: a script goes on within that time
_LONGEST_END_S = 2_592_000.0
"""Seconds until the expected end of an application, at most: thirty days, since migrations are planned days or weeks ahead."""


class _Signed(BaseModel):
    """The author of a request, and its time, ISO 8601 in UTC."""

    by: str
    at: str


class _Drain(_Signed):
    """An instance that drains."""

    client: str
    state: DrainState = Field(description="as of the last answer")


class _End(_Signed):
    """The expected end of an application."""

    expected_at: str


class _Action(_Signed):
    """A request that an operator made."""

    what: str
    client: str | None


class _QuietHours(BaseModel):
    """Hours without migrations."""

    hours: list[str]
    time_zone: str
    now: bool
    ends_at: str | None


class ApplicationRequests(BaseModel):
    """The requests in force for an application."""

    application: str
    ended: _End | None
    paused: _Signed | None
    quiet: _QuietHours | None
    forget_plan: _Signed | None
    drains: list[_Drain]
    limits: list[Limit]
    history: list[_Action] = Field(description="the last requests, the newest first")
    kept: bool = Field(description="across a restart of the service: there is a folder of recordings")
    last_rebalance: str | None = Field(description="null: none is known")
    next_rebalance: str | None = Field(description="when the follow-up is due; null: none is asked for")
    waits_for: str = Field(description="the reason for the follow-up; empty: there is none")
    takes_effect: str = Field(description="when a request takes effect that is made now, in words")


class AllRequests(BaseModel):
    """The requests in force for every application that the token is for."""

    applications: list[ApplicationRequests]


_ROOT = "/v1/applications"
_Wait = Annotated[float | None, Query(ge=0, le=_DRAIN_WAITS_S, description="seconds to wait until the client may stop")]
_After = Annotated[float, Query(ge=0, le=_LONGEST_END_S, description="seconds until the application is expected to end")]
_NOT_YET: dict[int | str, dict[str, Any]] = {
    202: {"model": ApplicationRequests, "description": "The client may not stop yet: the time of `wait` is over"}
}


def add_request_pages(app: FastAPI, operator_requests: OperatorRequests, bodies: BodyBudget) -> None:
    """Add the pages to the application."""
    # `exclude_unset`: limits show only the fields in the file of applications.
    shown: dict[str, Any] = {"response_model": ApplicationRequests, "response_model_exclude_unset": True}
    changed = {**shown, "openapi_extra": describe_body(Operator, required=False)}

    @app.get(_ROOT, response_model=AllRequests, response_model_exclude_unset=True)
    async def list_applications(request: Request) -> Any:
        """List the requests in force for every application that the token is for."""
        access = get_access(request)
        return {
            "applications": [operator_requests.describe(name) for name in operator_requests.list_names() if access.covers(name)]
        }

    @app.get(_ROOT + "/{application}", **shown)
    async def show_application(request: Request, application: str) -> Any:
        """Show the requests in force for an application."""
        get_access(request).check_application(application)
        return operator_requests.describe(application)

    @app.post(_ROOT + "/{application}/drains/{client:path}", **changed, responses=_NOT_YET)
    async def drain(
        request: Request, response: Response, application: str, client: str, protocol: RequiresProtocol, wait: _Wait = None
    ) -> Any:
        """Drain a client, from the next rebalance on."""
        by = await _read_operator(request, application, bodies, client)
        check_length("client", client)
        await operator_requests.add_drain(application, client, by)
        if wait is not None and not await _await_drain(request, operator_requests, (application, client), wait):
            response.status_code = 202
        return operator_requests.describe(application)

    @app.delete(_ROOT + "/{application}/drains/{client:path}", **changed)
    async def undrain(request: Request, application: str, client: str, protocol: RequiresProtocol) -> Any:
        """Cancel a drain."""
        by = await _read_operator(request, application, bodies, client)
        if not await operator_requests.remove_drain(application, client, by):
            known = ", ".join(row["client"] for row in operator_requests.describe(application)["drains"]) or "none"
            raise make_refusal(404, "no such drain", "client", client[:100], f"a draining client: {known}")
        return operator_requests.describe(application)

    @app.post(_ROOT + "/{application}/end", **changed)
    async def end(request: Request, application: str, protocol: RequiresProtocol, after: _After = 0) -> Any:
        """Expect an application to end, `after` seconds from now: its silence then causes no alert."""
        await operator_requests.set_end(application, after, await _read_operator(request, application, bodies))
        return operator_requests.describe(application)

    @app.delete(_ROOT + "/{application}/end", **changed)
    async def cancel_end(request: Request, application: str, protocol: RequiresProtocol) -> Any:
        """Cancel the expected end."""
        await operator_requests.clear_end(application, await _read_operator(request, application, bodies))
        return operator_requests.describe(application)

    def add_switch(page: str, what: RequestKind, on: str, off: str) -> None:
        async def switch_on(request: Request, application: str, protocol: RequiresProtocol) -> Any:
            await operator_requests.make_request(application, what, await _read_operator(request, application, bodies))
            return operator_requests.describe(application)

        async def switch_off(request: Request, application: str, protocol: RequiresProtocol) -> Any:
            await operator_requests.cancel_request(application, what, await _read_operator(request, application, bodies))
            return operator_requests.describe(application)

        path = f"{_ROOT}/{{application}}/{page}"
        app.post(path, summary=on, **changed)(switch_on)
        app.delete(path, summary=off, **changed)(switch_off)

    add_switch("pause", "paused", "Pause: only the tasks move that R1 to R5 force to", "Resume")
    add_switch("forget-plan", "forget_plan", "Replan: make a new target assignment next", "Keep the target assignment")


async def _await_drain(request: Request, operator_requests: OperatorRequests, drain: tuple[str, str], seconds: float) -> bool:
    """Return whether the client may stop, after a wait of at most `seconds`; a stopping service does not wait.

    drain: application and client. The check is repeated, since it must also notice a closed connection.
    """
    until = asyncio.get_running_loop().time() + seconds
    while (may_stop := operator_requests.may_stop(*drain)) is None:
        left = until - asyncio.get_running_loop().time()
        if left <= 0 or operator_requests.stopping or await request.is_disconnected():
            return False
        await asyncio.sleep(min(left, _DRAIN_LOOK_S))
    return may_stop


async def _read_operator(request: Request, application: str, bodies: BodyBudget, drained: str | None = None) -> str:
    """Return the operator's name if the token allows the request and the request is valid. RequestRefusedError otherwise.

    drained: the client to drain, for which a token that may drain is enough.
    """
    access = get_access(request)
    access.check_application(application)
    if drained is None:
        access.check_operating()
    else:
        access.check_draining(drained)
    check_length("application", application)
    with bodies.hold() as held:
        body = await read_body(request, False, _HELD_BYTES, asyncio.get_running_loop().time() + _HELD_S, held)
    return name_operator(request, access, _read_by(body))


def name_operator(request: Request, access: Access, by: str | None) -> str:
    """Return the name for logs: `by`, if any, and the token's name or address. RequestRefusedError for an invalid `by`."""
    if by is not None and (not by.isprintable() or len(by) > LONGEST_BY):
        raise make_refusal(400, "the request cannot be read", "by", json.dumps(by)[:100], f"1 to {LONGEST_BY} characters")
    if access.name is not None:
        return access.name if by is None else f"{by} (token {access.name})"
    peer = request.client.host if request.client is not None else "unknown"
    return peer if by is None else f"{by} ({peer})"


def _read_by(body: bytes) -> str | None:
    """Return `by` of the body, or None without it."""
    if not body.strip():
        return None
    return read_small(body, Operator).by


def check_length(where: str, name: str) -> None:
    """Raise RequestRefusedError with status 400 for an invalid name. where: the kind of name, for the error."""
    if not name or len(name) > _LONGEST_CLIENT or not name.isprintable():
        raise make_refusal(400, "no such name", where, quote(name[:100]), f"1 to {_LONGEST_CLIENT} printable characters")
