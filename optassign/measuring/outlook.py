"""Estimates of the time until the target is reached, and the reason for a follow-up (docs/reference/rules.md, "R8")."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Literal

from optassign.formats.assignment import Pace, TaskAssignment
from optassign.formats.state import UNKNOWN_LAG, ApplicationState
from optassign.measuring import ASSUMED_RATE
from optassign.measuring.load import find_wait_for_rates_ms
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.ranks import Ranks

FOLLOWUP_TAKES_MS = 1_500
"""Milliseconds that a follow-up takes in addition to its delay: members join, and the answer is confirmed. Measured by the
benchmark time-to-balance."""
WORTH_SAYING = 0.9
"""Advice is given if it leaves at most this share of a cost: a smaller gain is within the error of an estimate."""


@dataclass(frozen=True, slots=True)
class RestoreRates:
    """Restore rates of clients, in offsets per second."""

    least: int
    median: int
    most: int
    clients: int
    """The number of clients with a known rate."""


@dataclass(frozen=True, slots=True)
class WithSlots:
    """The outlook with another number of warm-ups."""

    slots: int
    """max_warmup_replicas."""
    followups: int
    ms: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """An estimate of the follow-ups and the time until the target is reached, if no client joins or leaves."""

    followups: int
    """Rebalances until the target is reached, the next one included."""
    ms: int
    """Milliseconds until the last of these rebalances."""
    copies: int
    """Copies that will need a warm-up slot."""
    slots: int
    """max_warmup_replicas."""
    interval_ms: int
    """probing_rebalance_interval_ms, the longest time between two rebalances."""
    is_by_rates: bool = False
    """Whether `ms` comes from measured restore rates; otherwise from intervals."""
    is_assumed: bool = False
    """Whether `ms` comes from `ASSUMED_RATE`, because no rate is known yet."""
    rates: RestoreRates | None = None
    more_slots: tuple[WithSlots, ...] = ()
    """The outlook with more warm-ups (2, 4, 8 …), as far as they save time; empty if more would save little."""


def find_restore_rates(pace: Pace | None) -> RestoreRates | None:
    """Return the spread of the restore rates in an answer's pace; None if no rate is known."""
    rates = [] if pace is None else [max(1, row.offsets * 1000 // row.ms) for row in pace.clients if row.offsets and row.ms]
    return RestoreRates(min(rates), int(median(rates)), max(rates), len(rates)) if rates else None


def list_rates(pace: Pace | None) -> dict[str, float]:
    """Return client → offsets per second, for clients with a measurement.

    A lower bound counts as at least the assumed rate: the client was done at each rebalance, and after a long interval its
    measured rate would be close to 0.
    """
    rows = () if pace is None else pace.clients
    rates = {row.process_id: (1000 * row.offsets / row.ms, row.evidence == "bound") for row in rows if row.offsets and row.ms}
    return {name: max(rate, float(ASSUMED_RATE)) if is_bound else rate for name, (rate, is_bound) in rates.items()}


def estimate_outlook(state: ApplicationState, answer: TaskAssignment) -> Outlook | None:
    """Return the outlook after this answer.

    None if no follow-up is requested, no copy is waited for, or no copy made progress since the previous answer. Every
    follow-up is assumed to find as many copies restored as there are slots; copies that this answer assigns need no slot.
    """
    delays = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    pace = answer.report.pace
    if not delays or not answer.report.waiting or answer.report.stalled or (pace is not None and pace.looks):
        return None
    now, ranks = TaskPlacement.of(state, answer), Ranks(state)
    in_line = [
        (entry.process_id, entry.lag or 0)
        for entry in answer.report.waiting
        if entry.process_id in state.kafka_streams_states
        and entry.task in now.active
        and entry.process_id not in now.copies(entry.task)
        and ranks.of(entry.task, entry.process_id) > 0
    ]
    copies, slots, interval = len(in_line), state.configs.max_warmup_replicas, state.configs.probing_rebalance_interval_ms
    followups = _count_followups(copies, slots)
    longest = min(delays) + (followups - 1) * interval
    rates = find_restore_rates(pace)
    if state.options.followup == "interval" or pace is None:
        more = [
            WithSlots(w, _count_followups(copies, w), _count_followups(copies, w) * interval) for w in _double(slots, copies)
        ]
        return Outlook(followups, longest, copies, slots, interval, rates=rates, more_slots=_drop_useless(more, longest))
    disks = _Disks(answer, in_line, (ASSUMED_RATE if rates is None else rates.median) / 1000)
    # No limit by intervals: if a follow-up finds a copy still restoring, another one comes.
    ms = disks.estimate_ms(slots)
    more = [WithSlots(w, _count_followups(copies, w), disks.estimate_ms(w)) for w in _double(slots, copies)]
    useful = _drop_useless(more, ms)
    if rates is None:
        return Outlook(followups, ms, copies, slots, interval, is_assumed=True, more_slots=useful)
    return Outlook(followups, ms, copies, slots, interval, is_by_rates=True, rates=rates, more_slots=useful)


class _Disks:
    """Restore times of the copies that wait, by the measured rates of their clients, otherwise by the usual rate."""

    def __init__(self, answer: TaskAssignment, in_line: list[tuple[str, int]], usual: float) -> None:
        pace = answer.report.pace
        rows = () if pace is None else pace.clients
        rates: Mapping[str, float] = {row.process_id: row.offsets / row.ms for row in rows if row.offsets and row.ms}
        taken: dict[str, float] = {}
        for entry in answer.report.waiting:
            taken[entry.process_id] = taken.get(entry.process_id, 0.0) + (entry.lag or 0) / rates.get(entry.process_id, usual)
        self._slowest = max(taken.values())
        self._in_line = sum(lag / rates.get(client, usual) for client, lag in in_line)
        self._copies = len(in_line)

    def estimate_ms(self, slots: int) -> int:
        """Return the time of the slowest client or of all slots, whichever is longer, plus the follow-ups' own time."""
        return ceil(max(self._slowest, self._in_line / slots)) + _count_followups(self._copies, slots) * FOLLOWUP_TAKES_MS


def _count_followups(copies: int, slots: int) -> int:
    return max(1, ceil(copies / slots))


def _double(slots: int, copies: int) -> Iterator[int]:
    """Yield the powers of two above `slots`, up to one slot for each copy."""
    number = 2
    while number < 2 * copies:
        if number > slots:
            yield number
        number *= 2


def _drop_useless(more: list[WithSlots], ms: int) -> tuple[WithSlots, ...]:
    """Keep each number of slots that takes at most `WORTH_SAYING` of the time of the number kept before."""
    kept: list[WithSlots] = []
    for each in more:
        if each.ms <= WORTH_SAYING * (kept[-1].ms if kept else ms):
            kept.append(each)
    return tuple(kept)


Awaited = Literal["copies", "moves", "lags", "rates", "quiet hours", "operators", "unknown"]
AWAITED: dict[Awaited, str] = {
    "copies": "copies that are being restored, or wait for a warm-up slot",
    "moves": "tasks that are on their way to another client",
    "lags": "lags that the brokers have not reported yet",
    "rates": "rates of the input, which count as weights once they are measured",
    "quiet hours": "the end of the quiet hours",
    "operators": "nothing: it gives operators their turn",
    "unknown": "an answer that does not say what it waits for",
}
"""Reason for a follow-up → its text."""


AT_REST: frozenset[Awaited] = frozenset({"operators", "quiet hours"})
"""Reasons for the follow-up of a group that does not move towards its target now."""


def find_awaited(state: ApplicationState, answer: TaskAssignment) -> Awaited | None:
    """Return the reason for the answer's first follow-up; None if it requests none."""
    delays = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    if not delays:
        return None
    options = state.options
    if answer.report.waiting or any(client.warmup for client in answer.clients):
        return "copies"
    if answer.plan is not None and not answer.report.stalled:
        return "moves"
    if any(UNKNOWN_LAG in client.lags.values() for client in state.clients):
        return "lags"
    if find_wait_for_rates_ms(state) is not None and options.hold == "none":
        return "rates"
    if options.hold_ends_ms is not None and min(delays) >= options.hold_ends_ms:
        return "quiet hours"
    return "operators" if options.idle_followup_ms else "unknown"


def asks_to_go_on(state: ApplicationState, answer: TaskAssignment) -> bool:
    """Return whether the answer requests a follow-up in order to reach its target: not that of a group at rest."""
    awaited = find_awaited(state, answer)
    return awaited is not None and awaited not in AT_REST
