"""The search for the best placement: state the program, solve it, deal places to tasks, until the placement meets the bounds.

A program is stated again with more steps if a count is further from its share than its steps reach. If merged places lack room,
they are separated; if pooled copies cannot be dealt, their pools are written out as candidates. At last the program has all
pairs of task and client, if they are few. Every program is a relaxation, so its bounds hold for all placements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from optassign_models.greedy.plan import find_greedy_plan
from optassign_models.policy import constants as policy
from optassign_models.problem import Placement, Problem
from optassign_models.results import Effort, FoundBy
from optassign_models.target.constraints import TargetProgram, state_target
from optassign_models.target.deal import deal_places
from optassign_models.target.question import Question
from optassign_models.target.solver import Optimum, minimise_in_order
from optassign_models.target.variables import Scope, hint_copies
from optassign_models.zones import spread_zones


@dataclass(frozen=True, eq=False)
class TargetAnswer:
    """The answer to a question."""

    placement: Placement | None
    """The best placement found, or None."""
    bounds: tuple[int, ...]
    """A lower bound of each objective, given the values of the objectives before it; shorter if a limit came first."""
    values: tuple[int, ...] = ()
    """The placement's values in the objectives, computed without the program."""
    is_impossible: bool = False
    """Whether it is proven that no placement keeps the constraints."""
    is_cut_short: bool = False
    """Whether the deadline ended the search before a proof."""
    proved_by: FoundBy = FoundBy.HIGHS

    @property
    def is_proven(self) -> bool:
        """Whether the placement is at the bounds of all objectives."""
        return self.placement is not None and self.values == self.bounds


def find_best(question: Question, effort: Effort) -> TargetAnswer:
    """Return the best placement found by the deadline, with bounds of the objectives."""
    if question.has_sums and has_few_pairs(question.problem):  # pooled copies of unlike weight say little about sums
        return _look_at_all_pairs(question, effort)
    answer = _solve_in_rounds(question, effort, has_most_values=question.begins_with_values)
    if question.begins_with_values and answer.placement is None:  # not all values can be reached
        answer = _solve_in_rounds(question, effort)
    problem = question.problem
    is_done = answer.is_proven or answer.is_impossible or not effort.deadline.left
    if is_done or problem.T * problem.C > policy.ALL_PAIRS or not problem.pool_size.any():
        return answer
    return _choose(answer, _look_at_all_pairs(question, effort))


def has_few_pairs(problem: Problem) -> bool:
    """Return whether all pairs of task and client may be candidates from the start."""
    return problem.T * problem.C <= policy.SMALL_PAIRS


def _look_at_all_pairs(question: Question, effort: Effort) -> TargetAnswer:
    """Return the answer of the exact program, in which every pair of task and client is a candidate."""
    if effort.solver == "auto":  # the relaxation of sums says little; that of counts is nearly always whole
        effort = replace(effort, solver="cp-sat") if question.has_sums else replace(effort, is_first_try=False)
    return _solve_in_rounds(question.write_out(), effort)


def _choose(answer: TargetAnswer, other: TargetAnswer) -> TargetAnswer:
    """Return the better placement, with the better bounds."""
    is_better = other.placement is not None and (answer.placement is None or other.values <= answer.values)
    best = other if is_better else answer
    bounds, proved_by = max((answer.bounds, answer.proved_by), (other.bounds, other.proved_by))
    return replace(best, bounds=bounds, proved_by=proved_by, is_impossible=answer.is_impossible or other.is_impossible)


def _solve_in_rounds(question: Question, effort: Effort, *, has_most_values: bool = False) -> TargetAnswer:
    """Return the best answer of rounds of programs, until a placement is proven or no further places can be separated."""
    scope = replace(Scope.of(question), has_most_values=has_most_values)
    best, start = TargetAnswer(None, ()), question.start
    if start is not None and question.allows(start):
        best = TargetAnswer(start, (), question.evaluate(start))
    may_have_all_pairs = question.problem.T * question.problem.C <= policy.ALL_PAIRS
    for number in range(policy.POOLED_ROUNDS if may_have_all_pairs else policy.SEPARATION_ROUNDS):
        if not _has_time(scope, scope.problem.T * scope.Z // 10, effort):  # far fewer variables than the program would have
            return replace(best, is_cut_short=True)
        scope, program, optimum = solve_with_enough_steps(scope, effort)
        if optimum is None:
            return replace(best, is_cut_short=True)
        if optimum.bounds > best.bounds or optimum.is_impossible:
            bounds, is_impossible = max(best.bounds, optimum.bounds), best.is_impossible or optimum.is_impossible
            best = replace(best, bounds=bounds, is_impossible=is_impossible, proved_by=optimum.proved_by)
        effort = replace(effort, is_first_try=False)
        if optimum.values is None:
            break
        most_short = policy.FIRST_SEPARATED * policy.MORE_SEPARATED**number
        placed, without_room, not_dealt = deal_places(program.v, optimum.values, most_short)
        if placed is not None and (len(not_dealt) or not question.allows(placed)):
            # Greedy completes and balances it, if no better placement is known.
            placed = None if question.is_now or best.placement is not None else _balance(question, placed)
        if placed is not None:
            values = question.evaluate(placed)
            if best.placement is None or values < best.values:
                best = replace(best, placement=placed, values=values)
        if best.placement is not None and best.values <= best.bounds:
            break
        if len(without_room) and not scope.separated[without_room].all():
            separated = scope.separated.copy()
            separated[without_room] = True
            scope = replace(scope, separated=separated)
        elif len(not_dealt):
            scope = replace(scope, question=scope.question.write_out(not_dealt))
        else:
            break
    is_cut_short = not effort.deadline.left and not best.is_proven and not best.is_impossible
    return replace(best, is_cut_short=is_cut_short)


def _balance(question: Question, placed: Placement) -> Placement | None:
    """Return an allowed placement near `placed`, of which copies may be missing; None if greedy finds none."""
    near = find_greedy_plan(question.problem.after_restoring(placed), question.shares)
    near = spread_zones(question.problem, question.shares, near, now=False)
    return near if question.allows(near) else None


def solve_with_enough_steps(scope: Scope, effort: Effort) -> tuple[Scope, TargetProgram, Optimum | None]:
    """Return the scope with enough steps, its program and optimum; no optimum if it would not be found by the deadline.

    A search that cannot end in time is not begun: the time serves greedy better.
    """
    objectives, start = scope.question.objectives, scope.question.start
    for _ in range(policy.RESTATED_PROGRAMS):
        program = state_target(scope)
        number = len(program.matrix.low)
        if not _has_time(scope, number, effort):
            return scope, program, None
        hint = None if start is None else hint_copies(program.v, start, number)
        optimum = minimise_in_order(program, objectives, effort, hint)
        if optimum.steps_needed is None or not effort.deadline.left:
            break
        scope = replace(scope, steps=optimum.steps_needed)
    return scope, program, optimum


def _has_time(scope: Scope, number: int, effort: Effort) -> bool:
    return policy.SECONDS_PER_VARIABLE * number * scope.Z * max(1, len(scope.question.objectives)) <= effort.deadline.left
