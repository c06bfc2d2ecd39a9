"""How far each client is from having each task's state: ranks and restore costs, for the judges of an answer.

Ranks are those of KIP-441, "Computing the most-caught-up instances". Two questions that the KIP leaves open are decided here:
the rank of a client whose lag is not known, and of one that reports nothing. Lags are offsets. A client that reports nothing of
a task has no state of it, and all such clients share one rank, so work and memory grow with the reported lags, not with tasks ×
clients. No solver, no arrays.
"""

from collections.abc import Collection, Mapping
from functools import cached_property

from optassign.formats.base import INT64_MAX
from optassign.formats.state import UNKNOWN_LAG, ApplicationState, KafkaStreamsState

_UNKNOWN_BUT_HOLDER = 1
_UNKNOWN = 2


class Ranks:
    """Ranks, lags and restore costs of one snapshot, by task id and process id; both have to be in the snapshot."""

    def __init__(self, state: ApplicationState) -> None:
        self._acceptable = state.configs.acceptable_recovery_lag
        self._clients: Mapping[str, KafkaStreamsState] = state.kafka_streams_states
        self._held: dict[str, frozenset[str]] = {}
        self._whole = state.full_lags

    @cached_property
    def _reported(self) -> Mapping[str, Mapping[str, int]]:
        """Logged task -> the lags that clients report; work in proportion to them, for who has to compare clients."""
        reported: dict[str, dict[str, int]] = {task: {} for task in self._whole}
        for process_id, client in self._clients.items():
            for task, lag in client.lags.items():
                reported[task][process_id] = lag
        return reported

    def of(self, task: str, process_id: str) -> int:
        """Rank of a client for a task: 0 is caught up, less is better; 0 for a task without a changelog."""
        lag = self._clients[process_id].lags.get(task)
        return 0 if lag is None and task not in self._whole else self._rank(task, process_id, lag)

    def _rank(self, task: str, process_id: str, lag: int | None) -> int:
        if lag is None:
            lag = self.whole_changelog(task)
        if lag > self._acceptable:
            return lag
        if lag == UNKNOWN_LAG and self._acceptable < INT64_MAX:  # at that limit every client is caught up
            return _UNKNOWN_BUT_HOLDER if self.is_holder(task, process_id) else _UNKNOWN
        return 0  # caught up, or running here (-2)

    def least(self, task: str, without: Collection[str] = ()) -> int | None:
        """The rank of the most caught up client that is not in `without`; None if every client is in it."""
        if task not in self._whole:
            return 0 if len(set(without)) < len(self._clients) else None
        reported = self._reported[task]
        ranks = [self._rank(task, client, lag) for client, lag in reported.items() if client not in without]
        if self._some_without_state(reported, without):
            ranks.append(self._rank(task, "", None))
        return min(ranks, default=None)

    def lag(self, task: str, process_id: str) -> int:
        """Offsets that the client has to replay before it has the state of a logged task, never negative.

        Running here: 0. Not known: 0 for a holder, otherwise the whole changelog. No state here: the whole changelog.
        """
        return self._offsets(task, process_id, self._clients[process_id].lags.get(task))

    def _offsets(self, task: str, process_id: str, lag: int | None) -> int:
        if lag is None or (lag == UNKNOWN_LAG and not self.is_holder(task, process_id)):
            return self.whole_changelog(task)
        return max(lag, 0)

    def least_lag(self, task: str, without: Collection[str] = ()) -> int | None:
        """The least `lag` of a logged task over the clients that are not in `without`; None if every client is in it."""
        reported = self._reported[task]
        lags = [self._offsets(task, client, lag) for client, lag in reported.items() if client not in without]
        if self._some_without_state(reported, without):
            lags.append(self.whole_changelog(task))
        return min(lags, default=None)

    def _some_without_state(self, reported: Mapping[str, int], without: Collection[str]) -> bool:
        """Whether some client outside `without` reports nothing, so that it has no state."""
        return len(self._clients) > len(reported) + sum(client not in reported for client in set(without))

    def restore_cost(self, task: str, process_id: str) -> int:
        """Offsets to replay for a copy on this client: nothing for rank 0, otherwise its `lag` (goal (b) of the plan)."""
        return self.lag(task, process_id) if self.of(task, process_id) else 0

    def whole_changelog(self, task: str) -> int:
        """Offsets that a client without state of a logged task has to replay: the changelog's end offset.

        If that is missing: more than any client reports, and not caught up, within int64.
        """
        return self._whole[task]

    def is_holder(self, task: str, process_id: str) -> bool:
        """Whether the client lists the task among its previous ones, so that there is some state of it on its disk."""
        held = self._held.get(process_id)
        if held is None:
            client = self._clients[process_id]
            held = self._held[process_id] = frozenset((*client.previous_active, *client.previous_standby))
        return task in held
