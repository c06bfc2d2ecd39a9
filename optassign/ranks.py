"""How far each client is from having each task's state: ranks and restore costs, for the judges of an answer.

Rank as in KIP-441, "Computing the most-caught-up instances", with what the KIP leaves open settled: a lag that is not
known, and state nobody reports. Lags are offsets. Sparse: a client that reports nothing of a task has no state of it,
and all such clients share one rank, so work and memory follow the lags at hand, not tasks × clients. No solver, no
arrays.
"""

from collections.abc import Collection, Mapping

from optassign.state import UNKNOWN_LAG, ApplicationState, KafkaStreamsState

_INT64_MAX = 2**63 - 1
_UNKNOWN_BUT_HOLDER = 1
_UNKNOWN = 2


class Ranks:
    """Ranks, lags and restore costs of one snapshot, looked up by task id and process id.

    Unknown ids are not looked for: a task without a changelog and a client without state are answered alike.
    """

    def __init__(self, state: ApplicationState) -> None:
        self._acceptable = state.configs.acceptable_recovery_lag
        self._clients: Mapping[str, KafkaStreamsState] = state.kafka_streams_states
        self._held: dict[str, frozenset[str]] = {}
        self._lags: dict[str, dict[str, int]] = {task.id: {} for task in state.tasks if task.logged}
        for client in state.clients:
            process_id = client.process_id
            for task, lag in client.lags.items():
                self._lags[task][process_id] = lag
        self._whole: dict[str, int] = {}
        self._ranks: dict[str, dict[str, int]] = {}
        self._least: dict[str, int] = {}
        for info in state.tasks:
            if info.logged:
                self._rank(info.id, info.changelog_end_offset)

    def _rank(self, task: str, end_offset: int | None) -> None:
        lags, acceptable = self._lags[task], self._acceptable
        if end_offset is None:
            # Not known: more than anybody reports, and not caught up (except where int64 itself is caught up).
            end_offset = min(max(acceptable, max(lags.values(), default=0)) + 1, _INT64_MAX)
        self._whole[task] = end_offset
        # -2, running here, is below every acceptable lag.
        ranks = {process_id: lag if lag > acceptable else 0 for process_id, lag in lags.items()}
        if UNKNOWN_LAG in lags.values() and acceptable < _INT64_MAX:
            for process_id, lag in lags.items():
                if lag == UNKNOWN_LAG:
                    ranks[process_id] = _UNKNOWN_BUT_HOLDER if self.is_holder(task, process_id) else _UNKNOWN
        self._ranks[task] = ranks
        least = min(ranks.values(), default=_INT64_MAX)
        self._least[task] = min(least, self._without_state(task)) if len(ranks) < len(self._clients) else least

    def _without_state(self, task: str) -> int:
        """Rank of every client that has no state of a logged task."""
        whole = self._whole[task]
        return whole if whole > self._acceptable else 0

    def of(self, task: str, process_id: str) -> int:
        """Rank of a client for a task: 0 is caught up, less is better; 0 for a task without a changelog."""
        ranks = self._ranks.get(task)
        if ranks is None:
            return 0
        rank = ranks.get(process_id)
        return self._without_state(task) if rank is None else rank

    def least(self, task: str) -> int:
        """The rank of the most caught up, over all clients of the snapshot."""
        return self._least.get(task, 0)

    def least_left_out(self, task: str, copies: Collection[str]) -> int | None:
        """The least rank for a logged task of a client that is not in `copies`; None if every client is."""
        return _least_left_out(self._ranks[task], self._without_state(task), copies, len(self._clients))

    def is_holder(self, task: str, process_id: str) -> bool:
        """Whether the client lists the task among its previous ones, so that there is some state of it on its disk."""
        held = self._held.get(process_id)
        if held is None:
            client = self._clients[process_id]
            held = self._held[process_id] = frozenset((*client.previous_active, *client.previous_standby))
        return task in held

    def whole_changelog(self, task: str) -> int:
        """Offsets that a client without state of a logged task has to replay (formats, "ApplicationState")."""
        return self._whole[task]

    def lag(self, task: str, process_id: str) -> int:
        """Offsets that the client has to replay before it has the state of a logged task, never negative.

        Running here: 0. Not known: 0 for a holder, else the whole changelog. No state here: the whole changelog.
        """
        lag = self._lags[task].get(process_id)
        return self._whole[task] if lag is None else self._offsets(task, process_id, lag)

    def _offsets(self, task: str, process_id: str, lag: int) -> int:
        if lag == UNKNOWN_LAG:
            return 0 if self.is_holder(task, process_id) else self._whole[task]
        return max(lag, 0)

    def least_lag(self, task: str, without: Collection[str] = ()) -> int | None:
        """The least `lag` of a logged task over the clients that are not in `without`; None if every client is."""
        lags = {process_id: self._offsets(task, process_id, lag) for process_id, lag in self._lags[task].items()}
        return _least_left_out(lags, self._whole[task], without, len(self._clients))

    def restore_cost(self, task: str, process_id: str) -> int:
        """Offsets to replay for a copy on this client: nothing for rank 0, else its `lag` (goal (b) of the plan)."""
        return self.lag(task, process_id) if self.of(task, process_id) else 0


def ranks(state: ApplicationState) -> Ranks:
    """The ranks of a snapshot; work in proportion to its tasks and reported lags."""
    return Ranks(state)


def _least_left_out(values: Mapping[str, int], of_others: int, copies: Collection[str], clients: int) -> int | None:
    """The least value of a client that is not in `copies`; clients that are not in `values` all have `of_others`."""
    copies = set(copies)
    least = min((value for process_id, value in values.items() if process_id not in copies), default=None)
    others = clients - len(values) - sum(process_id not in values for process_id in copies)
    if others > 0 and (least is None or of_others < least):
        return of_others
    return least
