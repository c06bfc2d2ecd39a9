"""Lags as clients report them, raw, for assignors that do as Kafka does.

Kafka compares them as they come: not known (−3) sorts before running here (−2), and this before all others. Tasks and
clients are numbers, in Kafka's order. Lags that a client does not report, or reports as the whole changelog, take no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optassign.formats.state import RUNNING, ApplicationState, KafkaStreamsState


class ReportedLags:
    """Lags of the logged tasks."""

    def __init__(self, state: ApplicationState, clients: Sequence[KafkaStreamsState]) -> None:
        """clients: in the order of their numbers."""
        self._clients = len(clients)
        self._acceptable = state.configs.acceptable_recovery_lag
        self._full = [state.full_lags.get(task.id, 0) for task in state.tasks]
        number = {task.id: t for t, task in enumerate(state.tasks)}
        self._reported: list[dict[int, int]] = [{} for _ in state.tasks]
        for c, client in enumerate(clients):
            for task_id, lag in client.lags.items():
                task = number[task_id]
                if lag != self._full[task]:
                    self._reported[task][c] = lag
        self._caught_up = [self._find_caught_up(task) for task in range(len(state.tasks))]

    def of(self, task: int, client: int) -> int:
        """Offsets; −2 running here, −3 not known."""
        return self._reported[task].get(client, self._full[task])

    def list_caught_up(self, task: int) -> Sequence[int]:
        """The clients that are running the task or are near enough, ascending."""
        return self._caught_up[task]

    def is_caught_up(self, task: int, client: int) -> bool:
        """Whether the client is one of those."""
        return self._is_near_enough(self.of(task, client))

    def order_by_lag(self, task: int) -> Iterator[int]:
        """All clients, the least lag first, then the least number."""
        full, reported = self._full[task], self._reported[task]
        by_lag = sorted(reported, key=lambda client: (reported[client], client))
        yield from (client for client in by_lag if reported[client] < full)
        yield from (client for client in range(self._clients) if client not in reported)
        yield from (client for client in by_lag if reported[client] > full)

    def should_move(self, task: int, client: int) -> bool:
        """Whether the client is not caught up while another one lags less."""
        lag = self.of(task, client)
        return not self._is_near_enough(lag) and self.of(task, next(self.order_by_lag(task))) < lag

    def _find_caught_up(self, task: int) -> Sequence[int]:
        """The clients that are caught up on a task, ascending."""
        reported = self._reported[task]
        if not self._is_near_enough(self._full[task]):
            return [client for client, lag in reported.items() if self._is_near_enough(lag)]
        near = range(self._clients)
        if all(map(self._is_near_enough, reported.values())):
            return near
        return [client for client in near if self.is_caught_up(task, client)]

    def _is_near_enough(self, lag: int) -> bool:
        """Whether a client of that lag counts as caught up."""
        # If any lag is acceptable, Kafka also accepts an unknown one; but then nothing has to move.
        return lag == RUNNING or 0 <= lag <= self._acceptable
