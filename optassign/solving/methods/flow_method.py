"""Goals (b) to (f) in their default order: a flow of copies, the program on its face, CP-SAT for what these leave open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optassign.goals.order import GoalOrder
from optassign.solving.case import Case
from optassign.solving.methods.solver_method import SolverMethod, is_small
from optassign_models.cp_sat.plan import solve_now
from optassign_models.deadline import Deadline
from optassign_models.flows import decomposition
from optassign_models.flows.decomposition import CopiesFirst
from optassign_models.flows.face import CopiesFace
from optassign_models.forced import Forced
from optassign_models.goals import active_moves
from optassign_models.policy.program import CP_SAT_WORK, SECONDS_PER_PAIR
from optassign_models.problem import LOGGED, Problem
from optassign_models.program.on_face import Improved, improve_plan
from optassign_models.results import Found, FoundBy
from optassign_models.values import FLOW_ORDER


class FlowMethod(SolverMethod):
    """Flows, then CP-SAT."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline, FLOW_ORDER)
        self._copies: tuple[Case, CopiesFirst | None] | None = None

    def write_out_pairs(self, problem: Problem) -> tuple[Problem, Forced]:
        """All pairs are columns where they are few."""
        return decomposition.write_out_pairs(problem)

    def find_balanced_now(self, case: Case) -> Found:
        """Two flows; CP-SAT where they leave it open."""
        found = decomposition.find_balanced_now(case.problem, case.forced, case.target)
        if found.placement is not None or found.impossible or not is_small(case.problem):
            return found
        result = solve_now(case.problem, case.forced, case.target, (active_moves.GOAL,), self.deadline, CP_SAT_WORK)
        self.limited |= result.limited
        return Found(result.placement, result.impossible, found.bounds, found_by=FoundBy.CP_SAT, limited=result.limited)

    def search_plan(self, case: Case) -> Found:
        """A flow of copies and the program on its face; the one model and CP-SAT look for what these leave open."""
        copies = self._find_copies(case)
        if copies is None:
            return Found(None, impossible=True)
        improved = self._improve_copies(case, copies)
        found = self._read_face(case, copies, improved)
        if self.is_proven(case, found):
            return found
        self.limited |= improved.is_cut_short
        if not improved.is_cut_short:
            found = self._join_better(case, found, self.search_by_program(case, (), self.deadline))
        if self.is_proven(case, found):
            return found
        if found.placement is None:
            found = self._find_by_greedy(case, found)
        return self.search_all_pairs(case, (), found) if is_small(case.problem) else found

    def _find_by_greedy(self, case: Case, found: Found) -> Found:
        """The greedy plan, with the bounds that hold for it."""
        placement = self.greedy.search_plan(case).placement
        bounds = found.bounds if placement is None else self.keep_valid(found.bounds, self.evaluate_goals(case, placement))
        return replace(found, placement=placement, bounds=bounds, found_by=FoundBy.GREEDY)

    def _join_better(self, case: Case, found: Found, other: Found) -> Found:
        """The better of two plans, with the bounds that hold for it."""
        mine, theirs = found.placement, other.placement
        if theirs is None:
            return found
        is_better = mine is None or self.evaluate_plan(case, theirs) < self.evaluate_plan(case, mine)
        best = other if is_better else found
        assert best.placement is not None
        values = self.evaluate_goals(case, best.placement)
        bounds = {goal: max(found.bounds.get(goal, bound), bound) for goal, bound in {**found.bounds, **other.bounds}.items()}
        return replace(best, bounds=self.keep_valid(bounds, values))

    def _find_copies(self, case: Case) -> CopiesFirst | None:
        """The optimum of the goals that do not ask which copy is active; None where no copies keep the shares."""
        if self._copies is None or self._copies[0] is not case:
            self._copies = case, decomposition.find_optimal_copies(case.problem, case.forced, case.target)
        return self._copies[1]

    def _improve_copies(self, case: Case, copies: CopiesFirst) -> Improved:
        """The best plan among those optimal in restore work and copies not caught up, with bounds of the later goals."""
        face = copies.chosen.face
        if face is None:
            return Improved(None)
        if self.deadline.left < _expect_seconds(face):
            return Improved(None, is_cut_short=True)
        return improve_plan(face, case.forced, case.target, FLOW_ORDER[2:], self.deadline)

    def _read_face(self, case: Case, copies: CopiesFirst, improved: Improved) -> Found:
        """The best plan on the face, with the bounds that hold for it; the bounds of the copies if there is none."""
        plan = improved.placement
        if plan is None or not case.reaches_target(plan):
            return Found(None, bounds=copies.bounds)
        bounds = self.keep_valid(copies.bounds | improved.bounds, self.evaluate_goals(case, plan))
        return Found(plan, bounds=bounds, by_lp=frozenset(improved.bounds), found_by=FoundBy.LP)


def _expect_seconds(face: CopiesFace) -> float:
    """Seconds that the linear programs take at least, by the size of the face."""
    problem = face.problem
    free_places = int(np.sum(problem.kind != LOGGED)) * problem.C
    size = len(face.column) + len(face.pooled) + len(face.place_group) + free_places + int(np.sum(~problem.logged))
    return 0.01 + SECONDS_PER_PAIR * size
