"""An operator's controls on the page of an application: pause, resume, drain, replan. A visitor without the right sees no form
for it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response

from optassign.service.holding.holds import Holds
from optassign.service.http.holding_pages import check_length, name_operator
from optassign.service.http.refusals import make_refusal
from optassign.service.http.tokens import Access, get_access
from optassign.service.pages.forms import read_form
from optassign.service.pages.sessions import Sessions

__all__ = ["add_controls", "describe_holds"]

_DEEDS = ("pause", "resume", "forget", "keep", "drain", "undrain")


def add_controls(app: FastAPI, holds: Holds, sessions: Sessions, headers: Mapping[str, str]) -> None:
    """Add where the forms of `holds.html` go to; from there it is back to the page."""

    @app.post("/applications/{folder}/holds", include_in_schema=False)
    async def change(request: Request, folder: str) -> Response:
        sessions.check_origin(request.headers)
        form = await read_form(request)
        application, client, deed = form.get("application", ""), form.get("client", "").strip(), form.get("do", "")
        access = get_access(request)
        access.check_application(application)
        access.check_operating()
        check_length("application", application)
        by = name_operator(request, access, form.get("by", "").strip() or None)
        if deed not in _DEEDS:
            raise make_refusal(400, "no such request", "do", deed[:100], ", ".join(_DEEDS))
        if deed in ("drain", "undrain"):
            check_length("client", client)
        if deed == "drain":
            await holds.add_drain(application, client, by)
        elif deed == "undrain":
            await holds.remove_drain(application, client, by)
        elif deed in ("pause", "forget"):
            await holds.set_once(application, "paused" if deed == "pause" else "forget_plan", by)
        else:
            await holds.clear_once(application, "paused" if deed == "resume" else "forget_plan", by)
        return Response(status_code=303, headers={**headers, "Location": f"/applications/{quote(folder, safe='')}"})


def describe_holds(holds: Holds, access: Access) -> dict[str, dict[str, Any]]:
    """Describe the requests in force for each known application that the token is for."""
    return {name: holds.describe(name) for name in holds.list_names() if access.covers(name)}
