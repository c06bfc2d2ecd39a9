"""The limit on bytes of requests held at once: arriving, waiting and worked on."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from optassign.service.http.refusals import RequestRefusedError, make_unavailable
from optassign_models.policy.service import SMALL_BODY

__all__ = ["HeldBodies", "HeldBody"]


class HeldBody:
    """One request's share. `arriving`: the time-out of its reading, by which it can be ended."""

    def __init__(self, owner: "HeldBodies") -> None:
        self._owner = owner
        self.size = 0
        self.arriving: asyncio.Timeout | None = None
        self.refused = False
        """Given up for others, while it came."""

    @property
    def counted(self) -> int:
        """Bytes that count towards the limit."""
        return self.size if self.size > SMALL_BODY else 0

    def grow(self, count: int) -> None:
        """Hold `count` more bytes. RequestRefusedError with status 503 where there is no room."""
        self.size += count
        self._owner.make_room(self)

    def make_refusal(self) -> RequestRefusedError:
        """Make the refusal for the request if it has to go."""
        return self._owner.make_refusal()

    def give_up(self) -> None:
        """End the reading, so that others have room."""
        self.refused = True
        if self.arriving is not None:
            self.arriving.reschedule(asyncio.get_running_loop().time())
            self.arriving = None
        self.size = 0


class HeldBodies:
    """All requests' bodies. If there is no room, the largest that is still coming has to go: small ones always fit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: set[HeldBody] = set()

    @property
    def bytes(self) -> int:
        """The bytes of all bodies together."""
        return sum(body.size for body in self._held)

    @contextmanager
    def hold(self) -> Iterator[HeldBody]:
        """A share for one request, for as long as it has its body."""
        body = HeldBody(self)
        self._held.add(body)
        try:
            yield body
        finally:
            self._held.discard(body)

    def make_room(self, wanting: HeldBody) -> None:
        """End readings, the largest first, until all fit. RequestRefusedError if `wanting` is the one to go."""
        if not wanting.counted:
            return
        while sum(body.counted for body in self._held) > self._most:
            largest = max((body for body in self._held if body.arriving or body is wanting), key=lambda body: body.size)
            if largest is wanting:
                raise self.make_refusal()
            largest.give_up()

    def make_refusal(self) -> RequestRefusedError:
        """Make the refusal for a request that has to go."""
        return make_unavailable(f"the bodies of requests under way have more than {self._most} bytes", 1)
