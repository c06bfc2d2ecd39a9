"""The last answer of each application for the next rebalance (R10, R11), and the turns of its requests."""

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
    """An answer that was sent, or reported as applied."""

    at: int
    """Optassign-Answered-At, or Optassign-Applied-At of a report, milliseconds since 1970."""
    answer: bytes
    """JSON of the TaskAssignment."""
    order: int
    """The request's number among all requests: an earlier request that is answered later must not replace this answer."""
    rebalance: str | None = None
    """The plug-in's id of the rebalance."""


class Memory:
    """The last answers of the `most` most recently used applications. Used by the event loop only."""

    def __init__(self, most: int) -> None:
        self._last = Newest[str, Remembered](most)
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._last)

    def next_order(self) -> int:
        """Return the number of a new request."""
        return next(self._order)

    def get(self, application: str | None) -> Remembered | None:
        """Return the last answer, or None if it is unknown.

        An answer that a wrong clock dated too far ahead is dropped: until that date, plug-ins' answers would look older.
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
        """Raise RequestRefusedError with status 400 if `at`, the date in this header, is more than `MOST_AHEAD_MS` ahead.

        Every later answer needs a later date, so one wrong date would postdate them all.
        """
        latest = read_milliseconds() + MOST_AHEAD_MS
        if at > latest:
            allowed = f"at most {latest}: 7 days ahead of the service's clock"
            raise make_refusal(400, "the date is too far in the future", header, str(at), allowed)

    def choose_next_time(self, application: str | None, now: int, remembered_at: int | None) -> int:
        """Return the Optassign-Answered-At of an answer: `now`, but later than the last answer and `remembered_at`.

        An answer thus counts as newer than its predecessor, even if the machines' clocks disagree.
        """
        last = self.get(application)
        return max(now, 0 if last is None else last.at + 1, 0 if remembered_at is None else remembered_at + 1)

    def put(self, application: str, remembered: Remembered) -> None:
        """Keep an answer, unless that of a later request is known. Beyond `most`, drop the least recently used application."""
        last = self._last.get(application)
        self._last[application] = remembered if last is None or last.order < remembered.order else last


@dataclass
class _Turn:
    lock: asyncio.Lock
    users: int = 0
    """Number of requests that have the turn or wait for it; the turn is dropped at 0."""


class Turns:
    """One lock for each application with requests under way. Used by one event loop only."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def take(self, application: str | None, until: float) -> AsyncIterator[None]:
        """Wait for the application's turn, and hold it within the context; None waits for no other request.

        A request that has waited until `until`, by the loop's clock, continues without the turn: an answer in time matters more
        than the newest memory.
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
