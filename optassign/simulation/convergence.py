"""Rebalance after rebalance until the group is at rest: how KIP-441's probing rebalances play out under an assignor."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from optassign.assignor import TaskAssignor, create
from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.judging.metrics import ConvergenceMeasures
from optassign.simulation.growth import Growth
from optassign.simulation.rebalances import PlayedRebalance, is_unaltered, limit_rebalances, play_rebalance, play_to_rest

__all__ = ["Convergence", "converge"]


@dataclass(frozen=True, slots=True)
class Convergence:
    """The rebalances from a snapshot until the group is at rest, and what they moved and restored."""

    rebalances: int
    """Until no follow-up is asked for; the one that looks whether the group rests is not among them."""
    moved_active: int
    """Each move interrupts its task."""
    moved_logged: int
    """The moves of logged tasks among these."""
    moved_more_than_once: int
    """Tasks that moved in more than one rebalance."""
    moves_repeated: int
    """Moves beyond the first of each task."""
    restored_offsets: int
    lower_bound: int | None
    """The least that any convergence from this snapshot restores, as the first answer proved it
    (docs/reference/rules.md, "Measures of a convergence"); None: no proof."""
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
            f" imbalance={dict(played.measures.imbalance)} violations={dict(played.measures.violations)}"
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
    """Assign, let everything be restored, assign again, until no follow-up is asked for; then check that the group is stable.

    max_rebalances: by default twice as many as warming up every copy there is would take, and some.
    keep_state: dropped state stays on its disk and grows old, instead of being deleted.
    memory: each snapshot remembers the answer before (without: not even the first does).
    growth: changelogs are written between rebalances, each by up to that share of a copy's restored offsets (exactly:
        `optassign.simulation.growth.Growth`); the seed decides by how much.
    time_limit: seconds of solving for each answer, of an assignor given by name.
    on_rebalance: called with each rebalance's number, from 1.

    An answer that breaks R1, R2 or the form ends it, unsettled. ValueError for an unknown assignor, a limit below 1 or a
    negative growth; AssignorError for an assignor that cannot be loaded or returns no answer at all.
    """
    limit = limit_rebalances(state) if max_rebalances is None else max_rebalances
    if limit < 1:
        raise ValueError(f"max_rebalances: found {limit}; allowed: 1 or more")
    chosen = create(assignor, time_limit=time_limit) if isinstance(assignor, str) else assignor
    if not memory and state.remembered is not None:
        state = state.model_copy(update={"remembered": None})
    grows = Growth(state, growth, seed) if growth else None
    history: list[PlayedRebalance] = []
    lower_bound: int | None = None
    last_look: PlayedRebalance | None = None
    settled = rests = False
    for step in play_to_rest(chosen, state, limit=limit, keep_state=keep_state, memory=memory, growth=grows):
        history.append(step.played)
        answer = step.answer
        if len(history) == 1:
            lower_bound = restore_work_bound(answer)
        if on_rebalance is not None:
            on_rebalance(len(history), step.played)
        if step.following is not None and not step.played.followup:
            settled = not step.played.stalled
            again, last_look = play_rebalance(chosen, step.following, {task for each in history for task in each.moved})
            rests = not last_look.followup and is_unaltered(answer, again)
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
