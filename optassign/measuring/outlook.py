"""How long a group is likely to be on its way to the plan: the number of follow-ups, and the time that they take."""

from dataclasses import dataclass
from math import ceil

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.placement import Placement
from optassign.measuring.ranks import Ranks

__all__ = ["Outlook", "estimate_outlook"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """An estimate: it holds where every copy that gets a slot is restored by the next follow-up, and nobody comes or goes."""

    followups: int
    """Until the plan is reached, the next one included."""
    ms: int
    """Until the last of them, milliseconds."""
    copies: int
    """Copies that take a slot on the way."""
    slots: int
    """max_warmup_replicas."""
    interval_ms: int
    """Between two of them: probing_rebalance_interval_ms."""


def estimate_outlook(state: ApplicationState, answer: TaskAssignment) -> Outlook | None:
    """What lies before the group after this answer. None where no follow-up is asked for, or it waits for no copy.

    Every follow-up finds as many copies restored as there are slots; copies that this answer assigns already take none.
    """
    delays = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    if not delays or not answer.report.waiting:
        return None
    now, ranks = Placement.of(state, answer), Ranks(state)
    copies = sum(
        entry.task in now.active
        and entry.process_id not in now.copies(entry.task)
        and ranks.of(entry.task, entry.process_id) > 0
        for entry in answer.report.waiting
        if entry.process_id in state.kafka_streams_states
    )
    slots, interval = state.configs.max_warmup_replicas, state.configs.probing_rebalance_interval_ms
    followups = max(1, ceil(copies / slots))
    return Outlook(followups, min(delays) + (followups - 1) * interval, copies, slots, interval)
