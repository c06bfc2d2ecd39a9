"""Rebalance after rebalance until the group is at rest: how KIP-441's probing rebalances play out under an assignor."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from optassign.assignor import TaskAssignor, create
from optassign.formats.assignment import TaskAssignment, Waiting, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.judging.metrics import ConvergenceMeasures, Measures, measure
from optassign.simulation.successors import after_restoration, second_pass
from optassign.utilities import validate_task_assignment

__all__ = [
    "Convergence",
    "Step",
    "after_restoration",
    "converge",
    "default_max_rebalances",
    "restore_work_bound",
    "second_pass",
]

_NO_SUCCESSOR = ("format", "R1", "R2")
"""After an answer that breaks one of these there is no telling what comes next."""


@dataclass(frozen=True, slots=True)
class Step:
    """One rebalance."""

    measures: Measures
    followup: bool
    """Whether a follow-up rebalance was asked for."""
    waiting: tuple[Waiting, ...]
    """The planned copies it waits for."""
    stalled: bool
    restored_offsets: int
    """What is replayed until the next rebalance."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """As in the `history` of the JSON."""
        return {
            "followup": self.followup,
            "stalled": self.stalled,
            "restored_offsets": self.restored_offsets,
            "seconds": round(self.seconds, 6),
            "balanced": self.measures.balanced,
            **asdict(self.measures),
            "waiting": [entry.model_dump() for entry in self.waiting],
        }


@dataclass(frozen=True, slots=True)
class Convergence:
    """What came of it. `stable`: it settled (no follow-up asked for, not stalled) and rests."""

    rebalances: int
    """Until no follow-up is asked for; the look whether it rests is not among them."""
    moved_active: int
    restored_offsets: int
    lower_bound: int | None
    """The least that any convergence restores (docs/rules.md, "Measures of a convergence"), as the first answer proved it."""
    settled: bool
    rests: bool
    """Asked once more after the last answer, the assignor did not alter it (R7), and asked for no follow-up (R8)."""
    violations: Mapping[str, int]
    """By rule, summed over all answers; those of the last look count too."""
    answers: int
    """How many answers were judged: `rebalances`, and one more where it was asked whether it rests."""
    history: tuple[Step, ...]
    final: TaskAssignment
    measures: ConvergenceMeasures
    """Summed over the history."""

    @property
    def stable(self) -> bool:
        """Whether it settled and rests."""
        return self.settled and self.rests

    def as_json(self) -> dict[str, Any]:
        """As `optassign converge --format json` prints it."""
        return {
            "rebalances": self.rebalances,
            "moved_active": self.moved_active,
            "restored_offsets": self.restored_offsets,
            "lower_bound": self.lower_bound,
            "stable": self.stable,
            "violations": dict(self.violations),
            "history": [step.as_json() for step in self.history],
            "final": self.final.model_dump(mode="json"),
        }

    def __str__(self) -> str:
        """The whole history, one line a rebalance: for the message of a test that fails."""
        lines = [
            f"{n:4} followup={step.followup} waiting={len(step.waiting)} warmups={step.measures.warmups}"
            f" moves={step.measures.active_moves} restored={step.restored_offsets} excess={dict(step.measures.excess)}"
            f" violations={dict(step.measures.violations)}"
            for n, step in enumerate(self.history, start=1)
        ]
        end = f"settled={self.settled} rests={self.rests} restored={self.restored_offsets} bound={self.lower_bound}"
        return "\n".join([*lines, f"{end} violations={dict(self.violations)}"])


def default_max_rebalances(state: ApplicationState) -> int:
    """Twice as many rebalances as slots are needed to warm up every copy there is, and some."""
    copies = sum(task.logged for task in state.tasks) * (min(state.configs.num_standby_replicas, len(state.clients)) + 1)
    return 20 + 2 * math.ceil(copies / state.configs.max_warmup_replicas)


def converge(
    state: ApplicationState,
    assignor: str | TaskAssignor = "cp-sat",
    *,
    max_rebalances: int | None = None,
    keep_state: bool = False,
    memory: bool = True,
    time_limit: float = 10.0,
    on_step: Callable[[int, Step], None] | None = None,
) -> Convergence:
    """Assign, let everything be restored, assign again, until no follow-up is asked for; then look whether it rests.

    max_rebalances: by default `default_max_rebalances`. keep_state: dropped state stays on its disk and grows old, instead
    of being deleted. memory: each snapshot remembers the answer before (without: not even the first does). time_limit:
    seconds of solving for each answer, of an assignor given by name. on_step: called with each rebalance's number, from 1.

    An answer that breaks R1, R2 or the form ends it, unsettled. ValueError for an unknown assignor or a limit below 1.
    """
    limit = default_max_rebalances(state) if max_rebalances is None else max_rebalances
    if limit < 1:
        raise ValueError(f"max_rebalances: found {limit}; allowed: 1 or more")
    chosen = create(assignor, time_limit=time_limit) if isinstance(assignor, str) else assignor
    if not memory and state.remembered is not None:
        state = state.model_copy(update={"remembered": None})
    history: list[Step] = []
    total, violations = ConvergenceMeasures(), Counter[str]()
    lower_bound: int | None = None
    rests = False
    answers = 0
    while True:
        answer, step = _step(chosen, state)
        answers += 1
        history.append(step)
        total = total.then(step.measures, followup=step.followup, restored_offsets=step.restored_offsets)
        violations.update(step.measures.violations)
        if len(history) == 1:
            lower_bound = restore_work_bound(answer)
        if on_step is not None:
            on_step(len(history), step)
        if any(rule in step.measures.violations for rule in _NO_SUCCESSOR):
            settled = False
            break
        state = after_restoration(state, answer, keep_state=keep_state, memory=memory)
        settled = not step.followup and not step.stalled
        if not step.followup:
            again, look = _step(chosen, state)
            answers += 1
            rests = not look.followup and _same_copies(answer, again)
            violations.update(look.measures.violations)
            break
        if len(history) == limit:
            break
    return Convergence(
        rebalances=total.rebalances,
        moved_active=total.active_moves,
        restored_offsets=total.restored_offsets,
        lower_bound=lower_bound,
        settled=settled,
        rests=rests,
        violations=dict(sorted(violations.items())),
        answers=answers,
        history=tuple(history),
        final=answer,
        measures=total,
    )


def _step(assignor: TaskAssignor, state: ApplicationState) -> tuple[TaskAssignment, Step]:
    # Not by `assign`, which refuses an answer that Kafka would refuse: here it is to be counted.
    start = time.perf_counter()
    assignor.configure(state.configs)
    answer = assignor.assign(state)
    seconds = answer.seconds_elsewhere or time.perf_counter() - start
    assignor.on_assignment_computed(state, answer, validate_task_assignment(state, answer))
    measures = measure(state, answer)
    return answer, Step(
        measures=measures,
        followup=any(client.followup_rebalance_ms is not None for client in answer.clients),
        waiting=answer.report.waiting,
        stalled=answer.report.stalled,
        restored_offsets=measures.restore_work + measures.warmup_work,
        seconds=seconds,
    )


def _same_copies(one: TaskAssignment, other: TaskAssignment) -> bool:
    """Whether both give every client the same tasks in the same roles."""

    def copies(answer: TaskAssignment) -> list[tuple[object, ...]]:
        return [(c.process_id, c.active, c.standby, c.warmup) for c in answer.clients]

    return copies(one) == copies(other)
