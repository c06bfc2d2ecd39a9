"""The last answer of each application, for the next one (R10, R11): so requests of one application take turns."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from optassign.service.clock import read_milliseconds
from optassign.service.http.refusals import make_refusal
from optassign.service.logs import log_event
from optassign.service.newest import Newest
from optassign_models.policy.constants import MOST_AHEAD_MS

__all__ = ["Memory", "Remembered", "Turns"]


@dataclass(frozen=True)
class Remembered:
    """An answer that went out."""

    at: int
    """Optassign-Answered-At, milliseconds since 1970."""
    answer: bytes
    """JSON of the TaskAssignment."""
    order: int
    """The request's number among all: one that came earlier and was answered later must not replace it."""
    rebalance: str | None = None
    """The plug-in's id of the rebalance."""


class Memory:
    """Application -> last answer, of the applications that were asked for last. Used by the event loop only."""

    def __init__(self, most: int) -> None:
        self._last = Newest[str, Remembered](most)
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._last)

    def next_order(self) -> int:
        """Return the place of a new request among all requests."""
        return next(self._order)

    def get(self, application: str | None) -> Remembered | None:
        """Return the last answer, or None if it is not known.

        One that a wrong clock has dated too far ahead is forgotten: what plug-ins decide would look older for as long.
        """
        if application is None or application not in self._last:
            return None
        last = self._last[application]
        if last.at > read_milliseconds() + MOST_AHEAD_MS:
            log_event("memory_forgotten", logging.WARNING, application=application, answered_at=last.at)
            del self._last[application]
            return None
        self._last.move_to_end(application)
        return last

    @staticmethod
    def check_date(header: str, at: int) -> None:
        """Raise RequestRefusedError with status 400 if a plug-in dates its decision `at` too far in the future.

        All later answers are dated after it: it would leave them no room. The bound grows faster than the dates of answers do.
        """
        latest = read_milliseconds() + MOST_AHEAD_MS
        if at > latest:
            allowed = f"at most {latest}: 7 days ahead of the service's clock"
            raise make_refusal(400, "the date is too far ahead", header, str(at), allowed)

    def choose_next_time(self, application: str | None, now: int, remembered_at: int | None) -> int:
        """Optassign-Answered-At of an answer: after everything that was known when it was made.

        So an answer counts as newer than what it is built on, whatever the clocks of the machines say.
        """
        last = self.get(application)
        return max(now, 0 if last is None else last.at + 1, 0 if remembered_at is None else remembered_at + 1)

    def put(self, application: str, remembered: Remembered) -> None:
        """Remember an answer; forget the application not asked for the longest, if there are too many."""
        last = self._last.get(application)
        self._last[application] = remembered if last is None or last.order < remembered.order else last


@dataclass
class _Turn:
    lock: asyncio.Lock
    users: int = 0
    """Requests that have the turn or wait for it; without any it is forgotten."""


class Turns:
    """One lock for each application that has requests under way. To be used from one event loop."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def take(self, application: str | None, until: float) -> AsyncIterator[None]:
        """Wait for the application's turn, and have it while in the context; None waits for no other request.

        A request that has waited until `until`, by the loop's clock, goes on all the same: better an answer than the best
        memory.
        """
        if application is None:
            yield
            return
        turn = self._turns.setdefault(application, _Turn(asyncio.Lock()))
        turn.users += 1
        locked = False
        try:
            try:
                async with asyncio.timeout_at(until):
                    locked = await turn.lock.acquire()
            except TimeoutError:
                pass
            yield
        finally:
            if locked:
                turn.lock.release()
            turn.users -= 1
            if not turn.users:
                del self._turns[application]
