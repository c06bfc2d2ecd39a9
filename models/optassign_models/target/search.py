"""Searches the best placement: states the program, solves it, deals places to tasks, and looks again where that costs more.

A program is stated again with more steps where a count is further from its share than it has steps for; with places told apart
where merged places had not the room; with pools written out as candidates where their copies could not be dealt; and at last
with all pairs of task and client, if they are few. Every program is a relaxation, so its bounds hold for all placements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from optassign_models.forced import Forced, keeps_r3_to_r5, prepare
from optassign_models.goals import GoalModel, evaluate
from optassign_models.limits import Kind, PlacementLimit, list_broken
from optassign_models.policy.constants import (
    ALL_PAIRS,
    POOLED_ROUNDS,
    RESTATED_PROGRAMS,
    SECONDS_PER_VARIABLE,
    SMALL_PAIRS,
    TOLD_APART_ROUNDS,
)
from optassign_models.pools import Zones, find_zones
from optassign_models.problem import BoolArray, IntArray, Placement, Problem
from optassign_models.results import ProvedBy
from optassign_models.shares import ShareFamilies, allow_any_counts, compute_imbalance, count_copies
from optassign_models.target.arrays import Program
from optassign_models.target.constraints import StepNumbers, number_first_steps
from optassign_models.target.deal import deal_places
from optassign_models.target.objectives import Objective
from optassign_models.target.solver import Effort, Optimum, Solver, minimise_in_order
from optassign_models.target.statement import TargetProgram, state_target
from optassign_models.target.variables import Allowed, Scope, TargetVariables, hint_copies

Values = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Question:
    """A question to the model."""

    problem: Problem
    forced: Forced
    shares: ShareFamilies
    objectives: tuple[Objective, ...]
    shares_bind: bool = True
    """Counts must be inside their shares; otherwise they may be anywhere, and the objectives say what that costs."""
    limits: tuple[PlacementLimit, ...] = ()
    """That the placement has to keep."""
    is_now: bool = False
    """R3 to R5 bind, as in this very rebalance."""
    require: Callable[[Program, TargetVariables], None] | None = None
    """Adds further rows."""
    start: Placement | None = None
    """A placement to begin with: the answer is no worse, if this one is allowed."""

    def allows(self, placed: Placement) -> bool:
        """Return whether a placement keeps the limits, and the shares and R3 to R5 where they bind."""
        if list_broken(self.limits, placed):
            return False
        if self.shares_bind and not self.shares.hold(count_copies(self.problem, placed)):
            return False
        return not self.is_now or keeps_r3_to_r5(self.problem, self.forced, placed)

    def evaluate(self, placed: Placement) -> Values:
        """Return the values of a placement in the objectives, computed without the program."""
        values = evaluate(self.problem, self.forced, placed, self.goals)
        imbalance = compute_imbalance(self.problem, self.shares, placed)
        return tuple(objective.add_up(values, imbalance) for objective in self.objectives)

    @property
    def goals(self) -> list[GoalModel]:
        """The goals of all objectives."""
        return [goal for goal, _ in chain.from_iterable(objective.goals for objective in self.objectives)]

    @property
    def has_sums(self) -> bool:
        """Whether some objective has a greatest sum of what copies weigh."""
        return any(objective.has_sums for objective in self.objectives)

    @property
    def costs(self) -> tuple[bool, ...]:
        """(5,) families of shares whose imbalance costs in some objective."""
        return tuple(any(objective.imbalance[family] for objective in self.objectives) for family in range(5))


@dataclass(frozen=True, eq=False)
class TargetAnswer:
    """The answer to a question."""

    placement: Placement | None
    """The best that was found; None where nothing was."""
    bounds: tuple[int, ...]
    """A bound of each objective, given the values of those before; shorter if a limit came first."""
    values: Values = ()
    """The placement's values, computed without the program."""
    is_impossible: bool = False
    """No placement keeps the rows."""
    is_cut_short: bool = False
    """The deadline came first."""
    proved_by: ProvedBy = ProvedBy.HIGHS
    """The solver of the bounds."""

    @property
    def is_proven(self) -> bool:
        """Whether the placement is at the bounds of all objectives."""
        return self.placement is not None and self.values == self.bounds


def find_best(question: Question, effort: Effort) -> TargetAnswer:
    """Return the best placement that was found, and bounds."""
    if question.has_sums and has_few_pairs(question.problem):  # pooled copies of unlike weight say little about sums
        return _look_at_all_pairs(question, effort)
    answer = _look(question, effort)
    problem = question.problem
    is_done = answer.is_proven or answer.is_impossible or not effort.deadline.left
    if is_done or not _may_have_all_pairs(problem) or not problem.pool_size.any():
        return answer
    return _choose(answer, _look_at_all_pairs(question, effort))


def has_few_pairs(problem: Problem) -> bool:
    """Return whether all pairs of task and client may be candidates from the start."""
    return problem.T * problem.C <= SMALL_PAIRS


def _may_have_all_pairs(problem: Problem) -> bool:
    """Return whether all pairs may be candidates where pools leave a gap."""
    return problem.T * problem.C <= ALL_PAIRS


def state_at_first(question: Question, *, tells_apart: bool = False) -> TargetProgram:
    """The program of a question, with few steps, and pools where the question has them; no merged places if it tells apart."""
    draft = _Draft.of(question)
    return replace(draft, apart=draft.apart | tells_apart).state()


def state_in_full(question: Question, effort: Effort) -> tuple[TargetProgram, Optimum]:
    """Return the program of a question, with steps enough, and its optimum: of all pairs of task and client, if they are few.

    Such a program leaves nothing out. A larger one counts pooled copies, so that its optimum is a bound.
    """
    if has_few_pairs(question.problem):
        problem, forced = prepare(question.problem.with_all_columns())
        question = replace(question, problem=problem, forced=forced)
    draft, program, optimum = _solve_with_enough_steps(_Draft.of(question), effort)
    return draft.state() if program is None else program, optimum


def _look_at_all_pairs(question: Question, effort: Effort) -> TargetAnswer:
    """Return the answer of a program in which every pair of task and client is a candidate, which leaves nothing out."""
    problem, forced = prepare(question.problem.with_all_columns())
    if effort.solver is Solver.AUTO:  # the relaxation of sums says little; that of counts is nearly always whole
        effort = replace(effort, solver=Solver.CP_SAT) if question.has_sums else replace(effort, is_first_try=False)
    return _look(replace(question, problem=problem, forced=forced), effort)


def _choose(answer: TargetAnswer, other: TargetAnswer) -> TargetAnswer:
    """Return the better placement, with the better bounds."""
    is_better = other.placement is not None and (answer.placement is None or other.values <= answer.values)
    best = other if is_better else answer
    bounds, proved_by = max((answer.bounds, answer.proved_by), (other.bounds, other.proved_by))
    is_impossible = answer.is_impossible or other.is_impossible
    return replace(best, bounds=bounds, proved_by=proved_by, is_impossible=is_impossible)


def _look(question: Question, effort: Effort) -> TargetAnswer:
    """Rounds, until one proves its placement or nothing more can be told apart."""
    draft = _Draft.of(question)
    best, start = TargetAnswer(None, ()), question.start
    if start is not None and question.allows(start):
        best = TargetAnswer(start, (), question.evaluate(start))
    for _ in range(POOLED_ROUNDS if _may_have_all_pairs(question.problem) else TOLD_APART_ROUNDS):
        draft, program, optimum = _solve_with_enough_steps(draft, effort)
        if program is None:
            return replace(best, is_cut_short=True)
        if optimum.bounds > best.bounds or optimum.is_impossible:
            is_impossible = best.is_impossible or optimum.is_impossible
            best = replace(best, bounds=max(best.bounds, optimum.bounds), is_impossible=is_impossible)
            best = replace(best, proved_by=optimum.proved_by)
        effort = replace(effort, is_first_try=False)
        if optimum.values is None:
            break
        dealt = deal_places(program.v, optimum.values)
        if dealt.placement is not None and question.allows(dealt.placement):
            values = question.evaluate(dealt.placement)
            if best.placement is None or values < best.values:
                best = replace(best, placement=dealt.placement, values=values)
        if best.placement is not None and best.values <= best.bounds:
            break
        if len(dealt.without_room) and not draft.apart[dealt.without_room].all():
            draft.apart[dealt.without_room] = True
        elif len(dealt.not_dealt):
            problem, forced = prepare(draft.question.problem.with_all_columns(dealt.not_dealt))
            draft = replace(draft, question=replace(draft.question, problem=problem, forced=forced))
        else:
            break
    is_cut_short = not effort.deadline.left and not best.is_proven and not best.is_impossible
    return replace(best, is_cut_short=is_cut_short)


@dataclass(frozen=True, eq=False)
class _Draft:
    """How a question is stated."""

    question: Question
    zones: Zones
    shares: ShareFamilies
    steps: StepNumbers | None
    apart: BoolArray
    """(G × C,) bool: places that are told apart."""

    @classmethod
    def of(cls, question: Question) -> _Draft:
        """Return the first draft: few steps, nothing told apart that need not be."""
        problem = question.problem
        labels = [limit.clients.astype(np.int64) for limit in question.limits if limit.kind is not Kind.MOST]
        labels += [goal.tells_apart(problem) for goal in question.goals if goal.tells_apart is not None]
        shares = question.shares if question.shares_bind else _widen_uncounted(question)
        steps = None if question.shares_bind else number_first_steps(shares, question.costs)
        apart = np.zeros(problem.G * problem.C, dtype=np.bool_)
        return cls(question, find_zones(problem, labels), shares, steps, apart)

    def state(self) -> TargetProgram:
        """Return the program."""
        question, problem = self.question, self.question.problem
        allowed = Allowed.anywhere(problem, self.zones).keep_limits(problem, self.zones, question.limits)
        if question.is_now:
            allowed = allowed.keep_r3_to_r5(question.forced)
        is_soft = not question.shares_bind
        scope = Scope(problem, question.forced, self.shares, self.zones, allowed, self.apart, is_soft)
        return state_target(scope, self.steps, question.goals, question.limits, question.require)


def _solve_with_enough_steps(draft: _Draft, effort: Effort) -> tuple[_Draft, TargetProgram | None, Optimum]:
    """Return the draft with steps enough, its program and optimum; no program if the deadline is too near for it."""
    for _ in range(RESTATED_PROGRAMS):
        program = draft.state()
        if _expect_seconds(draft, program) > effort.deadline.left:
            return draft, None, Optimum(None)
        hint = None if draft.question.start is None else hint_copies(program.v, draft.question.start, len(program.matrix.low))
        optimum = minimise_in_order(program, draft.question.objectives, effort, hint)
        if optimum.longer is None or not effort.deadline.left:
            break
        draft = replace(draft, steps=optimum.longer)
    return draft, program, optimum


def _expect_seconds(draft: _Draft, program: TargetProgram) -> float:
    """Return the least time of a program: if there is less, the time kept back is worth more than half a solution."""
    size = len(program.matrix.low) * draft.zones.number * max(1, len(draft.question.objectives))
    return SECONDS_PER_VARIABLE * size


def _widen_uncounted(question: Question) -> ShareFamilies:
    """Return the shares, so wide where their imbalance costs nothing that they hold every count."""
    every = zip(question.shares, allow_any_counts(question.problem), question.costs, strict=True)
    return ShareFamilies(*(share if costs else widest for share, widest, costs in every))
