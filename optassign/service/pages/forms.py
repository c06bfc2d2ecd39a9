"""Reading what a browser's form sends."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from fastapi import Request

from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal
from optassign_models.policy.service import FORM_BYTES

__all__ = ["read_form"]


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form. RequestRefusedError with status 413 or 415 for another content type or a large one."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise make_refusal(415, "not a form", "Content-Type", kind[:100], "application/x-www-form-urlencoded")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES:
            raise RequestRefusedError(Refusal(413, "the form is too long", allowed=f"{FORM_BYTES} bytes"))
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace"), max_num_fields=20).items()}
