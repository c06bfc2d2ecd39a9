"""State that clients keep: whole changelogs of their copies, in offsets (docs/reference/rules.md, "Configured goals"). Plain
loops."""

from collections import Counter

from optassign.formats.state import ApplicationState
from optassign.measuring.placement import Placement

__all__ = ["count_state"]


def count_state(state: ApplicationState, placement: Placement, *, warmups: bool) -> Counter[str]:
    """Process id -> offsets of the whole changelogs of its active copies and standbys; with `warmups` of these, too.

    A warm-up takes the room of the whole changelog in the end, so that much is counted however far it is.
    """
    kept: Counter[str] = Counter()
    for task, size in state.full_lags.items():
        for process_id in (*placement.copies(task), *(placement.warmup[task] if warmups else ())):
            kept[process_id] += size
    return kept
