"""Counts beyond their shares as a cost: e (e + 1) / 2 at distance e, as a sum of steps of rising price.

The k-th copy beyond a share is a variable between 0 and 1 of price k, and the last one of a row has no upper bound. Prices
rise, so an optimum fills the steps in their order and the cost is exact, unless the last step has more than one copy. Then the
sum is too small, which keeps it a bound, and the program is built again with more steps (`Steps.list_longer`).

Merged places have no rows of their own. What a pool has on them beyond the sum of their shares costs at least the price of a
first step, whatever place it is on. So this is a relaxation, and no bound may be put on what merged places hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optassign.models.lp.program import FloatArray, Program
from optassign.models.problem import LOGGED, IntArray
from optassign.models.program.constraints import ShareRows
from optassign.models.program.variables import MergedPlaces, Variables

OF_CLIENTS, OF_ACTIVES, OF_COPIES = (0, 1, 2), 3, 4
"""Families of shares, as `Windows.in_order` has them: three per client, two per subtopology and client."""
_FIRST_STEPS = (4, 4, 4, 2, 2)
"""Steps of each share at first: few are used where a plan is good."""


@dataclass(frozen=True, eq=False)
class Imbalance:
    """Which families cost, and how many steps each of their shares has."""

    counts: tuple[bool, ...]
    """(5,) the family costs; the others have no rows."""
    steps: tuple[IntArray, ...]
    """(5,) arrays: steps of each share, in the order of the family."""

    @classmethod
    def at_first(cls, v_shares: Sequence[IntArray], counts: Sequence[bool]) -> Imbalance:
        """Few steps for each share; `v_shares`: the lower bounds of each family, for their number."""
        steps = tuple(np.full(low.size, first) for low, first in zip(v_shares, _FIRST_STEPS, strict=True))
        return cls(tuple(counts), steps)


@dataclass(frozen=True, eq=False)
class Step:
    """The `number`-th copies beyond some shares of one family."""

    family: int
    number: int
    variables: IntArray
    """(k,)"""
    index: IntArray
    """(k,) which share of the family; empty for pools of merged places."""
    is_last: IntArray
    """(k,) bool: the step has no upper bound."""


@dataclass(frozen=True, eq=False)
class Steps:
    """All steps of a program."""

    imbalance: Imbalance
    listed: tuple[Step, ...]

    def list_longer(self, values: FloatArray) -> Imbalance | None:
        """More steps where a last one has more than one copy; None where the cost is exact."""
        more = [steps.copy() for steps in self.imbalance.steps]
        is_exact = True
        for step in self.listed:
            over = step.is_last & (values[step.variables] > 1 + 1e-6)
            if not len(step.index) or not over.any():
                continue
            is_exact = False
            needed = step.number + 2 * np.ceil(values[step.variables[over]]).astype(np.int64)
            np.maximum.at(more[step.family], step.index[over], needed)
        return None if is_exact else Imbalance(self.imbalance.counts, tuple(more))


def add_steps(program: Program, v: Variables, families: Sequence[ShareRows], imbalance: Imbalance) -> Steps:
    """Adds the steps of every share that costs to the rows of the five families, in their order."""
    listed: list[Step] = []
    for family, (rows, steps) in enumerate(zip(families, imbalance.steps, strict=True)):
        if imbalance.counts[family]:
            listed.extend(_add_family(program, v, family, rows, steps))
    for family, merged in ((OF_ACTIVES, v.m), (OF_COPIES, (v.r,))):
        if imbalance.counts[family]:
            listed.extend(_add_merged(program, v, family, each) for each in merged if len(each.pool))
    return Steps(imbalance, tuple(listed))


def _add_family(program: Program, v: Variables, family: int, rows: ShareRows, steps: IntArray) -> list[Step]:
    """The steps above and below the shares of one family."""
    problem = v.scope.problem
    needed = steps[rows.index]
    found = []
    for number in range(1, int(needed.max(initial=0)) + 1):
        for sign, at in ((-1, needed >= number), (1, (needed >= number) & (rows.low >= number))):
            index, is_last = rows.index[at], needed[at] == number
            most = np.full(len(index), problem.T * (problem.standbys + 1)) if sign < 0 else rows.low[at] - number + 1
            variables = program.add_variables(np.zeros(len(index), dtype=np.int64), np.where(is_last, most, 1))
            program.add_entries(rows.rows[at], variables, sign)
            found.append(Step(family, number, variables, index, is_last))
    return found


def _add_merged(program: Program, v: Variables, family: int, merged: MergedPlaces) -> Step:
    """What each pool has on merged places beyond the sum of their shares, at the price of a first step."""
    scope = v.scope
    high = (scope.copies_bounds if family == OF_COPIES else scope.actives_bounds)[1][merged.cell]
    room = scope.place_bounds[1][merged.cell] if merged.kind == LOGGED else np.full(len(high), scope.problem.T)
    within = np.bincount(merged.row, weights=np.minimum(high, room), minlength=len(merged.pool)).astype(np.int64)
    most = np.full(len(merged.pool), scope.problem.T * (scope.problem.standbys + 1))
    over = program.add_variables(np.zeros_like(most), most)
    rows = program.add_rows(-most, within)
    program.add_entries(rows, merged.of_pool, 1)
    program.add_entries(rows, over, -1)
    nothing = np.zeros(0, dtype=np.int64)
    return Step(family, 1, over, nothing, np.zeros(len(over), dtype=np.int64))
