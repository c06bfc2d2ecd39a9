"""The reason for an answer's follow-up, in a word (docs/reference/rules.md, "R8")."""

from typing import Literal

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import UNKNOWN_LAG, ApplicationState
from optassign.measuring.input_rates import find_wait_for_rates_ms

__all__ = ["AWAITED", "Awaited", "find_awaited"]

Awaited = Literal["copies", "moves", "lags", "rates", "quiet hours", "operators", "not told"]
AWAITED: dict[Awaited, str] = {
    "copies": "copies that are being restored, or wait for a warm-up slot",
    "moves": "tasks that are on their way to another client",
    "lags": "lags that the brokers have not told yet",
    "rates": "rates of the input, which count as weights once they are measured",
    "quiet hours": "the end of the quiet hours",
    "operators": "nothing: it gives operators their turn",
    "not told": "an answer that does not say what it waits for",
}
"""The reason for a follow-up -> the same in words."""


def find_awaited(state: ApplicationState, answer: TaskAssignment) -> Awaited | None:
    """Find the reason for the first follow-up that the answer asks for; None: it asks for none."""
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
    return "not told" if options.idle_followup_ms is None else "operators"
