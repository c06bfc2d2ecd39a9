"""Requests of one application are answered one after the other, as each answer may be the memory of the next."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

__all__ = ["Turns"]


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
