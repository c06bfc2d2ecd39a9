"""The last report of each instance on how far its copies are. Used by the event loop only; a restart forgets them."""

from collections import OrderedDict
from collections.abc import Callable

from optassign.recordings.files import name_folder
from optassign.service.views.progress import Heard, ProgressReport
from optassign_models.policy.service import PROGRESS_BUSY_S, PROGRESS_EVERY_MS, PROGRESS_INSTANCES, PROGRESS_SHARE_S

__all__ = ["Progress"]


class Progress:
    """(application, instance) -> its last report."""

    def __init__(self, read_seconds: Callable[[], float]) -> None:
        """read_seconds: seconds since 1970."""
        self._read_seconds = read_seconds
        self._heard: OrderedDict[tuple[str, str], Heard] = OrderedDict()

    def take(self, report: ProgressReport) -> float:
        """Keep a report, and return the seconds after which its instance should tell again."""
        now, key = self._read_seconds(), (name_folder(report.application), report.client)
        self._heard.pop(key, None)
        busy = sum(now - each.at < PROGRESS_BUSY_S for each in self._heard.values())
        next_s = max(PROGRESS_EVERY_MS / 1000, busy * PROGRESS_SHARE_S)
        self._heard[key] = Heard(now, next_s, report.client, report.copies)
        while len(self._heard) > PROGRESS_INSTANCES:
            self._heard.popitem(last=False)
        return next_s

    def list(self, application: str) -> tuple[Heard, ...]:
        """The reports of an application, by its name or by the name of its folder of recordings."""
        names = {application, name_folder(application)}
        return tuple(each for (folder, _), each in self._heard.items() if folder in names)
