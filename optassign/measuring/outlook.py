"""How long a group is likely to be on its way to the plan: the number of follow-ups, and the time that they take."""

from dataclasses import dataclass
from math import ceil
from statistics import median

from optassign.formats.assignment import Pace, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.placement import Placement
from optassign.measuring.ranks import Ranks

__all__ = ["Outlook", "estimate_outlook"]

_PASS_MS = 1_500
"""About what a follow-up takes beside what it waits for."""


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
    """Between two of them, at most: probing_rebalance_interval_ms."""
    is_by_rates: bool = False
    """`ms` is what the clients' disks take, by the rates that are known; else so many intervals."""
    is_at_most: bool = False
    """Follow-ups come sooner, once rates are known."""


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
    longest = min(delays) + (followups - 1) * interval
    if state.options.followup == "interval" or answer.report.pace is None:
        return Outlook(followups, longest, copies, slots, interval)
    restoring = _estimate_restoring_ms(answer, answer.report.pace, slots)
    if restoring is None:
        return Outlook(followups, longest, copies, slots, interval, is_at_most=True)
    return Outlook(followups, min(longest, restoring + followups * _PASS_MS), copies, slots, interval, is_by_rates=True)


def _estimate_restoring_ms(answer: TaskAssignment, pace: Pace, slots: int) -> int | None:
    """What restoring the copies that are waited for takes: as long as the slowest client, and as the slots. None: no rates."""
    rates = {row.process_id: row.offsets / row.ms for row in pace.clients if row.offsets and row.ms}
    if not rates:
        return None
    usual = median(rates.values())
    taken: dict[str, float] = {}
    for entry in answer.report.waiting:
        taken[entry.process_id] = taken.get(entry.process_id, 0.0) + (entry.lag or 0) / rates.get(entry.process_id, usual)
    return ceil(max(max(taken.values()), sum(taken.values()) / slots))
