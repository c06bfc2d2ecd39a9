"""The target stated in arrays: its variables, the rows of the rules, and what goals need in addition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from optassign_models.limits import Kind
from optassign_models.problem import IntArray
from optassign_models.target.arrays import FloatArray, Matrix, Program
from optassign_models.target.constraints import (
    ImbalanceStep,
    add_steps,
    count_beyond_ties,
    count_greatest,
    count_reached,
    extend_where_short,
    require_actives_to_be_copies,
    require_most,
    require_most_values,
    require_one_active,
    require_pooled_actives_to_add_up,
    require_pooled_copies_to_add_up,
    require_room,
    require_shares_of_actives,
    require_shares_of_copies,
    require_standby_number,
)
from optassign_models.target.variables import Scope, StepNumbers, TargetVariables, declare_variables


@dataclass(frozen=True, eq=False)
class TargetProgram:
    """The program in arrays. Its variables are those of `v`, then further ones that goals need."""

    v: TargetVariables
    matrix: Matrix
    beyond: IntArray
    """(j,) variables: copies of a task beyond those on tied clients that this answer forces;"""
    beyond_task: IntArray
    """(j,) that task."""
    steps: Sequence[ImbalanceStep]
    """The steps that price counts beyond shares; none if these cost nothing."""
    reached: Mapping[str, tuple[tuple[IntArray, int], ...]] = field(default_factory=dict)
    """By goal: (logged tasks × values,) variables of the values that tasks reach, and what each gains."""
    gained: Mapping[str, int] = field(default_factory=dict)
    """By goal: the gain of tasks that have to reach as many values as they can."""
    peaks: Mapping[str, int] = field(default_factory=dict)
    """By goal: the variable of the greatest sum of any client."""

    def find_longer_steps(self, values: FloatArray, cost: IntArray) -> StepNumbers | None:
        """The steps with more where counts (variables,) of least cost (variables,) are further from their shares; or None."""
        numbers = self.v.scope.steps
        return None if numbers is None else extend_where_short(numbers, self.steps, values, cost)


def state_target(scope: Scope) -> TargetProgram:
    """Return the program of all targets in a scope."""
    program, question, problem = Program(), scope.question, scope.problem
    v = declare_variables(program, scope)
    require_standby_number(program, v)
    require_pooled_copies_to_add_up(program, v)
    require_one_active(program, v)
    require_pooled_actives_to_add_up(program, v)
    require_actives_to_be_copies(program, v)
    beyond, beyond_task = np.zeros((2, 0), dtype=np.int64)
    if any(goal.forced_costs is not None for goal in question.goals):
        beyond, beyond_task = count_beyond_ties(program, v)
    of_copies, of_clients = require_shares_of_copies(program, v)
    of_actives, stateful, every = require_shares_of_actives(program, v)
    families = (every, stateful, of_clients, of_actives, of_copies)
    steps = add_steps(program, v, families)
    require_room(program, v, steps)
    for limit in question.limits:
        if limit.kind is Kind.MOST:
            require_most(program, v, limit)
    reached: dict[str, tuple[tuple[IntArray, int], ...]] = {}
    gained: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for goal in question.goals:
        kinds = () if goal.reaches is None else goal.reaches(problem)
        if kinds and scope.has_most_values:
            gained[goal.name] = sum(each.gain * require_most_values(program, v, each.of_client) for each in kinds)
        elif kinds:
            reached[goal.name] = tuple((count_reached(program, v, each.of_client), each.gain) for each in kinds)
        carried = None if goal.carries is None else goal.carries(problem)
        if carried is not None:
            peaks[goal.name] = count_greatest(program, v, carried)
    if question.require is not None:
        question.require(program, v)
    return TargetProgram(v, program.finish(), beyond, beyond_task, steps, reached, gained, peaks)
