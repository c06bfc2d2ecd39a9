"""Rebalance after rebalance until the group is at rest: how KIP-441's probing rebalances play out under an assignor."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import asdict, dataclass
from typing import Any

from optassign.assignor import TaskAssignor, check_type, create
from optassign.formats.assignment import TaskAssignment, Waiting, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.goals.plan.active_moves import find_moved_actives
from optassign.judging.metrics import ConvergenceMeasures, Measures, measure
from optassign.measuring.placement import Placement
from optassign.simulation.growth import Growth
from optassign.simulation.successors import make_restored_snapshot
from optassign.utilities import validate_task_assignment

__all__ = ["Convergence", "PlayedRebalance", "converge"]

_NO_SUCCESSOR = ("format", "R1", "R2")
"""After an answer that breaks one of these there is no telling what comes next."""


@dataclass(frozen=True, slots=True)
class PlayedRebalance:
    """One answer of a convergence, measured."""

    measures: Measures
    moved: tuple[str, ...]
    """The tasks that `measures.active_moves` counts."""
    moves_repeated: int
    """How many of them had moved before in this convergence."""
    followup: bool
    """Whether a follow-up rebalance was asked for."""
    waiting: tuple[Waiting, ...]
    """The planned copies that the follow-up waits for."""
    stalled: bool
    """Whether the answer says that no warm-up makes progress."""
    restored_offsets: int
    """What is replayed until the next rebalance."""
    seconds: float
    """How long the assignor took."""

    def as_json(self) -> dict[str, Any]:
        """An entry of `history` in the JSON of a convergence."""
        return {
            "followup": self.followup,
            "stalled": self.stalled,
            "restored_offsets": self.restored_offsets,
            "seconds": round(self.seconds, 6),
            "balanced": self.measures.balanced,
            **asdict(self.measures),
            "moves_repeated": self.moves_repeated,
            "waiting": [entry.model_dump() for entry in self.waiting],
        }


@dataclass(frozen=True, slots=True)
class Convergence:
    """The rebalances from a snapshot until the group is at rest, and what they moved and restored."""

    rebalances: int
    """Until no follow-up is asked for; the one that looks whether the group rests is not among them."""
    moved_active: int
    """Each move is a pause of its task."""
    moved_logged: int
    """Of these, moves of logged tasks."""
    moved_more_than_once: int
    """Tasks that moved in more than one rebalance."""
    moves_repeated: int
    """Moves beyond the first of each task."""
    restored_offsets: int
    lower_bound: int | None
    """The least that any convergence from this snapshot restores, as the first answer proved it
    (docs/rules.md, "Measures of a convergence"); None: no proof."""
    settled: bool
    """Whether the last answer asked for no follow-up and was not stalled."""
    rests: bool
    """Asked once more after the last answer, the assignor did not alter it (R7), and asked for no follow-up (R8)."""
    violations: Mapping[str, int]
    """By rule, summed over all answers, that of the last look included."""
    answers: int
    """How many answers were judged: `rebalances`, and one more where it was asked whether the group rests."""
    history: tuple[PlayedRebalance, ...]
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
            "moved_logged": self.moved_logged,
            "moved_more_than_once": self.moved_more_than_once,
            "moves_repeated": self.moves_repeated,
            "restored_offsets": self.restored_offsets,
            "lower_bound": self.lower_bound,
            "stable": self.stable,
            "violations": dict(self.violations),
            "history": [played.as_json() for played in self.history],
            "final": self.final.model_dump(mode="json"),
        }

    def __str__(self) -> str:
        """The whole history, one line a rebalance: for the message of a test that fails."""
        lines = [
            f"{n:4} followup={played.followup} waiting={len(played.waiting)} warmups={played.measures.warmups}"
            f" moves={played.measures.active_moves} repeated={played.moves_repeated} restored={played.restored_offsets}"
            f" excess={dict(played.measures.excess)} violations={dict(played.measures.violations)}"
            for n, played in enumerate(self.history, start=1)
        ]
        end = f"settled={self.settled} rests={self.rests} restored={self.restored_offsets} bound={self.lower_bound}"
        return "\n".join([*lines, f"{end} violations={dict(self.violations)}"])


def converge(
    state: ApplicationState,
    assignor: str | TaskAssignor = "cp-sat",
    *,
    max_rebalances: int | None = None,
    keep_state: bool = False,
    memory: bool = True,
    growth: float = 0.0,
    seed: int = 0,
    time_limit: float = 10.0,
    on_rebalance: Callable[[int, PlayedRebalance], None] | None = None,
) -> Convergence:
    """Assign, let everything be restored, assign again, until no follow-up is asked for; then look whether the group rests.

    max_rebalances: by default twice as many as warming up every copy there is would take, and some. keep_state: dropped state
    stays on its disk and grows old, instead of being deleted. memory: each snapshot remembers the answer before (without: not
    even the first does). growth: changelogs are written between rebalances, each by up to that share of what a copy restores
    meanwhile (exactly: `optassign.simulation.growth.Growth`); the seed decides by how much. time_limit: seconds of solving for
    each answer, of an assignor given by name. on_rebalance: called with each rebalance's number, from 1.

    An answer that breaks R1, R2 or the form ends it, unsettled. ValueError for an unknown assignor, a limit below 1 or a
    negative growth; AssignorError for an assignor that cannot be loaded or returns no answer at all.
    """
    limit = _limit_rebalances(state) if max_rebalances is None else max_rebalances
    if limit < 1:
        raise ValueError(f"max_rebalances: found {limit}; allowed: 1 or more")
    chosen = create(assignor, time_limit=time_limit) if isinstance(assignor, str) else assignor
    if not memory and state.remembered is not None:
        state = state.model_copy(update={"remembered": None})
    grows = Growth(state, growth, seed) if growth else None
    moved: set[str] = set()
    history: list[PlayedRebalance] = []
    lower_bound: int | None = None
    last_look: PlayedRebalance | None = None
    settled = rests = False
    while True:
        answer, played = _play(chosen, state, moved)
        history.append(played)
        moved.update(played.moved)
        if len(history) == 1:
            lower_bound = restore_work_bound(answer)
        if on_rebalance is not None:
            on_rebalance(len(history), played)
        if any(rule in played.measures.violations for rule in _NO_SUCCESSOR):
            break
        state = make_restored_snapshot(state, answer, keep_state=keep_state, memory=memory, growth=grows)
        if not played.followup:
            settled = not played.stalled
            again, last_look = _play(chosen, state, moved)
            rests = not last_look.followup and _list_copies(again) == _list_copies(answer)
            break
        if len(history) == limit:
            break
    total, violations = ConvergenceMeasures(), Counter[str]()
    for played in history:
        total = total.then(played.measures, followup=played.followup, moved=played.moved)
    judged = history if last_look is None else [*history, last_look]
    for played in judged:
        violations.update(played.measures.violations)
    return Convergence(
        rebalances=total.rebalances,
        moved_active=total.active_moves,
        moved_logged=total.active_moves_logged,
        moved_more_than_once=total.moved_more_than_once,
        moves_repeated=total.moves_repeated,
        restored_offsets=total.restored_offsets,
        lower_bound=lower_bound,
        settled=settled,
        rests=rests,
        violations=dict(sorted(violations.items())),
        answers=len(judged),
        history=tuple(history),
        final=answer,
        measures=total,
    )


def _limit_rebalances(state: ApplicationState) -> int:
    """Twice as many rebalances as slots are needed to warm up every copy there is, and some."""
    copies = sum(task.logged for task in state.tasks) * (min(state.configs.num_standby_replicas, len(state.clients)) + 1)
    return 20 + 2 * math.ceil(copies / state.configs.max_warmup_replicas)


def _play(assignor: TaskAssignor, state: ApplicationState, moved_before: Set[str]) -> tuple[TaskAssignment, PlayedRebalance]:
    # Not by `assign`, which refuses an answer that Kafka would refuse: here it is to be counted.
    start = time.perf_counter()
    assignor.configure(state.configs)
    answer = check_type(assignor.assign(state), assignor)
    seconds = answer.seconds_elsewhere or time.perf_counter() - start
    assignor.on_assignment_computed(state, answer, validate_task_assignment(state, answer))
    measures = measure(state, answer)
    moved = tuple(find_moved_actives(state, Placement.of(state, answer)))
    return answer, PlayedRebalance(
        measures=measures,
        moved=moved,
        moves_repeated=sum(task in moved_before for task in moved),
        followup=any(client.followup_rebalance_ms is not None for client in answer.clients),
        waiting=answer.report.waiting,
        stalled=answer.report.stalled,
        restored_offsets=measures.restore_work + measures.warmup_work,
        seconds=seconds,
    )


def _list_copies(answer: TaskAssignment) -> list[tuple[object, ...]]:
    """What every client gets, in which role."""
    return [(client.process_id, client.active, client.standby, client.warmup) for client in answer.clients]
