"""The clocks of each application as of its last rebalance, from which the next recording continues."""

from optassign.recordings.clocks import advance_clocks
from optassign.recordings.recording import Clocks, RecordingHead
from optassign.service.newest import Newest

__all__ = ["ApplicationClocks"]


class ApplicationClocks:
    """The clocks of the `most` most recently rebalanced applications. Used by the event loop only."""

    def __init__(self, most: int) -> None:
        self._clocks = Newest[str, Clocks](most)

    def __contains__(self, application: object) -> bool:
        return application in self._clocks

    def restore(self, head: RecordingHead) -> RecordingHead:
        """Keep the clocks of an application's newest recording, and return its head with clocks. They start with this recording
        if an older service wrote it without clocks."""
        return head.model_copy(update={"clocks": self._keep(head, head.clocks or advance_clocks(None, head))})

    def advance(self, head: RecordingHead) -> RecordingHead:
        """Advance the clocks of the head's application by this rebalance, if it was applied, and return the head with these
        clocks."""
        before = self._clocks.get(head.application or "")
        clocks = advance_clocks(before, head) if head.applied else before
        return head.model_copy(update={"clocks": self._keep(head, clocks)})

    def _keep(self, head: RecordingHead, clocks: Clocks | None) -> Clocks | None:
        if head.application is not None and clocks is not None:
            self._clocks[head.application] = clocks
        return clocks
