"""Requests: headers, as types that FastAPI checks and describes, and the body, within limits (docs/reference/http.md)."""

import asyncio
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Literal, TypeVar
from urllib.parse import parse_qs

from fastapi import Header
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from starlette.requests import Request

from optassign.formats.base import INT64_MAX
from optassign.formats.input_errors import InputError, from_validation
from optassign.formats.json_input import read_members, read_value
from optassign.recordings.recording import BROKER_AGENT
from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal, make_unavailable
from optassign_models.policy.constants import LONGEST_TIMEOUT_MS

__all__ = [
    "PROTOCOL",
    "BodyAccount",
    "BodyBudget",
    "BodyHead",
    "ProgressHead",
    "ReportHead",
    "RequestHead",
    "RequiresProtocol",
    "find_application",
    "read_body",
    "read_form",
    "read_small",
]

_SMALL_BODY = 1_048_576  # bytes each request may hold; larger bodies count towards the limit, as connections are limited
_INFLATED_AT_ONCE = 1_048_576  # bytes that one call inflates: the limit of a body is checked after each call
_SILENT_S = 10.0  # seconds between two pieces of a body: slow senders must not hold all connections
_HEAD_BYTES = 262_144  # bytes of a body that are searched for the application's name: the protocol requires it there
_LONGEST_AGE_MS = 31_622_400_000
"""The greatest age of an answer in a header: a year, as no application runs that long without a rebalance."""
_LONGEST_VERSION = 60  # characters of the plug-in's version that are kept: a log line has it
_FORM_BYTES = 4_096  # bytes of a form: it has a few fields
_FORM_FIELDS = 20


PROTOCOL: Literal["1"] = "1"

_Milliseconds = Annotated[int, Field(ge=0, le=INT64_MAX)]
_Rebalance = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9._-]{1,64}$")]
_ID = "the id of the rebalance: 1 to 64 letters, digits and ._-"
_UTF_8 = ("", "charset=utf-8", 'charset="utf-8"')
"""Parameters of a content type that do not change the meaning of JSON."""
RequiresProtocol = Annotated[
    Literal["1"], Header(alias="Optassign-Protocol", description="another site's page in a browser cannot send it")
]
"""The header of pages that change something; a browser does not send it for another site's page."""


def _simplify(text: str) -> str:
    """Return a header's value in lower case without its parameters, or unchanged if a parameter is not in `_UTF_8`."""
    kind, *parameters = [part.strip().lower() for part in text.split(";")]
    return kind if all(each in _UTF_8 for each in parameters) else text


class BodyHead(BaseModel):
    """The headers of a request with a snapshot."""

    model_config = ConfigDict(frozen=True)

    content_type: Annotated[Literal["application/json"], BeforeValidator(_simplify)] = Field(alias="Content-Type")
    content_encoding: Annotated[Literal["identity", "gzip"], BeforeValidator(_simplify)] = Field(
        default="identity", alias="Content-Encoding"
    )
    deadline_ms: int | None = Field(
        default=None,
        alias="Optassign-Deadline-Ms",
        ge=1,
        le=LONGEST_TIMEOUT_MS,
        description="milliseconds until the answer is of no use any more",
    )

    @property
    def is_gzip(self) -> bool:
        """Return whether the body is compressed."""
        return self.content_encoding == "gzip"

    def find_deadline(self, default: float) -> float:
        """Return the seconds from the arrival of the request until its deadline."""
        return default if self.deadline_ms is None else self.deadline_ms / 1000


class ProgressHead(BodyHead):
    """The headers of an instance's progress report."""

    protocol: Literal["1"] = Field(alias="Optassign-Protocol", description="the protocol's version")


class RequestHead(BodyHead):
    """The headers of a plug-in's request with a snapshot."""

    protocol: Literal["1"] = Field(alias="Optassign-Protocol", description="the protocol's version")
    mode: Literal["active", "shadow"] = Field(default="active", alias="Optassign-Mode", description="shadow: not remembered")
    remembered_at: _Milliseconds | None = Field(
        default=None, alias="Optassign-Remembered-At", description="when `remembered` was decided, ms since 1970"
    )
    version: str | None = Field(default=None, alias="Optassign-Plugin", description="version of the plug-in")
    agent: str = Field(default="", alias="User-Agent")
    rebalance: _Rebalance | None = Field(default=None, alias="Optassign-Rebalance", description=_ID)

    @property
    def is_brokers(self) -> bool:
        """Return whether the request comes from the assignor in a broker."""
        return self.agent.startswith(BROKER_AGENT)

    @property
    def plugin(self) -> str | None:
        """Return the plug-in's version, for the brokers' assignor preceded by its name; None if not stated."""
        version = self.agent if self.is_brokers else self.version
        return None if version is None else version[:_LONGEST_VERSION]

    @property
    def runs_followups(self) -> bool:
        """Return whether the answer is applied to a group that rebalances when its follow-up is due."""
        return self.mode == "active" and not self.is_brokers


class ReportHead(RequestHead):
    """The headers of a plug-in's report; the deadline is that of the service's answer."""

    rebalance: _Rebalance = Field(alias="Optassign-Rebalance", description=_ID)
    applied_at: _Milliseconds = Field(alias="Optassign-Applied-At", description="when it was decided, ms since 1970")
    age_ms: int = Field(default=0, alias="Optassign-Age-Ms", ge=0, le=_LONGEST_AGE_MS, description="ms since the decision")


class BodyAccount:
    """The bytes that one request's body occupies. `arriving`: the time-out of its reading, rescheduled to end the reading."""

    def __init__(self, owner: "BodyBudget") -> None:
        self._owner = owner
        self.size = 0
        self.arriving: asyncio.Timeout | None = None
        self.refused = False
        """Whether the service stopped reading the body to make room."""

    @property
    def counted(self) -> int:
        """Return the bytes that count towards the limit: 0 for a small body."""
        return self.size if self.size > _SMALL_BODY else 0

    def grow(self, count: int) -> None:
        """Count `count` more bytes. RequestRefusedError with status 503 if there is no room."""
        self.size += count
        self._owner.make_room(self)

    def make_refusal(self) -> RequestRefusedError:
        """Return the refusal of a request that was ended to make room."""
        return self._owner.make_refusal()

    def give_up(self) -> None:
        """End the reading to make room for other bodies."""
        self.refused = True
        if self.arriving is not None:
            self.arriving.reschedule(asyncio.get_running_loop().time())
            self.arriving = None
        self.size = 0


class BodyBudget:
    """The bytes of all bodies under way, up to `most`. Without room, the largest arriving body is refused; small ones fit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: set[BodyAccount] = set()

    @property
    def bytes(self) -> int:
        """Return the bytes of all bodies."""
        return sum(body.size for body in self._held)

    @contextmanager
    def hold(self) -> Iterator[BodyAccount]:
        """Yield the `BodyAccount` of one request, which counts while the context is open."""
        body = BodyAccount(self)
        self._held.add(body)
        try:
            yield body
        finally:
            self._held.discard(body)

    def make_room(self, wanting: BodyAccount) -> None:
        """End the reading of the largest arriving bodies until all fit. RequestRefusedError if `wanting` is the largest."""
        if not wanting.counted:
            return
        while sum(body.counted for body in self._held) > self._most:
            largest = max((body for body in self._held if body.arriving or body is wanting), key=lambda body: body.size)
            if largest is wanting:
                raise self.make_refusal()
            largest.give_up()

    def make_refusal(self) -> RequestRefusedError:
        """Return the refusal of a request that was ended to make room."""
        return make_unavailable(f"the bodies of requests under way have more than {self._most} bytes", 1, "memory")


_Model = TypeVar("_Model", bound=BaseModel)


async def read_body(request: Request, is_gzip: bool, most: int, until: float, held: BodyAccount) -> bytes:
    """Return the body, inflated: at most `most` bytes, complete before `until` by the loop's clock; `held` counts the bytes.

    RequestRefusedError: 413 as soon as the body is too large, 400 for broken gzip, 408 for a late body, 503 without room for
    it.
    """
    loop = asyncio.get_running_loop()
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _make_too_large(most, f"{declared} bytes")
    inflater = _Inflater(most) if is_gzip else None
    body = bytearray()
    received = 0
    try:
        async with asyncio.timeout_at(min(until, loop.time() + _SILENT_S)) as held.arriving:
            async for chunk in request.stream():
                if held.arriving is not None:
                    held.arriving.reschedule(min(until, loop.time() + _SILENT_S))
                received += len(chunk)
                if received > most:
                    raise _make_too_large(most, f"more than {most} bytes")
                # zlib releases the GIL, so inflating does not block the loop
                piece = chunk if inflater is None else await asyncio.to_thread(inflater.inflate, chunk, len(body))
                held.grow(len(piece))
                body += piece
    except TimeoutError:
        if held.refused:
            raise held.make_refusal() from None
        raise make_refusal(408, "the body arrived too slowly, or not before the deadline") from None
    finally:
        held.arriving = None
    if inflater is not None and not inflater.complete:
        raise _make_no_gzip("the end of a truncated text" if received else "nothing")
    return bytes(body)


def find_application(body: bytes) -> str | None:
    """Return the application's name from the first 256 KiB of a snapshot or report.

    None if these bytes name no application. The worker checks the rest of the body.
    """
    for name, value in read_members(body[:_HEAD_BYTES].decode("utf-8-sig", "replace")):
        if name == "application":
            return value if isinstance(value, str) else None
    return None


def read_small(body: bytes, model: type[_Model]) -> _Model:
    """Return a small body as `model`. RequestRefusedError with status 400 if the body is invalid."""
    try:
        data = read_value(body, "request")
        return model.model_validate(data)
    except InputError as error:
        wrong = error
    except ValidationError as error:
        wrong = from_validation(error, data, model, "request")
    raise make_refusal(400, "the request cannot be read", wrong.place or wrong.source, wrong.found, wrong.allowed)


class _Inflater:
    """An inflater of one gzip stream, with any number of members, to at most `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._member = zlib.decompressobj(31)

    @property
    def complete(self) -> bool:
        """Return whether the last member of the gzip stream is complete."""
        return self._member.eof

    def inflate(self, chunk: bytes, so_far: int) -> bytes:
        """Return `chunk` inflated; `so_far`: bytes inflated before. RequestRefusedError: 413 beyond `most`, 400 if not gzip."""
        out = bytearray()
        try:
            while chunk or out:
                if self._member.eof:
                    self._member = zlib.decompressobj(31)
                room = min(_INFLATED_AT_ONCE, self._most - so_far - len(out) + 1)
                piece = self._member.decompress(chunk, room)
                out += piece
                if so_far + len(out) > self._most:
                    raise _make_too_large(self._most, f"more than {self._most} bytes once it is inflated")
                chunk = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
                if not chunk and (self._member.eof or len(piece) < room):  # otherwise zlib still holds output
                    break
        except zlib.error:
            raise _make_no_gzip("something else") from None
        return bytes(out)


def _make_too_large(most: int, found: str) -> RequestRefusedError:
    return make_refusal(413, "the body is too large", "body", found, f"at most {most} bytes")


def _make_no_gzip(found: str) -> RequestRefusedError:
    return make_refusal(400, "the body is not what Content-Encoding says", "body", found, "gzip")


async def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form.

    RequestRefusedError: 408 for a form that takes longer than `_SILENT_S`, 413 for a large one, 415 for another content type,
    400 for too many fields.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise make_refusal(415, "not a form", "Content-Type", kind[:100], "application/x-www-form-urlencoded")
    body = b""
    try:
        async with asyncio.timeout(_SILENT_S):
            async for part in request.stream():
                body += part
                if len(body) > _FORM_BYTES:
                    raise RequestRefusedError(Refusal(413, "the form is too long", allowed=f"{_FORM_BYTES} bytes"))
    except TimeoutError:
        raise make_refusal(408, "the form arrived too slowly") from None
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_FORM_FIELDS)
    except ValueError:
        raise make_refusal(400, "the form has too many fields", "form", "more", f"{_FORM_FIELDS}") from None
    return {name: values[0] for name, values in fields.items()}
