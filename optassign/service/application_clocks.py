"""The clocks of each application after its last rebalance, which the next recording carries on."""

from optassign.recordings.clocks import advance_clocks
from optassign.recordings.recording import Clocks, RecordingHead
from optassign.service.newest import Newest

__all__ = ["ApplicationClocks"]


class ApplicationClocks:
    """Application -> its clocks, of the applications that rebalanced last. Used by the event loop only."""

    def __init__(self, most: int) -> None:
        self._clocks = Newest[str, Clocks](most)

    def __contains__(self, application: object) -> bool:
        return application in self._clocks

    def restore(self, head: RecordingHead) -> RecordingHead:
        """Take the clocks of the newest recording of an application; one of an older service begins them."""
        return head.model_copy(update={"clocks": self._keep(head, head.clocks or advance_clocks(None, head))})

    def advance(self, head: RecordingHead) -> RecordingHead:
        """Return the head with the clocks of its application after this rebalance; one that was not applied advances none."""
        before = self._clocks.get(head.application or "")
        clocks = advance_clocks(before, head) if head.applied else before
        return head.model_copy(update={"clocks": self._keep(head, clocks)})

    def _keep(self, head: RecordingHead, clocks: Clocks | None) -> Clocks | None:
        if head.application is not None and clocks is not None:
            self._clocks[head.application] = clocks
        return clocks
