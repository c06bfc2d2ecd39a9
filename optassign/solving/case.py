"""What the stages of one rebalance have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from optassign.models.forced import Forced
from optassign.models.problem import Placement, Problem
from optassign.models.windows import Windows, count_copies


@dataclass(frozen=True, eq=False)
class Case:
    """The problem, with as many pairs written out as the method wants, and what belongs to it."""

    problem: Problem
    forced: Forced
    """What R3 to R5 force in this rebalance."""
    windows: Windows
    """What counts as balanced by the rules."""
    target: Windows
    """What this rebalance demands: the windows, or wider ones where they cannot be kept or are a cost."""

    @property
    def bounds(self) -> Mapping[str, float]:
        """Goal → bound in the units of its measure, of whatever this case demands beside windows; it needs no search."""
        return {}

    def reaches_target(self, answer: Placement) -> bool:
        """Whether every count is inside the windows that are demanded."""
        return self.target.hold(count_copies(self.problem, answer))

    def is_balanced(self, answer: Placement) -> bool:
        """Whether every count is inside its window."""
        return self.windows.hold(count_copies(self.problem, answer))

    def widen_target_to(self, answer: Placement) -> Case:
        """The same case, which demands no more of any count than the answer has."""
        return replace(self, target=self.target.widen_to(count_copies(self.problem, answer)))

    def keeps_r3_to_r5(self, answer: Placement) -> bool:
        """Whether an assignment with the right number of copies keeps R3 and R5."""
        problem, forced = self.problem, self.forced
        at = problem.find(np.arange(problem.T) * problem.C + answer.active)
        pooled = at < 0
        if not forced.pool_leading[pooled].all() or not forced.leading[at[~pooled]].all():
            return False
        keys = answer.copy_keys(problem.C, problem.logged)
        at = problem.find(keys)
        pooled = at < 0
        held = np.zeros(len(problem.col_task), dtype=np.bool_)
        held[at[~pooled]] = True
        allowed = forced.mandatory | forced.tied
        is_allowed = forced.pool_tied[keys[pooled] // problem.C].all() and allowed[at[~pooled]].all()
        return bool(is_allowed and held[forced.mandatory].all())
