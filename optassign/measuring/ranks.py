"""Distance of each client from each task's state: ranks and restore costs.

Ranks are those of KIP-441, "Computing the most-caught-up instances". Two cases that the KIP leaves open are decided here: the
rank of a client whose lag is unknown, and of a client that reports nothing. Lags are offsets. Clients that report nothing of a
task have no state of it and share one rank, so time and memory grow with the reported lags, not with tasks × clients. No
solver, no arrays.
"""

from collections.abc import Collection, Mapping
from functools import cached_property

from optassign.formats.base import INT64_MAX
from optassign.formats.state import UNKNOWN_LAG, ApplicationState, KafkaStreamsState

_UNKNOWN_BUT_HOLDER = 1
_UNKNOWN = 2


class Ranks:
    """Ranks, lags and restore costs by task id and process id, both of which must be in the snapshot."""

    def __init__(self, state: ApplicationState) -> None:
        self._acceptable = state.configs.acceptable_recovery_lag
        self._clients: Mapping[str, KafkaStreamsState] = state.kafka_streams_states
        self._held: dict[str, frozenset[str]] = {}
        self._whole = state.full_lags

    @cached_property
    def _reported(self) -> Mapping[str, Mapping[str, int]]:
        """Logged task → process id → reported lag."""
        reported: dict[str, dict[str, int]] = {task: {} for task in self._whole}
        for process_id, client in self._clients.items():
            for task, lag in client.lags.items():
                reported[task][process_id] = lag
        return reported

    def of(self, task: str, process_id: str) -> int:
        """Return the client's rank for a task: 0 if caught up or if the task has no changelog; less is better."""
        lag = self._clients[process_id].lags.get(task)
        if (lag is None and task not in self._whole) or (lag is not None and UNKNOWN_LAG < lag <= self._acceptable):
            return 0  # the case of nearly all copies, so without a further call
        return self._rank(task, process_id, lag)

    def _rank(self, task: str, process_id: str, lag: int | None) -> int:
        if lag is None:
            lag = self.whole_changelog(task)
        if lag > self._acceptable:
            return lag
        if lag == UNKNOWN_LAG and self._acceptable < INT64_MAX:  # at that limit every client is caught up
            return _UNKNOWN_BUT_HOLDER if self.is_holder(task, process_id) else _UNKNOWN
        return 0  # caught up, or running here (-2)

    def least(self, task: str, without: Collection[str] = ()) -> int | None:
        """Return the least rank of the clients outside `without`; None if there is no such client."""
        if task not in self._whole:
            return 0 if len(set(without)) < len(self._clients) else None
        reported = self._reported[task]
        ranks = [self._rank(task, client, lag) for client, lag in reported.items() if client not in without]
        if self._some_without_state(reported, without):
            ranks.append(self._rank(task, "", None))
        return min(ranks, default=None)

    def lag(self, task: str, process_id: str) -> int:
        """Return the offsets that the client has to replay for a logged task; never negative.

        0 if the task runs here. If the lag is unknown: 0 for a holder, otherwise the whole changelog, as for a client without
        state.
        """
        return self._offsets(task, process_id, self._clients[process_id].lags.get(task))

    def _offsets(self, task: str, process_id: str, lag: int | None) -> int:
        if lag is None or (lag == UNKNOWN_LAG and not self.is_holder(task, process_id)):
            return self.whole_changelog(task)
        return max(lag, 0)

    def least_lag(self, task: str, without: Collection[str] = ()) -> int | None:
        """Return the least `lag` of a logged task over the clients outside `without`; None if there is no such client."""
        reported = self._reported[task]
        lags = [self._offsets(task, client, lag) for client, lag in reported.items() if client not in without]
        if self._some_without_state(reported, without):
            lags.append(self.whole_changelog(task))
        return min(lags, default=None)

    def list_best(self, task: str, places: int, without: Collection[str] = ()) -> list[tuple[int, int]]:
        """Return (rank, restore cost) of the `places` clients outside `without` closest to a logged task's state, in order.

        Fewer if there are not so many clients.
        """
        reported = [client for client in self._reported[task] if client not in without]
        found = [(self.of(task, client), self.restore_cost(task, client)) for client in reported]
        rank = self._rank(task, "", None)
        without_report = len(self._clients) - len(reported) - len(set(without))
        found += [(rank, self.whole_changelog(task) if rank else 0)] * min(places, without_report)
        return sorted(found)[:places]

    def _some_without_state(self, reported: Mapping[str, int], without: Collection[str]) -> bool:
        """Return whether a client outside `without` reports nothing of the task."""
        return len(self._clients) > len(reported) + sum(client not in reported for client in set(without))

    def restore_cost(self, task: str, process_id: str) -> int:
        """Return the offsets to replay for a copy on this client: 0 for rank 0, otherwise its `lag` (goal (b))."""
        return self.lag(task, process_id) if self.of(task, process_id) else 0

    def whole_changelog(self, task: str) -> int:
        """Return the offsets that a client without state of a logged task has to replay: the changelog's end offset.

        If that is unknown: 1 + the greater of the greatest reported lag and `acceptable_recovery_lag`, within int64.
        """
        return self._whole[task]

    def is_holder(self, task: str, process_id: str) -> bool:
        """Return whether the client lists the task as previously active or standby, and so has state of it on disk."""
        held = self._held.get(process_id)
        if held is None:
            client = self._clients[process_id]
            held = self._held[process_id] = frozenset((*client.previous_active, *client.previous_standby))
        return task in held
