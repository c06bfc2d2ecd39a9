"""Whether the rates of the input count as what tasks weigh, and from when on
(docs/reference/rules.md, "Balanced under load")."""

from optassign.formats.base import format_ms, to_ms
from optassign.formats.state import ApplicationState
from optassign.formats.weighing import counts_as_weight, find_counting_ms, find_fixed_weight
from optassign.measuring.load import would_balance_load
from optassign_models.policy.input import LEAST_MEASURED_MS

__all__ = ["find_counting_time", "find_wait_for_rates_ms", "list_uncounted"]


def list_uncounted(state: ApplicationState) -> list[str]:
    """The tasks whose input is measured, and not for long enough yet; not those whose weight the options name."""
    rows = () if state.rates is None else state.rates.tasks
    here = (row for row in rows if row.task in state.all_tasks and find_fixed_weight(row.task, state.options) is None)
    return [row.task for row in here if not counts_as_weight(row)]


def find_counting_time(state: ApplicationState) -> str | None:
    """From when on all rates count, if the broker goes on telling the offsets; None where they do, or are not asked for."""
    at = find_counting_ms(state.rates) if list_uncounted(state) else None
    return None if at is None else format_ms(at)


def find_wait_for_rates_ms(state: ApplicationState) -> int | None:
    """How long it is until rates count that do not yet; None where there is nothing to wait for.

    None also if that time is past, because the broker told no offsets, or if no time has passed since the remembered answer:
    then rebalances are being played.
    """
    if not would_balance_load(state.options) or state.taken_at is None or not list_uncounted(state):
        return None
    at = find_counting_ms(state.rates)
    if at is None:
        return None
    before = None if state.remembered is None else state.remembered.report.rates
    now = to_ms(state.taken_at)
    if before is not None and to_ms(before.taken_at) == now:
        return None
    assert state.rates is not None, "it has a time"
    # Sooner than a second after offsets were told last, nothing is measured: what is full in between is seen then.
    at = max(at, to_ms(state.rates.taken_at) + LEAST_MEASURED_MS)
    return at - now if at > now else None
