"""The pages under /v1/applications: what operators ask for (docs/reference/http.md)."""

import asyncio
import json
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response

from optassign.formats.parsing.input_errors import InputError
from optassign.formats.parsing.reading import read_value
from optassign.service.holding.holds import Holds, Once
from optassign.service.http import holding_openapi as openapi
from optassign.service.http.held_bodies import HeldBodies
from optassign.service.http.refusals import make_refusal
from optassign.service.http.request_body import read_body
from optassign.service.http.request_headers import check_protocol
from optassign.service.http.tokens import Access

__all__ = ["ROOT", "add_holding_pages", "check_length", "name_operator"]

ROOT = "/v1/applications"
_MOST_BYTES, _LONGEST_NAME, _LONGEST_BY = 4096, 255, 100
_SECONDS = 5.0
"""For the body to arrive."""
_LONGEST_WAIT, _LOOK_SECONDS = 3600.0, 0.5
"""Seconds that a request may wait for a drain, and between two looks whether it still has to."""
_SWITCHES: dict[str, Once] = {"pause": "paused", "forget-plan": "forget_plan"}


def add_holding_pages(app: FastAPI, holds: Holds, bodies: HeldBodies) -> None:
    """Add the pages to the application."""

    @app.get(ROOT, **openapi.LIST)
    async def list_applications(request: Request) -> Response:
        access = _get_access(request)
        return _respond({"applications": [holds.describe(name) for name in holds.list_names() if access.covers(name)]})

    @app.get(ROOT + "/{application}", **openapi.SHOW)
    async def show_application(request: Request, application: str) -> Response:
        _get_access(request).check_application(application)
        return _respond(holds.describe(application))

    @app.post(ROOT + "/{application}/drains/{client:path}", **openapi.DRAIN)
    async def drain(request: Request, application: str, client: str) -> Response:
        by = await _read_operator(request, application, bodies)
        check_length("client", client)
        seconds = _read_wait(request.query_params.get("wait"))
        await holds.add_drain(application, client, by)
        may_stop = seconds is None or await _await_drain(request, holds, (application, client), seconds)
        return _respond(holds.describe(application), 200 if may_stop else 202)

    @app.delete(ROOT + "/{application}/drains/{client:path}", **openapi.UNDRAIN)
    async def undrain(request: Request, application: str, client: str) -> Response:
        by = await _read_operator(request, application, bodies)
        if not await holds.remove_drain(application, client, by):
            known = ", ".join(row["client"] for row in holds.describe(application)["drains"]) or "none"
            raise make_refusal(404, "no such drain", "client", client[:100], f"a draining client: {known}")
        return _respond(holds.describe(application))

    def add_switch(page: str, what: Once) -> None:
        async def switch_on(request: Request, application: str) -> Response:
            await holds.set_once(application, what, await _read_operator(request, application, bodies))
            return _respond(holds.describe(application))

        async def switch_off(request: Request, application: str) -> Response:
            await holds.clear_once(application, what, await _read_operator(request, application, bodies))
            return _respond(holds.describe(application))

        path = f"{ROOT}/{{application}}/{page}"
        app.post(path, **openapi.SWITCH_ON[page])(switch_on)
        app.delete(path, **openapi.SWITCH_OFF[page])(switch_off)

    for page, what in _SWITCHES.items():
        add_switch(page, what)


def _read_wait(text: str | None) -> float | None:
    """Return the seconds of `?wait=`, None without it; RequestRefusedError for what is no such number."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise make_refusal(400, "the request cannot be read", "wait", text[:100], f"0 to {_LONGEST_WAIT:g} seconds")
    return seconds


async def _await_drain(request: Request, holds: Holds, drain: tuple[str, str], seconds: float) -> bool:
    """Wait until the client may stop, at most `seconds`, and say whether it may; a service that stops waits no longer.

    drain: application and client. It looks again and again, as it has to see that the other side has hung up, too.
    """
    until = asyncio.get_running_loop().time() + seconds
    while (may_stop := holds.may_stop(*drain)) is None:
        left = until - asyncio.get_running_loop().time()
        if left <= 0 or holds.stopping or await request.is_disconnected():
            return False
        await asyncio.sleep(min(left, _LOOK_SECONDS))
    return may_stop


async def _read_operator(request: Request, application: str, bodies: HeldBodies) -> str:
    """Name the operator, if the token may operate and the request is valid; RequestRefusedError if not.

    The header that every request of optassign has is required: another site's page in a browser cannot send it.
    """
    check_protocol(request.headers)
    access = _get_access(request)
    access.check_application(application)
    access.check_operating()
    check_length("application", application)
    with bodies.hold() as held:
        body = await read_body(request, "identity", _MOST_BYTES, asyncio.get_running_loop().time() + _SECONDS, held)
    return name_operator(request, access, _read_by(body))


def name_operator(request: Request, access: Access, said: str | None) -> str:
    """Name the operator, for log and lists: the stated name, and the name of the token or the address."""
    if said is not None and (not said.isprintable() or len(said) > _LONGEST_BY):
        raise make_refusal(400, "the request cannot be read", "by", json.dumps(said)[:100], f"1 to {_LONGEST_BY} characters")
    if access.name is not None:
        return access.name if said is None else f"{said} (token {access.name})"
    peer = request.client.host if request.client is not None else "unknown"
    return peer if said is None else f"{said} ({peer})"


def _read_by(body: bytes) -> str | None:
    """`by` of the body, if there is one."""
    if not body.strip():
        return None
    try:
        data = read_value(body, "request")
    except InputError as error:
        raise make_refusal(400, "the request cannot be read", "request", error.found, error.allowed) from None
    by = data.get("by") if isinstance(data, dict) else data
    if isinstance(data, dict) and by is None:
        return None
    if not isinstance(by, str) or not by.isprintable() or not 0 < len(by) <= _LONGEST_BY:
        raise make_refusal(400, "the request cannot be read", "by", json.dumps(by)[:100], f"1 to {_LONGEST_BY} characters")
    return by


def check_length(where: str, name: str) -> None:
    """RequestRefusedError for what can be no name."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise make_refusal(400, "no such name", where, quote(name[:100]), f"1 to {_LONGEST_NAME} printable characters")


def _get_access(request: Request) -> Access:
    access = request.scope["state"]["access"]
    assert isinstance(access, Access)
    return access


def _respond(data: dict[str, Any], status: int = 200) -> Response:
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(content, status, media_type="application/json")
