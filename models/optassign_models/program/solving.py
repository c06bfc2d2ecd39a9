"""Solves the one model: builds its program, reads the optimum as a placement, and looks again where that costs more.

A program is built again with more steps where a count is further from its share than it has steps for; with places told apart
where merged places had not the room; and with pools written out as columns where their copies could not be dealt. Every program
is a relaxation, so the bounds of each hold for all placements. A first reading that is not allowed is replaced by the nearest
plan inside the shares, so that large groups have an answer near the bounds when the time ends.

On the optimal face of the copies' flow (`improve_plan`) the program has only the goals that ask which copy is active: the flow
has solved the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.flows.copies import CopiesFace, find_balanced_copies
from optassign_models.flows.decomposition import find_optimal_copies
from optassign_models.forced import Forced, prepare
from optassign_models.goals import GoalModel
from optassign_models.goals.caught_up import ACTIVES_NOT_CAUGHT_UP, RESTORE_WORK
from optassign_models.goals.moves import ACTIVE_MIGRATIONS, ACTIVE_MOVES, STANDBY_MIGRATIONS
from optassign_models.limits import PlacementLimit
from optassign_models.policy.constants import MOST_LONGER, SECONDS_PER_VARIABLE, TOLD_APART_ROUNDS
from optassign_models.pools import find_zones
from optassign_models.problem import STATELESS, IntArray, Placement, Problem
from optassign_models.program.constraints import Imbalance
from optassign_models.program.optimum import Optimum, Stage, break_tie, find_optimum
from optassign_models.program.placement_program import PlacementProgram, build_face_program, build_program
from optassign_models.program.reading import Reading, read_plan
from optassign_models.program.variables import Scope, allow, list_labels, make_open_scope
from optassign_models.results import Found, FoundBy
from optassign_models.shares import ShareBounds, ShareFamilies

Values = tuple[float, ...]


EXACT_BITS = 45
"""The bits of a coefficient: the proof multiplies it by twelve, and sums a few of them, in int64."""
_MOST_COST = 2.0**62
"""A scaled cost that is more than this is beyond any exact sum, so it may as well be this."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question to the model."""

    problem: Problem
    forced: Forced
    shares: ShareFamilies
    stages: tuple[Stage, ...]
    shares_bind: bool = True
    """Counts must be inside their shares; otherwise they may be anywhere, and the stages say what that costs."""
    limits: tuple[PlacementLimit, ...] = ()
    """That the placement has to keep."""
    is_now: bool = False
    """R3 to R5 bind, as in this very rebalance."""

    @property
    def begins_with_values(self) -> bool:
        """Whether the first goal counts distinct values that copies reach, and no other goal does."""
        reaching = [goal.reaches is not None for stage in self.stages for goal, _ in stage.goals]
        return reaching[:1] == [True] and not any(reaching[1:])

    @property
    def counts(self) -> tuple[bool, ...]:
        """(5,) families of shares whose imbalance costs in some stage."""
        return tuple(any(stage.imbalance[family] for stage in self.stages) for family in range(5))


@dataclass(frozen=True, eq=False)
class ModelAnswer:
    """The model's answer."""

    placement: Placement | None
    """The best that was found; None where nothing was."""
    bounds: tuple[int, ...]
    """A bound of each stage, given the values of those before; shorter if a limit came first."""
    values: Values = ()
    """The placement's values, as the question's judge has them."""
    is_impossible: bool = False
    """No placement keeps the shares."""
    is_cut_short: bool = False
    """The deadline came first."""


def solve(question: Question, judge: Callable[[Placement], Values | None], deadline: Deadline) -> ModelAnswer:
    """The best placement that was found, and bounds.

    `judge`: values of a placement in the stages, computed without the program; None where the placement
    is not allowed.
    """
    search = _Search(question, judge, has_most_values=question.begins_with_values)
    search.run(deadline)
    if question.begins_with_values and search.placement is None and deadline.left:  # not all values can be reached
        search = _Search(question, judge)
        search.run(deadline)
    is_cut_short = search.is_too_large or not deadline.left
    return ModelAnswer(search.placement, search.bounds, search.values, search.is_impossible, is_cut_short)


class _Search:
    """The rounds of one question."""

    def __init__(
        self, question: Question, judge: Callable[[Placement], Values | None], *, has_most_values: bool = False
    ) -> None:
        self._question, self._judge, self._has_most_values = question, judge, has_most_values
        self._problem, self._forced = question.problem, question.forced
        self._goals = [goal for goal, _ in chain.from_iterable(stage.goals for stage in question.stages)]
        labels = [goal.tells_apart(question.problem) for goal in self._goals if goal.tells_apart is not None]
        self._zones = find_zones(question.problem, (*list_labels(question.limits), *labels))
        self._shares = question.shares if question.shares_bind else _widen_uncounted(question)
        self._imbalance: Imbalance | None = None
        if not question.shares_bind:  # a step more than clients have too much or too little where every copy stays
            self._imbalance = Imbalance.at_first(_measure_distances(self._problem, self._shares), question.counts)
        self._apart = np.zeros(question.problem.G * question.problem.C, dtype=np.bool_)
        self.placement: Placement | None = None
        self.values: Values = ()
        self.bounds: tuple[int, ...] = ()
        self.is_impossible = False
        self.is_too_large = False
        """A program would have taken longer than there was: it was not begun."""

    def run(self, deadline: Deadline) -> None:
        """Rounds, until one proves its placement or nothing more can be told apart."""
        for _ in range(TOLD_APART_ROUNDS):
            program, optimum = self._solve_with_enough_steps(deadline)
            self.bounds = max(self.bounds, optimum.bounds)
            self.is_impossible |= optimum.is_impossible
            if optimum.values is None:
                return
            tied = break_tie(program, optimum, deadline)
            reading = read_plan(program.v, optimum.values if tied is None else tied, anyway=True)
            if reading.placement is not None:
                self._keep_better(reading.placement)
                if self.placement is None:
                    self._keep_nearest(reading.placement, deadline)
            if self.placement is not None and self.values <= self.bounds:
                return
            if len(reading.overfull) and not self._apart[reading.overfull].all():
                self._apart[reading.overfull] = True
            elif len(reading.undealt):
                self._problem, self._forced = prepare(self._problem.with_all_columns(reading.undealt))
            else:
                return

    def _solve_with_enough_steps(self, deadline: Deadline) -> tuple[PlacementProgram, Optimum]:
        for _ in range(MOST_LONGER):
            program = self._build()
            if self._expect_seconds(program) > deadline.left:
                self.is_too_large = True
                return program, Optimum(None, (), None)
            optimum = find_optimum(program, self._forced, self._question.stages, deadline)
            longer = None
            if program.steps is not None and optimum.relaxed is not None and deadline.left:
                longer = program.steps.extend_where_short(optimum.relaxed)
            if longer is None:
                break
            self._imbalance = longer
        return program, optimum

    def _expect_seconds(self, program: PlacementProgram) -> float:
        """The least time of a program: if there is less, the time kept back is worth more than half a solution."""
        size = len(program.matrix.low) * self._zones.number * max(1, len(self._question.stages))
        return SECONDS_PER_VARIABLE * size

    def _build(self) -> PlacementProgram:
        allowed = allow(self._problem, self._zones, self._question.limits)
        if self._question.is_now:
            allowed = allowed.narrow_to_now(self._forced)
        scope = make_open_scope(
            self._problem, self._forced, self._shares, self._zones, allowed, self._apart, is_soft=not self._question.shares_bind
        )
        return build_program(scope, self._imbalance, self._goals, self._question.limits, has_most_values=self._has_most_values)

    def _keep_better(self, placement: Placement) -> None:
        values = self._judge(placement)
        if values is not None and (self.placement is None or values < self.values):
            self.placement, self.values = placement, values

    def _keep_nearest(self, placement: Placement, deadline: Deadline) -> None:
        if not self._question.shares_bind or self._question.is_now:
            return
        nearest = find_nearest(self._problem, self._shares, placement, deadline)
        if nearest is not None:
            self._keep_better(nearest)


def _measure_distances(problem: Problem, shares: ShareFamilies) -> list[IntArray]:
    """(5,) arrays: how far each count is outside its share where every copy is where it was."""
    cell = problem.group[problem.col_task] * problem.C + problem.col_client
    stateful, logged = problem.kind[problem.group] != STATELESS, problem.logged
    owned, held = problem.col_owner, (problem.col_owner | problem.col_standby) & logged[problem.col_task]
    per_client, per_cell = (problem.col_client, problem.C), (cell, problem.G * problem.C)
    found = []
    for share, (of, size), some in zip(
        shares.in_order(),
        (per_client, per_client, per_client, per_cell, per_cell),
        (owned, owned & stateful[problem.col_task], held, owned, held),
        strict=True,
    ):
        count = np.bincount(of[some], minlength=size)
        found.append(np.maximum(0, np.maximum(count - share.high.ravel(), share.low.ravel() - count)))
    return found


def _widen_uncounted(question: Question) -> ShareFamilies:
    """The shares, so wide where their imbalance costs nothing that they hold every count."""
    problem = question.problem
    wide = question.shares.widen_fully(problem.T * (problem.standbys + 1)).in_order()
    chosen: list[ShareBounds] = [
        share if counts else widest
        for share, widest, counts in zip(question.shares.in_order(), wide, question.counts, strict=True)
    ]
    return replace(question.shares, **dict(zip(ShareFamilies.__dataclass_fields__, chosen, strict=True)))


def ask_in_order(
    problem: Problem,
    forced: Forced,
    shares: ShareFamilies,
    goals: Iterable[GoalModel],
    limits: Iterable[PlacementLimit] = (),
    *,
    is_now: bool = False,
) -> Question:
    """The question; goals that are no linear expression are left out. `is_now`: R3 to R5 bind, as in this rebalance."""
    stages = tuple(Stage.of_goal(goal) for goal in goals if goal.is_linear)
    return Question(problem, forced, shares, stages, limits=tuple(limits), is_now=is_now)


def is_sum_exact(problem: Problem) -> bool:
    """Whether restore costs are small enough for a proof in whole numbers."""
    cost = max(int(np.max(each, initial=0)) for each in (problem.col_cost, problem.pool_cost))
    return not cost >> EXACT_BITS


def ask_for_least_sum(
    problem: Problem, shares: ShareFamilies, weights: tuple[int, int, int], limits: Sequence[PlacementLimit] = ()
) -> Question | None:
    """The question of preset `weighted`; None where weights × restore costs are more than a proof in whole numbers can add up.

    `weights`: of the imbalance of clients, of that of subtopologies, and of stickiness.
    """
    problem, forced = express_in_changelogs(problem)
    instance, subtopology, stickiness = weights
    cost = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    copies = problem.T * (problem.standbys + 1)
    greatest = max(instance * copies, subtopology * copies, stickiness * (cost + 2))
    if greatest // max(1, math.gcd(*weights)) >> EXACT_BITS:
        return None
    goals = tuple((goal, stickiness) for goal in (RESTORE_WORK, ACTIVE_MOVES, STANDBY_MIGRATIONS))
    stage = Stage("weighted_cost", goals, (instance,) * 3 + (subtopology,) * 2)
    return Question(problem, forced, shares, (stage,), shares_bind=False, limits=tuple(limits))


def express_in_changelogs(problem: Problem) -> tuple[Problem, Forced]:
    """Restore costs in hundredths of the mean whole changelog of the logged tasks."""
    mean = max(1.0, float(problem.end[problem.logged].mean())) if problem.logged.any() else 1.0

    def scaled(cost: IntArray) -> IntArray:
        return np.minimum(np.ceil(100.0 * cost / mean), _MOST_COST).astype(np.int64)

    scaled_problem = replace(problem, col_cost=scaled(problem.col_cost), pool_cost=scaled(problem.pool_cost))
    return prepare(scaled_problem)


def improve_plan(
    face: CopiesFace, forced: Forced, shares: ShareFamilies, goals: Sequence[GoalModel], deadline: Deadline
) -> Found:
    """The plan on the face that is best in the goals, in their order, inside the shares of actives, with bounds of the face.

    None where these shares leave no plan on the face, or no whole one was found. It is looked for again with more places told
    apart, or with pools written out as columns, where they could not be dealt.
    """
    apart = np.zeros(face.problem.G * face.problem.C, dtype=np.bool_)
    stages = tuple(Stage.of_goal(goal) for goal in goals)
    for _ in range(TOLD_APART_ROUNDS):
        program = build_face_program(Scope.on_face(face, shares, apart))
        optimum = find_optimum(program, forced, stages, deadline)
        tied = break_tie(program, optimum, deadline)
        values = optimum.values if tied is None else tied
        reading = Reading() if values is None else read_plan(program.v, values)
        if len(reading.overfull):
            apart[reading.overfull] = True
            continue
        if not len(reading.undealt):
            break
        written, forced = prepare(face.problem.with_all_columns(reading.undealt))
        copies = find_balanced_copies(written, forced, shares, now=False)
        if copies is None or copies.face is None:
            break
        face = copies.face
    bounds = {goal.name: bound for goal, bound in zip(goals, optimum.bounds, strict=False)}
    return Found(reading.placement, bounds=bounds, found_by=FoundBy.LP, limited=not deadline.left)


def find_nearest(problem: Problem, shares: ShareFamilies, placement: Placement, deadline: Deadline) -> Placement | None:
    """Find the plan inside the shares that is nearest to one outside them, as merged places may hold more than their room.

    A flow restores as few offsets as it can, as if the copies of the given plan were all state that there is. The program on
    its face then moves as few actives as it can. None if no copies keep the shares, or if the deadline comes first.
    """
    restored, forced = prepare(problem.as_restored(placement))
    copies = find_optimal_copies(restored, forced, shares)
    if copies is None or copies.chosen.face is None:
        return None
    goals = ACTIVE_MIGRATIONS, ACTIVE_MOVES, ACTIVES_NOT_CAUGHT_UP
    return improve_plan(copies.chosen.face, copies.forced, shares, goals, deadline).placement
