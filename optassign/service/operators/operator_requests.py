"""Operators' requests by application, kept across restarts. Used by the event loop only."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from optassign.formats.base import Format, Frozen, parse_time
from optassign.service.applications_file import ApplicationsFile
from optassign.service.clock import format_utc
from optassign.service.http.refusals import make_refusal
from optassign.service.logs import log_event
from optassign.service.newest import Newest
from optassign.service.operators.last_rebalance import NO_REBALANCE, KnownClients, LastRebalance
from optassign.service.operators.requested_options import DrainState, RequestedOptions

__all__ = ["FILE_NAME", "OperatorRequests"]

_MOST_REQUESTS = 4_096  # applications and drains in all: names come from requests, so their number needs a bound
_KEPT_ACTIONS = 20
"""Operators' requests that an application's page lists. The log has all of them."""
_RETURNS_S = 900.0
"""Seconds after an application's end from which a rebalance means that the application is back, since instances stop one by
one."""
_PAST_S = 86_400.0
"""Seconds after which ends, and drains of absent clients, give way to new requests beyond `_MOST_REQUESTS`."""
_LONGEST_HOLD_MS = 3_600_000
"""The longest delay of a follow-up in quiet hours, so that shortened quiet hours take effect within an hour."""

FILE_NAME = ".operator-requests.json"
"""The name of the file of requests in the folder of recordings."""
BEFORE_NAME = ".operator-requests.json.before"
"""The previous generation, which is read if the file is unreadable."""
UNREADABLE_NAME = ".operator-requests.json.unreadable"
"""A file that was unreadable. Until an operator deletes it, pages, metric and alert report it."""
RequestKind = Literal["paused", "forget_plan"]


class _StoredPart(Frozen):
    """A part of the file. Unknown fields are ignored, so that a return to an older version loses no request."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_unknown(cls, data: Any) -> Any:
        return {name: value for name, value in data.items() if name in cls.model_fields} if isinstance(data, dict) else data


class _Signed(_StoredPart):
    """The author of a request, and its time."""

    by: str
    at: str


class _Drain(_Signed):
    state: DrainState = "waiting"


class _End(_Signed):
    expected_at: str


class _Action(_Signed):
    """A request of an operator, as stored."""

    what: str
    client: str | None = None


class _Application(_StoredPart):
    ended: _End | None = None
    paused: _Signed | None = None
    forget_plan: _Signed | None = None
    drains: dict[str, _Drain] = Field(default={})


class _Contents(_StoredPart):
    format: Format = 1
    applications: dict[str, _Application] = Field(default={})
    history: dict[str, Annotated[tuple[_Action, ...], Field(strict=False)]] = Field(default={})
    """Application → its last requests, the oldest first."""


class OperatorRequests:
    """The requests in force. Operators' changes raise RequestRefusedError: 413 beyond `_MOST_REQUESTS`, 503 if saving fails."""

    def __init__(
        self, folder: Path | None, settings: ApplicationsFile, now: Callable[[], float], idle_followup_ms: int | None = None
    ) -> None:
        """Start without requests. `folder` None: nothing is stored. now: returns seconds since 1970.

        idle_followup_ms: the follow-up of a stable group, so that operators' requests take effect without other rebalances;
        None for none.
        """
        self._path = None if folder is None else folder / FILE_NAME
        self._settings, self._now = settings, now
        self._idle_followup_ms = idle_followup_ms
        self._applications: dict[str, _Application] = {}
        self._history: dict[str, tuple[_Action, ...]] = {}
        self._cancelled = Newest[tuple[str, str], None](_MOST_REQUESTS)
        """Applications and clients whose drains were cancelled."""
        self._contacts = Newest[str, LastRebalance](_MOST_REQUESTS)
        self._changing = asyncio.Lock()
        self.clients = KnownClients()
        self.stopping = False
        """Whether the service stops, so that requests no longer wait for drains."""

    @property
    def lost(self) -> bool:
        """Return whether an unreadable file of requests, set aside at a start, still exists."""
        return self._path is not None and os.path.exists(self._path.with_name(UNREADABLE_NAME))

    def load(self) -> None:
        """Read the requests from before a restart.

        An unreadable file is logged and renamed. The previous generation then replaces it, so that later starts read it, too.
        """
        if self._path is None:
            return
        for path in (self._path, self._path.with_name(BEFORE_NAME)):
            try:
                contents = _Contents.model_validate_json(path.read_bytes())
            except FileNotFoundError:
                if path == self._path:
                    return
                continue
            except (OSError, ValidationError) as error:
                kept = self._path.with_name(UNREADABLE_NAME if path == self._path else f"{BEFORE_NAME}.unreadable")
                with suppress(OSError):
                    path.replace(kept)
                log_event("operator_requests_lost", logging.ERROR, file=str(kept), why=str(error).splitlines()[0])
                continue
            if path != self._path:
                with suppress(OSError):
                    path.replace(self._path)
            self._applications, self._history = dict(contents.applications), dict(contents.history)
            log_event("operator_requests_restored", applications=len(self._applications), file=path.name)
            return

    def get_options(self, application: str | None, *, is_applied: bool = True) -> RequestedOptions | None:
        """Return the requests for the application's next snapshot, or None if there are none.

        is_applied: whether the application runs the follow-ups of the answer; False in shadow mode, where another assignor
        requests them, and with the brokers' assignor.
        """
        if application is None:
            return None
        asked, settings = self._applications.get(application, _Application()), self._settings.get(application)
        now = datetime.fromtimestamp(self._now(), UTC)
        quiet_until = None if settings.quiet is None else settings.quiet.find_end(now)
        hold: Literal["none", "paused", "quiet_hours"] = "none"
        ends_ms = None
        if asked.paused is not None:
            hold = "paused"
        elif quiet_until is not None:
            hold, ends_ms = "quiet_hours", max(0, round((quiet_until - now).total_seconds() * 1000))
            ends_ms = min(ends_ms, _LONGEST_HOLD_MS)
        options = RequestedOptions(
            hold,
            ends_ms,
            tuple(sorted(asked.drains)),
            asked.forget_plan is not None,
            settings.limits,
            self._idle_followup_ms if is_applied else None,
        )
        return None if options == RequestedOptions() else options

    def allows(self, application: str | None) -> bool:
        """Return whether the file of applications lets the service answer this application."""
        return self._settings.allows(application)

    def list_names(self) -> list[str]:
        """Return the applications with a request or a setting, sorted."""
        return sorted({*self._applications, *self._settings.list_names()})

    def list_known_names(self) -> list[str]:
        """Return the applications with a request, a setting or a known rebalance, sorted."""
        return sorted({*self.list_names(), *self._contacts})

    def describe(self, application: str) -> dict[str, Any]:
        """Return the fields of `ApplicationRequests`: the requests in force, and the last and next rebalance."""
        asked, settings = self._applications.get(application, _Application()), self._settings.get(application)
        quiet = None
        if settings.quiet is not None:
            end = settings.quiet.find_end(datetime.fromtimestamp(self._now(), UTC))
            quiet = {
                "hours": list(settings.quiet.texts),
                "time_zone": settings.quiet.zone,
                "now": end is not None,
                "ends_at": None if end is None else format_utc(end.timestamp()),
            }
        contact = self._contacts.get(application)
        return {
            "application": application,
            "ended": _dump(asked.ended),
            "paused": _dump(asked.paused),
            "quiet": quiet,
            "forget_plan": _dump(asked.forget_plan),
            "drains": [{"client": name, **drain.model_dump()} for name, drain in sorted(asked.drains.items())],
            "limits": [dict(limit) for limit in settings.limits],
            "history": [action.model_dump() for action in reversed(self._history.get(application, ()))],
            "kept": self._path is not None,
            **(NO_REBALANCE if contact is None else contact.describe(self._now())),
        }

    def note_last_rebalance(self, application: str, contact: LastRebalance) -> None:
        """Replace the last rebalance of an application."""
        self._contacts[application] = contact

    async def make_request(self, application: str, what: RequestKind, by: str) -> None:
        """Pause the application (`paused`), or request a new target (`forget_plan`). A repeated request changes nothing."""
        async with self._changing:
            asked = self._applications.get(application, _Application())
            if getattr(asked, what) is None:
                await self._store(application, asked.model_copy(update={what: self._sign(by)}), what, by)

    async def cancel_request(self, application: str, what: RequestKind, by: str) -> None:
        """Resume the application (`paused`), or cancel the request for a new target (`forget_plan`)."""
        async with self._changing:
            asked = self._applications.get(application, _Application())
            if getattr(asked, what) is not None:
                done = {"paused": "resumed", "forget_plan": "plan_not_forgotten"}[what]
                await self._store(application, asked.model_copy(update={what: None}), done, by)

    async def set_end(self, application: str, after: float, by: str) -> None:
        """Expect the application to end in `after` seconds. After its end, its silence causes no alert.

        With `after` 0, pauses, drains and the request for a new target are cancelled as well.
        """
        async with self._changing:
            end = _End(**self._sign(by).model_dump(), expected_at=format_utc(self._now() + after))
            asked = self._applications.get(application, _Application())
            if not after:
                for client in sorted(asked.drains):
                    await self._cancel_drain(application, client, by)
                asked = _Application()
            await self._store(application, asked.model_copy(update={"ended": end}), "ended", by)

    async def clear_end(self, application: str, by: str) -> None:
        """Cancel the expected end."""
        async with self._changing:
            asked = self._applications.get(application, _Application())
            if asked.ended is not None:
                await self._store(application, asked.model_copy(update={"ended": None}), "end_cancelled", by)

    async def note_rebalance(self, application: str) -> None:
        """Cancel the expected end of an application that rebalances more than `_RETURNS_S` seconds after it."""
        known = self._applications.get(application)
        if known is None or known.ended is None:
            return  # without its turn: the request of another application may be waiting for a disk
        async with self._changing:
            asked = self._applications.get(application)
            if asked is None or asked.ended is None:
                return
            if self._now() > parse_time(asked.ended.expected_at).timestamp() + _RETURNS_S:
                await self._store_quietly(application, asked.model_copy(update={"ended": None}), "returned")

    async def add_drain(self, application: str, client: str, by: str) -> None:
        """Drain a client. A repeated request changes nothing. RequestRefusedError for an unknown or ambiguous client."""
        self.clients.check(application, client)
        async with self._changing:
            asked = self._applications.get(application, _Application())
            self._cancelled.pop((application, client), None)
            if client not in asked.drains:
                drains = {**asked.drains, client: _Drain(**self._sign(by).model_dump())}
                await self._store(application, asked.model_copy(update={"drains": drains}), "drain", by, client=client)

    async def remove_drain(self, application: str, client: str, by: str) -> bool:
        """Cancel the drain of a client, and return whether it was in force."""
        async with self._changing:
            if client not in self._applications.get(application, _Application()).drains:
                return False
            await self._cancel_drain(application, client, by)
            return True

    async def _cancel_drain(self, application: str, client: str, by: str) -> None:
        asked = self._applications[application]
        drains = {name: drain for name, drain in asked.drains.items() if name != client}
        await self._store(application, asked.model_copy(update={"drains": drains}), "undrain", by, client=client)
        self._cancelled[application, client] = None

    def may_stop(self, application: str, client: str) -> bool | None:
        """Return True if the client may stop or has gone, and None if it must wait.

        False if its drain was cancelled, or if other clients have no room.
        """
        drain = self._applications.get(application, _Application()).drains.get(client)
        if drain is None:
            return (application, client) not in self._cancelled
        if drain.state == "may_stop":
            return True
        return False if drain.state == "stays" else None

    async def note_outcome(self, application: str, drains: Mapping[str, DrainState], *, has_forgotten: bool) -> None:
        """Store the outcome of an answer that was sent: the progress of drains, and whether the target was replaced.

        A drain ends when its client is absent from the snapshot after the state `may_stop`.
        """
        if application not in self._applications:
            return  # without its turn, as in `note_rebalance`
        async with self._changing:
            asked = self._applications.get(application)
            if asked is None:
                return
            if has_forgotten and asked.forget_plan is not None:
                await self._store_quietly(application, asked.model_copy(update={"forget_plan": None}), "plan_forgotten")
            for name, state in drains.items():
                asked = self._applications.get(application, _Application())
                before = asked.drains.get(name)
                if before is None or before.state == state:
                    continue
                is_over = before.state == "may_stop" and state == "absent"
                changed = {other: drain for other, drain in asked.drains.items() if other != name}
                if not is_over:
                    changed[name] = before.model_copy(update={"state": state})
                what = "drained" if is_over else "drain_state"
                changed_application = asked.model_copy(update={"drains": changed})
                await self._store_quietly(application, changed_application, what, client=name, state=state)

    async def _store_quietly(self, application: str, asked: _Application, what: str, **fields: Any) -> None:
        """Store without raising; a failed attempt is logged and repeated after the next answer."""
        try:
            await self._store(application, asked, what, **fields)
        except Exception as error:
            log_event("drain_not_saved", logging.WARNING, application=application, why=str(error))

    async def _store(self, application: str, asked: _Application, what: str, by: str | None = None, **fields: Any) -> None:
        """Write the file with the changed requests, then put them in force. RequestRefusedError as in `OperatorRequests`."""
        applications = {**self._applications, application: asked}
        if asked == _Application():
            del applications[application]
        if _count_entries(applications) > _MOST_REQUESTS:
            applications = self._leave_out_past(applications)
        if _count_entries(applications) > _MOST_REQUESTS:
            raise make_refusal(413, "too many applications and drains", allowed=f"at most {_MOST_REQUESTS}")
        history = dict(self._history)
        if by is not None:
            action = _Action(**self._sign(by).model_dump(), what=what, client=fields.get("client"))
            history[application] = (*history.pop(application, ()), action)[-_KEPT_ACTIONS:]
            while len(history) > _MOST_REQUESTS:
                del history[next(iter(history))]
        if self._path is not None:
            contents = _Contents(applications=dict(sorted(applications.items())), history=history)
            try:
                await asyncio.to_thread(_write_atomically, self._path, contents.model_dump_json().encode())
            except OSError as error:
                raise make_refusal(503, "the request cannot be saved", found=error.strerror or str(error)) from None
        self._applications, self._history = applications, history
        if by is not None:
            fields["by"] = by
        log_event("hold", application=application, what=what, **fields)

    def _leave_out_past(self, applications: Mapping[str, _Application]) -> dict[str, _Application]:
        """Return the applications without those whose only request is an end that is a day past: their silence counts as a stop
        anyway. Also without drains of absent clients that are a day old."""
        past = format_utc(self._now() - _PAST_S)
        kept: dict[str, _Application] = {}
        for name, asked in applications.items():
            drains = {client: drain for client, drain in asked.drains.items() if drain.state != "absent" or drain.at > past}
            left = asked.model_copy(update={"drains": drains})
            has_ended = left.ended is not None and left.ended.expected_at <= past and left == _Application(ended=left.ended)
            if not has_ended and left != _Application():
                kept[name] = left
        if kept != applications:
            log_event("hold", what="past_left_out", entries=_count_entries(applications) - _count_entries(kept))
        return kept

    def _sign(self, by: str) -> _Signed:
        return _Signed(by=by, at=format_utc(self._now()))


def _count_entries(applications: Mapping[str, _Application]) -> int:
    return len(applications) + sum(len(one.drains) for one in applications.values())


def _dump(asked: Frozen | None) -> dict[str, Any] | None:
    return None if asked is None else asked.model_dump()


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file and keep the previous generation. After a crash, the file has the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary, before = path.with_name(f"{path.name}.new"), path.with_name(BEFORE_NAME)
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        with suppress(OSError):
            linked = path.with_name(f"{path.name}.linked")
            linked.unlink(missing_ok=True)
            os.link(path, linked)  # with a link, `path` exists at all times; with a rename it would be missing for a moment
            linked.replace(before)
    temporary.replace(path)
    with suppress(OSError):  # some systems cannot open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that the new name also survives a crash of the machine
        finally:
            os.close(folder)
