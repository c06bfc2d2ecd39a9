"""Lexicographic minimisation of the objectives of a program, each a linear form, by the requested solver.

A row, or the optimal face, keeps the value that an objective has reached. Several objectives are one weighted sum while 50 bits
suffice: each weight exceeds all costs of later objectives (docs/explanation/model.md, "One program, two solvers").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optassign_models.goals import GoalModel
from optassign_models.goals.goal import PairCosts
from optassign_models.policy import constants as policy
from optassign_models.problem import FloatArray, IntArray, exact_sum
from optassign_models.results import Deadline, Effort, FoundBy
from optassign_models.target.arrays import MOST, Matrix, is_whole
from optassign_models.target.backends import Proof, decide, fix_to_optima, is_infeasible, prove_bound, relax, search
from optassign_models.target.constraints import TargetProgram
from optassign_models.target.question import Objective
from optassign_models.target.variables import StepNumbers

_EXACT = 1 << 50
"""The limit of sums that CP-SAT minimises exactly. It compares value and bound as doubles, which round greater sums."""
_GREATEST_WEIGHT = 1 << 30
"""The greatest cost of objectives that HiGHS minimises together. Its tolerances are absolute: the least must not vanish."""
_EXACT_COST = 1 << 44
"""The limit of costs for HiGHS: the proof multiplies them by `DUAL_PARTS`, and sums a few of them, in int64."""


@dataclass(frozen=True, eq=False)
class LinearForm:
    """An objective in numbers: unit × (coefficients · x) + constant."""

    coefficients: IntArray
    """(variables,) coefficients, divided by their greatest common divisor `unit`."""
    unit: int
    constant: int

    def total(self, reduced: int) -> int:
        """Return the objective's value for a value `reduced` of coefficients · x."""
        return self.unit * reduced + self.constant


@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimum of one program."""

    values: IntArray | None
    """(variables,) whole values, or None if none were found."""
    bounds: tuple[int, ...] = ()
    """A lower bound of each objective, given the values of the objectives before it; shorter if a limit came first."""
    steps_needed: StepNumbers | None = None
    """The steps that the program needs; None if it has enough of them."""
    is_impossible: bool = False
    """Whether the solver found that no values keep the rows."""
    proved_by: FoundBy = FoundBy.HIGHS
    is_undecided: bool = False
    """Whether CP-SAT reached its limit of work."""


def price(program: TargetProgram, objective: Objective) -> LinearForm:
    """Return the linear form of an objective."""
    total, constant = np.zeros(len(program.matrix.low), dtype=np.int64), 0
    for step in program.steps:
        total[step.variables] = step.number * objective.imbalance[step.family]
    for goal, weight in objective.goals:
        each, anyway = _price_goal(program, goal)
        total += weight * each
        constant += weight * anyway
    unit = max(1, int(np.gcd.reduce(total))) if len(total) else 1
    return LinearForm(total // unit, unit, constant)


def _price_goal(program: TargetProgram, goal: GoalModel) -> tuple[IntArray, int]:
    """Return (variables,) the goal's cost per unit of each variable, and the constant cost that this answer forces."""
    v, problem, forced = program.v, program.v.scope.problem, program.v.scope.problem.forced
    cost, paid = np.zeros(len(program.matrix.low), dtype=np.int64), 0
    if goal.name in program.gained:
        return cost, -program.gained[goal.name]
    if goal.cost_per_active is not None:
        each = goal.cost_per_active(problem)
        cost[v.a] += each.columns[v.a_column]
        cost[v.pa] += _price_pools(program, goal, each, v.pa_task, v.pa_pool)
    if goal.cost_per_standby is not None:  # a standby is a copy that is not active
        each = goal.cost_per_standby(problem)
        on_column, in_pool = each.columns[v.y_column], _price_pools(program, goal, each, v.p_task, v.p_pool)
        cost[v.y] += on_column
        cost[v.p] += in_pool
        cost[v.a[: len(v.y)]] -= on_column
        cost[v.pa[: len(v.p)]] -= in_pool
    for variables, one in program.counted.get(goal.name, ()):
        cost[variables] += one
    if goal.cost_per_copy is not None and goal.forced_costs is not None:
        each, (per_tie, paid) = goal.cost_per_copy(problem), goal.forced_costs(forced)
        cold = forced.tie_not_caught_up
        is_free = forced.mandatory | (forced.tied & cold[problem.col_task])
        cost[v.y] += np.where(is_free, 0, each.columns)[v.y_column]
        cost[v.p] += np.where(forced.pool_tied & cold, 0, each.pools)[v.p_task]
        cost[program.beyond] += per_tie[program.beyond_task]
    return cost, paid


def _price_pools(program: TargetProgram, goal: GoalModel, each: PairCosts, task: IntArray, pool: IntArray) -> IntArray:
    """Return (k,) the cost of a copy of each task (k,) in its pool (k,)."""
    if goal.distinguishes is None or each.pools.ndim == 1:
        return each.pools[task]
    scope = program.v.scope
    return each.pools[task, scope.take_by_zone(goal.distinguishes(scope.problem))[pool % scope.Z]]


def price_tie(program: TargetProgram) -> IntArray:
    """Return costs (variables,): least if clients keep their smallest tasks, actives first, and give away their largest.

    If no client held a task, the first clients have the most places.
    """
    v, problem, T = program.v, program.v.scope.problem, program.v.scope.problem.T
    held = problem.col_owner | problem.col_standby
    cost = np.zeros(len(program.matrix.low), dtype=np.int64)
    cost[v.a] = np.where(held[v.a_column], (T + 1) * (problem.col_task[v.a_column] - T), 0)
    cost[v.y] = np.where(held[v.y_column], problem.col_task[v.y_column] - T, 0)
    if not held.any():
        cost[v.q] = v.q_cell % problem.C
        cost[v.qa] = v.qa_cell % problem.C
    return cost


def minimise_in_order(
    program: TargetProgram, objectives: Sequence[Objective], effort: Effort, hint: IntArray | None = None
) -> Optimum:
    """Return whole values that minimise the objectives in their order, with bounds.

    There are no values if the program needs more steps (`Optimum.steps_needed`). `hint`: as for `backends.decide`.
    """
    if program.matrix.is_plainly_impossible:
        return Optimum(None, is_impossible=True, proved_by=FoundBy.RULES)
    forms = [price(program, objective) for objective in objectives]
    if effort.solver == "cp-sat":
        return _decide_in_order(program, forms, effort.deadline, hint, is_thorough=True)
    decided = Optimum(None)
    if effort.solver == "auto" and effort.is_first_try and int(program.matrix.is_free.sum()) <= policy.CP_SAT_VARIABLES:
        decided = _decide_in_order(program, forms, effort.deadline, hint, is_thorough=False)
        if not decided.is_undecided:
            return decided
    found = _relax_in_order(program, forms, effort)
    return found if found.values is not None else replace(found, values=decided.values)


def _decide_in_order(
    program: TargetProgram, forms: Sequence[LinearForm], deadline: Deadline, hint: IntArray | None, *, is_thorough: bool
) -> Optimum:
    """Return the optimum by CP-SAT; undecided, with fewer bounds than forms, if its work ends first.

    is_thorough: work longer, presolve, and minimise the forms after an open one, too, with half of the work.
    """
    matrix, values, bounds = program.matrix, None, list[int]()
    work = policy.CP_SAT_WORK if is_thorough else policy.CP_SAT_FIRST_WORK
    left = [_coarsen(form, matrix.bound_sum(form.coefficients), MOST) for form in forms]
    is_open = False
    while left or values is None:
        weights = _weigh_in_order(matrix, left, _EXACT)
        together, left = left[: len(weights)], left[len(weights) :]
        cost = _add_up(program, together, weights)
        begin = hint if values is None else values
        found = decide(matrix, cost, begin, work / 2 if is_open else work, deadline, presolves=is_thorough)
        if found.values is None:
            open_ = not found.is_impossible
            return Optimum(values, tuple(bounds), None, found.is_impossible, FoundBy.CP_SAT, is_undecided=open_)
        values = found.values
        steps_needed = program.find_needed_steps(values.astype(np.float64), cost)
        if steps_needed is not None:
            return Optimum(None, tuple(bounds), steps_needed, proved_by=FoundBy.CP_SAT)
        if exact_sum(cost, values) != found.bound:
            if found.bound is not None and len(together) == 1 and not is_open:
                bounds.append(together[0].total(found.bound))
            is_open = True
            if not is_thorough:
                break
        for form in together:
            reached = exact_sum(form.coefficients, values)
            matrix = matrix.with_row(form.coefficients, reached)
            if not is_open:
                bounds.append(form.total(reached))
    if is_open:
        return Optimum(values, tuple(bounds), proved_by=FoundBy.CP_SAT, is_undecided=True)
    tie = price_tie(program)
    if tie.any() and matrix.bound_sum(tie) < MOST:
        tied = decide(matrix, tie, values, policy.CP_SAT_TIE_WORK, deadline)
        values = values if tied.values is None else tied.values
    return Optimum(values, tuple(bounds), proved_by=FoundBy.CP_SAT)


def _add_up(program: TargetProgram, forms: Sequence[LinearForm], weights: Sequence[int]) -> IntArray:
    """Return (variables,) the weighted sum of forms."""
    terms = (weight * form.coefficients for weight, form in zip(weights, forms, strict=True))
    return sum(terms, np.zeros_like(program.matrix.low))


def _coarsen(form: LinearForm, size: int, most: int) -> LinearForm:
    """Return the form in coarser units, so that a sum of `size` stays below `most`; rounded down, so bounds remain bounds."""
    times = size // most
    if not times:
        return form
    unit = 1 << times.bit_length()
    return LinearForm(form.coefficients // unit, form.unit * unit, form.constant)


def _weigh_in_order(matrix: Matrix, forms: Sequence[LinearForm], most: int) -> list[int]:
    """Return lexicographic weights of as many leading forms as have a sum below `most`; [1] for one form, [] for none."""
    room = matrix.high - matrix.low
    for number in range(len(forms), 1, -1):
        weights, most_after = [1], 0
        for form, before in zip(reversed(forms[1:number]), reversed(forms[: number - 1]), strict=True):
            most_after += weights[0] * exact_sum(np.abs(form.coefficients), room)
            weights.insert(0, most_after + 1)
            greatest = matrix.bound_sum(before.coefficients) if most == _EXACT else int(np.abs(before.coefficients).max())
            if weights[0] * greatest + most_after > most:
                break
        else:
            return weights
    return [1] * len(forms[:1])


def _relax_in_order(program: TargetProgram, forms: Sequence[LinearForm], effort: Effort) -> Optimum:
    """Return the optimum by relaxations, each on the optimal face of the previous one."""
    matrix, bounds = program.matrix, list[int]()
    solved: FloatArray | None = None
    left = [_coarsen(form, int(np.abs(form.coefficients).max(initial=0)), _EXACT_COST) for form in forms]
    while left:
        form = left[0]
        if not form.coefficients[matrix.is_free].any():  # nothing is left to choose
            bounds.append(form.total(exact_sum(form.coefficients, matrix.low)))
            left.pop(0)
            continue
        step = _relax_together(program, matrix, left, effort.deadline)
        if step is None:
            relaxed = relax(matrix, form.coefficients, effort.deadline)
            if relaxed is None:
                is_impossible = solved is None and is_infeasible(matrix, effort.deadline)
                return Optimum(None, tuple(bounds), is_impossible=is_impossible)
            proof = prove_bound(matrix, form.coefficients, relaxed[1])
            steps_needed = program.find_needed_steps(relaxed[0], form.coefficients)
            if steps_needed is not None:  # no use in whole values: the program will be built with more steps
                return Optimum(None, (*bounds, form.total(proof.bound)), steps_needed)
            step = _keep_bound(program, matrix, form.coefficients, relaxed[0], proof, effort, is_last=len(left) == 1)
        matrix, solved, reached = step
        bounds += [each.total(bound) for each, bound in zip(left, reached, strict=False)]
        left = left[len(reached) :]
    if solved is None:
        found = relax(matrix, np.zeros_like(matrix.low), effort.deadline)
        if found is None:
            return Optimum(None, tuple(bounds), is_impossible=is_infeasible(matrix, effort.deadline))
        solved = found[0]
    if len(program.v.y) <= policy.MOST_TIED:
        tied = relax(matrix, price_tie(program), effort.deadline)
        solved = tied[0] if tied is not None and is_whole(tied[0]).all() else solved
    if not is_whole(solved).all():
        _, solved, _ = _search_whole(program, matrix, np.zeros_like(matrix.low), solved, 0, effort)
    return Optimum(np.rint(solved).astype(np.int64) if is_whole(solved).all() else None, tuple(bounds))


_Step = tuple[Matrix, FloatArray, tuple[int, ...]]
"""The matrix that keeps one or several objectives, the values (variables,), and bounds in the units of the forms."""


def _relax_together(program: TargetProgram, matrix: Matrix, forms: Sequence[LinearForm], deadline: Deadline) -> _Step | None:
    """Return the step of as many leading objectives as one weighted sum can hold; None if that is one, or a gap remains."""
    weights = _weigh_in_order(matrix, forms, _GREATEST_WEIGHT)
    if len(weights) < 2:
        return None
    together = forms[: len(weights)]
    cost = _add_up(program, together, weights)
    relaxed = relax(matrix, cost, deadline)
    if relaxed is None or not is_whole(relaxed[0]).all():
        return None
    values, duals = relaxed
    whole = np.rint(values).astype(np.int64)
    proof = prove_bound(matrix, cost, duals)
    if int(cost @ whole) != proof.bound or program.find_needed_steps(values, cost) is not None:
        return None
    reached = tuple(int(form.coefficients @ whole) for form in together)
    if proof.is_tight:
        return fix_to_optima(matrix, proof), values, reached
    for form, value in zip(together, reached, strict=True):
        matrix = matrix.with_row(form.coefficients, value)
    return matrix, values, reached


def _keep_bound(
    program: TargetProgram, matrix: Matrix, cost: IntArray, values: FloatArray, proof: Proof, effort: Effort, *, is_last: bool
) -> _Step:
    """Return the step that keeps an objective at its proven bound, or at the least whole value that was found."""
    bound = proof.bound
    if abs(float(cost @ values) - bound) < max(policy.WHOLE_TOLERANCE, 1e-9 * abs(bound)):
        face = fix_to_optima(matrix, proof) if proof.is_tight else matrix.with_row(cost, bound)
        if not is_last or is_whole(values).all():
            return face, values, (bound,)
        _, whole, _ = _search_whole(program, face, np.zeros_like(cost), values, 0, effort)
        if is_whole(whole).all():
            return face, whole, (bound,)
    return _search_whole(program, matrix, cost, values, bound, effort)


def _free_around_fractions(program: TargetProgram, matrix: Matrix, solved: FloatArray) -> Matrix:
    """Return the matrix with all variables fixed that share no row of the program with a fractional variable."""
    is_near = np.zeros(len(matrix.row_low), dtype=np.bool_)
    is_near[matrix.row[~is_whole(solved)[matrix.variable]]] = True
    is_near[len(program.matrix.row_low) :] = False  # rows of objectives have nearly all variables
    keep = np.ones(len(matrix.low), dtype=np.bool_)
    keep[matrix.variable[is_near[matrix.row]]] = False
    near = np.rint(solved).astype(np.int64)
    return replace(matrix, low=np.where(keep, near, matrix.low), high=np.where(keep, near, matrix.high))


def _search_whole(
    program: TargetProgram, matrix: Matrix, cost: IntArray, solved: FloatArray, bound: int, effort: Effort
) -> _Step:
    """Return the step to whole values of least cost, or to the values of the relaxation if none are found.

    The search begins around fractions. What it finds suffices if it costs no more than the bound; in a large program, little
    more.
    """
    hint = np.rint(solved).astype(np.int64)
    found: tuple[IntArray, int] | None = None
    near = _search(_free_around_fractions(program, matrix, solved), cost, effort, hint)
    if near is not None:
        hint, is_large = near[0], int(matrix.is_free.sum()) > policy.FULLY_SEARCHED_VARIABLES
        gap = exact_sum(cost, hint) - bound
        if gap <= 0 or (is_large and gap * policy.ACCEPTED_GAP_PARTS <= abs(bound)):
            found = hint, bound
    found = found if found is not None else _search(matrix, cost, effort, hint)
    if found is None:
        most = int(np.ceil(float(cost @ solved) - 1e-6))
        return matrix.with_row(cost, most), solved, (bound,)
    values, proven = found
    least = exact_sum(cost, values)
    return matrix.with_row(cost, least), values.astype(np.float64), (min(max(bound, proven), least),)


def _search(matrix: Matrix, cost: IntArray, effort: Effort, hint: IntArray) -> tuple[IntArray, int] | None:
    """Return whole values with low cost and a bound, by CP-SAT or branch and bound; None if limits of size or work are hit."""
    if int(matrix.is_free.sum()) > policy.MOST_WHOLE:
        return None
    if effort.solver == "highs":
        found = search(matrix, cost, effort.deadline)
    elif matrix.bound_sum(cost) < MOST:
        found = decide(matrix, cost, hint, policy.CP_SAT_WORK, effort.deadline, presolves=True)
    else:
        return None
    return None if found.values is None or found.bound is None else (found.values, found.bound)
