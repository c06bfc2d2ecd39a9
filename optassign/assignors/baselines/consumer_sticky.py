"""The baseline `consumer-sticky`: tasks dealt as partitions by Kafka's consumer (KIP-54; KIP-441, "related work").

The consumer's StickyAssignor, and KIP-429's CooperativeStickyAssignor with the same algorithm, know members and partitions, but
neither state nor lags. Here a *member* is one consumer: each of the client's `consumers` if the snapshot lists them, otherwise
one for each thread. Threads get the client's previous actives in turn, in the order of their ids. A task is a partition: its
subtopology is the topic. All members subscribe to all topics, which is Kafka's constrained case:

    1. With P partitions and M members, P mod M members get ⌈P/M⌉ (the maximum quota), the others ⌊P/M⌋ (the minimum quota).
    2. Members, by id, keep their own partitions: all of them below the minimum quota; the maximum quota if they own that many
       and fewer than P mod M members have it yet; otherwise the minimum quota. They keep the smallest partition numbers, among
       equals the smallest topic.
    3. The remaining partitions go, by topic and partition, in turn to the members below the minimum quota, one each. Then they
       go to members at the minimum quota: first those at it after step 2, by id, then the others in the order of reaching it.

A task that two members claim has no owner, as for the consumer. In step 2, Kafka visits members in the order of a hash table;
here it is the order of ids, so that equal snapshots have equal answers. Owned actives stay if asked again, unless `consumers`
are listed and a task moved within a client, which an answer by client does not show.

The consumer has no standbys. To make answers comparable, each logged task, in the order of ids, gets min(num_standby_replicas,
clients − 1) standbys. Each is on the client without a copy that has the fewest tasks (actives and standbys) per member, then on
the smallest id. There are no warm-ups and no follow-up; draining is ignored.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

from optassign.assignors.baselines.baseline import Baseline, PartitionLoads, Placed
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.formats.task_id import TaskId
from optassign_models.problem import make_placement
from optassign_models.solving.situation import Situation


class ConsumerStickyAssignor(Baseline):
    """Kafka's consumer StickyAssignor over tasks; see the module."""

    name = "consumer-sticky"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Deal actives as the consumer's assignor deals partitions; give standbys to the least loaded."""
        problem = situation.problem
        members = _list_members(state, situation)
        _keep_owned(members, situation.inventory.tasks)
        _fill_members(members, problem.T)
        active = np.full(problem.T, -1, dtype=np.int64)
        for member in members:
            active[member.tasks] = member.client

        numbers = np.bincount([member.client for member in members], minlength=problem.C).astype(np.int64)
        loads = PartitionLoads(numbers, problem.T * (1 + problem.standbys))
        for client in active.tolist():
            loads.give(client)
        standbys: list[int] = []
        for task in np.flatnonzero(problem.logged).tolist():
            copies = [int(active[task])]
            for _ in range(problem.standbys):
                copies.append(loads.find_least_loaded(copies))
                loads.give(copies[-1])
            standbys += [task * problem.C + client for client in copies[1:]]
        notes = ("clients that drain are dealt tasks like any other",) if problem.draining.any() else ()
        return Placed(make_placement(active, np.array(standbys, dtype=np.int64), problem.C), notes=notes)


@dataclass(slots=True, eq=False)
class _Member:
    """One consumer."""

    client: int
    """Its client."""
    owned: list[int]
    """Its previous tasks."""
    tasks: list[int] = field(default_factory=list)
    """Its new tasks."""


def _list_members(state: ApplicationState, situation: Situation) -> list[_Member]:
    """Return all members, by client and consumer; a task that two members claim is owned by neither."""
    index = {task: t for t, task in enumerate(situation.inventory.tasks)}
    members = [
        _Member(c, [index[task] for task in owned])
        for c, client in enumerate(state.clients)
        for owned in _split_owned(client, len(index))
    ]
    claims = Counter(task for member in members for task in member.owned)
    for member in members:
        member.owned = [task for task in member.owned if claims[task] == 1]
    return members


def _split_owned(client: KafkaStreamsState, tasks: int) -> list[tuple[str, ...]]:
    """Return the client's own tasks per member: as its consumers list them, otherwise in turn, one member per thread."""
    if client.consumers:
        return [client.consumers[name] for name in sorted(client.consumers)]
    # One member more than there are tasks is enough: further members would get nothing.
    number = min(client.threads, tasks + 1)
    return [client.previous_active[i::number] for i in range(number)]


def _keep_owned(members: list[_Member], tasks: tuple[str, ...]) -> None:
    """Let members keep their own tasks, up to their quota (step 2)."""
    least, over = divmod(len(tasks), len(members))
    # Tasks are sorted by topic, so their indices tell equal partitions apart.
    order = [(TaskId.parse(task).partition, t) for t, task in enumerate(tasks)]
    for member in members:
        owned = sorted(member.owned, key=order.__getitem__)
        one_more = over > 0 and len(owned) > least
        over -= one_more
        member.tasks = owned[: least + one_more]


def _fill_members(members: list[_Member], tasks: int) -> None:
    """Give the remaining tasks to the members below the minimum quota, then to those at it (step 3)."""
    least = tasks // len(members)
    kept = {task for member in members for task in member.tasks}
    below = deque(member for member in members if len(member.tasks) < least)
    at_least = deque(member for member in members if len(member.tasks) == least)
    for task in range(tasks):
        if task in kept:
            continue
        member = (below or at_least).popleft()
        member.tasks.append(task)
        if len(member.tasks) < least:
            below.append(member)
        elif len(member.tasks) == least:
            at_least.append(member)
