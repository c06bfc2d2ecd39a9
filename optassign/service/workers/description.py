"""A rebalance in the words of the log: new clients, the distance to the plan, the clients that the follow-up awaits."""

from collections import Counter

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.explanation_text import outlook_to_text
from optassign.measuring.client_names import ClientNames
from optassign.measuring.outlook import estimate_outlook
from optassign_models.policy.input import DESCRIBED_CLIENTS

__all__ = ["describe_rebalance"]


def describe_rebalance(state: ApplicationState, answer: TaskAssignment) -> dict[str, str | list[str] | None]:
    """Field of the log -> its text; clients by process id and name, as the command line shows them."""
    label = ClientNames(state).label
    outlook = estimate_outlook(state, answer)
    known = {client.process_id for client in state.remembered.clients} if state.remembered is not None else None
    joined = [label(name) for name in state.kafka_streams_states if known is not None and name not in known]
    waits = Counter(entry.process_id for entry in answer.report.waiting)
    return {
        "outlook": None if outlook is None else outlook_to_text(outlook),
        "joined": _shorten(joined),
        "waits_on": _shorten([f"{label(name)}: {number:,}" for name, number in waits.most_common()]),
    }


def _shorten(names: list[str]) -> list[str]:
    more = len(names) - DESCRIBED_CLIENTS
    return [*names[:DESCRIBED_CLIENTS], f"and {more:,} more"] if more > 0 else names
