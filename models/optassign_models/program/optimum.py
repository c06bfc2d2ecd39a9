"""The optimum of the one model: stage after stage, each a goal or a weighted sum, on what the stages before it leave.

A stage is minimised as a linear program, and its duals prove a bound in whole numbers. If the solution is at the bound, the
next stage is minimised on the optimal face. If whole values cost more, branch and bound finds them, and a row keeps them.
Stages of small costs are minimised together, each with a weight above all that the stages after it can cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.forced import Forced
from optassign_models.goals import GoalModel
from optassign_models.lp import FloatArray, Matrix, Solution, fix_to_optima, is_whole, prove_best_bound
from optassign_models.policy.constants import LITTLE, MOST_TIED, MOST_WHOLE, SAME, SEARCHED_WHOLE
from optassign_models.problem import IntArray
from optassign_models.program.placement_program import PlacementProgram

_NO_IMBALANCE = (0, 0, 0, 0, 0)
_GREATEST_WEIGHT = 1 << 30
"""Of a cost among stages that are minimised together: the solver's tolerances are absolute, so the least must not vanish."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One sum that is minimised."""

    name: str
    goals: tuple[tuple[GoalModel, int], ...] = ()
    """With their weights."""
    imbalance: tuple[int, ...] = _NO_IMBALANCE
    """(5,) weight of the imbalance of each family of shares."""

    @classmethod
    def of_goal(cls, goal: GoalModel) -> Stage:
        """One goal by itself."""
        return cls(goal.name, ((goal, 1),))


@dataclass(frozen=True, eq=False)
class Cost:
    """A stage in numbers: unit × (each · x) + paid."""

    each: IntArray
    """(variables,) without their common divisor."""
    unit: int
    paid: int

    @classmethod
    def of(cls, program: PlacementProgram, forced: Forced, stage: Stage) -> Cost:
        """The cost of a stage in a program."""
        total, paid = program.price_imbalance(stage.imbalance), 0
        for goal, weight in stage.goals:
            each, anyway = program.price_forced_sum(goal, forced)
            total += weight * each
            paid += weight * anyway
        unit = max(1, int(np.gcd.reduce(total))) if len(total) else 1
        return cls(total // unit, unit, paid)

    def total(self, reduced: int) -> int:
        """A number in the units of `each`, in those of the stage."""
        return self.unit * reduced + self.paid


@dataclass(frozen=True, eq=False)
class Optimum:
    """Of one program."""

    values: IntArray | None
    """(variables,) whole; None where nothing whole was found."""
    bounds: tuple[int, ...]
    """A bound of each stage, given the values of those before; shorter if a limit came first."""
    relaxed: FloatArray | None
    """(variables,) of the last program that was solved, whole or not."""
    is_impossible: bool = False
    """No values keep the rows, as the solver says."""
    face: Matrix | None = None
    """The solutions that all stages leave; None where a limit came first."""


def find_optimum(program: PlacementProgram, forced: Forced, stages: Sequence[Stage], deadline: Deadline) -> Optimum:
    """Find whole values that are best in the stages, in their order.

    None are looked for where the program has not enough steps for its solution.
    """
    if len(stages) > 1:
        found = _begin_with_each_task(program, forced, stages, deadline)
        if found is not None:
            return found
    return _find_from(program, forced, stages, deadline, program.matrix)


def break_tie(program: PlacementProgram, optimum: Optimum, deadline: Deadline) -> IntArray | None:
    """(variables,) of the plans that are best in all stages the one in which clients keep their smallest tasks; or None."""
    if optimum.values is None or optimum.face is None or len(program.v.y) > MOST_TIED:
        return None
    tied = optimum.face.minimise(program.price_tie(), deadline)
    return np.rint(tied.values).astype(np.int64) if tied is not None and is_whole(tied.values).all() else None


def _begin_with_each_task(
    program: PlacementProgram, forced: Forced, stages: Sequence[Stage], deadline: Deadline
) -> Optimum | None:
    """The optimum where in the first stage every copy can be where it costs least; None where that may not be so.

    That is tried for goals that tell clients apart, as reading from the own rack does: programs of pools by rack take long, and
    what each task costs by itself is a bound that is often reached.
    """
    first, *others = stages
    if first.name not in program.tells_apart or any(first.imbalance):
        return None
    cost = Cost.of(program, forced, first)
    duals = program.price_tasks(cost.each)
    if duals is None:
        return None
    proof = prove_best_bound(program.matrix, cost.each, duals.astype(np.float64))
    found = _find_from(program, forced, others, deadline, fix_to_optima(program.matrix, proof))
    if len(found.bounds) < len(others):
        return None
    return replace(found, bounds=(cost.total(proof.bound), *found.bounds))


def _find_from(
    program: PlacementProgram, forced: Forced, stages: Sequence[Stage], deadline: Deadline, matrix: Matrix
) -> Optimum:
    """As `find_optimum`, of what a matrix leaves."""
    bounds: list[int] = []
    solved: Solution | None = None
    left = [Cost.of(program, forced, stage) for stage in stages]
    while left:
        cost = left[0]
        if not cost.each[matrix.is_free].any():  # nothing is left to choose
            bounds.append(cost.total(int(cost.each @ matrix.low)))
            left.pop(0)
            continue
        step = _minimise_together(program, matrix, left, deadline)
        if step is None:
            step = _minimise(program, matrix, cost.each, deadline, is_last=len(left) == 1)
        if step is None:
            is_impossible = solved is None and matrix.is_infeasible(deadline)
            return Optimum(None, tuple(bounds), None if solved is None else solved.values, is_impossible)
        matrix, solved = step.matrix, step.solved
        bounds += [each.total(bound) for each, bound in zip(left, step.bounds, strict=False)]
        if step.is_short:
            return Optimum(None, tuple(bounds), solved.values)
        left = left[len(step.bounds) :]
    if solved is None:
        solved = matrix.minimise(np.zeros_like(matrix.low), deadline)
    if solved is None:
        return Optimum(None, tuple(bounds), None, matrix.is_infeasible(deadline))
    whole = solved if is_whole(solved.values).all() else _find_whole_on_face(program, matrix, solved, deadline)
    values = None if whole is None else np.rint(whole.values).astype(np.int64)
    return Optimum(values, tuple(bounds), solved.values, face=matrix)


@dataclass(frozen=True, eq=False)
class _Step:
    """One stage minimised, or several together."""

    matrix: Matrix
    """The matrix that is left for the stages after it."""
    solved: Solution
    bounds: tuple[int, ...]
    """In the units of each stage's cost."""
    is_short: bool = False
    """The program has not enough steps for the solution."""


def _minimise_together(program: PlacementProgram, matrix: Matrix, costs: Sequence[Cost], deadline: Deadline) -> _Step | None:
    """The first stages as one sum, as many as their weights allow; None where that is one, or the sum leaves a gap.

    A stage weighs more than all that the stages after it can cost, so the least sum is the optimum in their order.
    """
    weights = _weigh_in_order(matrix, costs)
    if len(weights) < 2:
        return None
    together = costs[: len(weights)]
    cost = sum(weight * each.each for weight, each in zip(weights, together, strict=True))
    assert isinstance(cost, np.ndarray)
    solved = matrix.minimise(cost, deadline)
    if solved is None or solved.duals is None or not is_whole(solved.values).all():
        return None
    values = np.rint(solved.values).astype(np.int64)
    proof = prove_best_bound(matrix, cost, solved.duals)
    if int(cost @ values) != proof.bound or not program.has_enough_steps(solved.values):
        return None
    reached = tuple(int(each.each @ values) for each in together)
    if proof.is_tight:
        return _Step(fix_to_optima(matrix, proof), solved, reached)
    for each, value in zip(together, reached, strict=True):
        matrix = matrix.with_row(each.each, value)
    return _Step(matrix, solved, reached)


def _weigh_in_order(matrix: Matrix, costs: Sequence[Cost]) -> list[int]:
    """Weights of the first stages, as many as can be minimised together."""
    room = matrix.high - matrix.low
    for number in range(len(costs), 1, -1):
        weights, most_after = [1], 0
        for each, before in zip(reversed(costs[1:number]), reversed(costs[: number - 1]), strict=True):
            most_after += weights[0] * int(np.abs(each.each) @ room)
            weights.insert(0, most_after + 1)
            if weights[0] * int(np.abs(before.each).max()) > _GREATEST_WEIGHT:
                break
        else:
            return weights
    return [1]


def _minimise(program: PlacementProgram, matrix: Matrix, cost: IntArray, deadline: Deadline, *, is_last: bool) -> _Step | None:
    """One stage; None where nothing is left, or found in time."""
    solved = matrix.minimise(cost, deadline)
    if solved is None or solved.duals is None:
        return None
    proof = prove_best_bound(matrix, cost, solved.duals)
    value = float(cost @ solved.values)
    if not program.has_enough_steps(solved.values):  # no use in whole values: the program will be built with more steps
        return _Step(matrix, solved, (proof.bound,), is_short=True)
    if _is_near(value, proof.bound):
        face = fix_to_optima(matrix, proof) if proof.is_tight else matrix.with_row(cost, proof.bound)
        if not is_last or is_whole(solved.values).all():
            return _Step(face, solved, (proof.bound,))
        whole = _find_whole_on_face(program, face, solved, deadline)
        if whole is not None:
            return _Step(face, whole, (proof.bound,))
    whole = _search_near(program, matrix, cost, solved, proof.bound, deadline) or _search(matrix, cost, deadline)
    if whole is None:
        return _Step(matrix.with_row(cost, int(np.ceil(value - 1e-6))), solved, (proof.bound,))
    least = int(cost @ np.rint(whole.values).astype(np.int64))
    bound = max(proof.bound, int(np.ceil(whole.bound - max(1e-6, 1e-9 * abs(whole.bound)))))
    return _Step(matrix.with_row(cost, least), whole, (min(bound, least),))


def _find_whole_on_face(program: PlacementProgram, face: Matrix, solved: Solution, deadline: Deadline) -> Solution | None:
    """Whole values on a face, where all cost the same: with the whole candidates of the solution, then with any."""
    kept = _keep_whole_candidates(program, face, solved)
    nothing = np.zeros_like(face.low)
    for matrix in (kept, face):
        whole = _search(matrix, nothing, deadline)
        if whole is not None:
            return whole
    return None


def _keep_whole_candidates(program: PlacementProgram, matrix: Matrix, solved: Solution) -> Matrix:
    """Keep the candidates that are whole in the solution as they are, and return the rest of the matrix."""
    keep = np.zeros(len(matrix.low), dtype=np.bool_)
    keep[program.v.y] = True
    keep[program.v.a] = True
    keep &= is_whole(solved.values)
    near = np.rint(solved.values).astype(np.int64)
    low, high = np.where(keep, near, matrix.low), np.where(keep, near, matrix.high)
    return matrix.fix(low, high, matrix.row_low, matrix.row_high)


def _search_near(
    program: PlacementProgram, matrix: Matrix, cost: IntArray, solved: Solution, bound: int, deadline: Deadline
) -> Solution | None:
    """Whole values that keep the whole candidates of the solution, and cost so little more than the bound that they will do.

    Their bound is the given one. None where such values cost more, or where the program is small enough to be searched whole.
    """
    if int(matrix.is_free.sum()) <= SEARCHED_WHOLE:
        return None
    whole = _search(_keep_whole_candidates(program, matrix, solved), cost, deadline)
    if whole is None:
        return None
    least = int(cost @ np.rint(whole.values).astype(np.int64))
    return replace(whole, bound=bound) if (least - bound) * LITTLE <= abs(bound) else None


def _is_near(value: float, bound: int) -> bool:
    """Whether a value is the bound, but for the solver's tolerance."""
    return abs(value - bound) < max(SAME, 1e-9 * abs(bound))


def _search(matrix: Matrix, cost: IntArray, deadline: Deadline) -> Solution | None:
    """Branch and bound, within limits that do not depend on the machine."""
    if int(matrix.is_free.sum()) > MOST_WHOLE:
        return None
    return matrix.search(cost, deadline)
