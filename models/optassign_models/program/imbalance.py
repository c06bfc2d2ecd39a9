"""Counts beyond their shares as a cost: e (e + 1) / 2 at distance e, as a sum of steps of rising price.

The k-th copy beyond a share is a variable between 0 and 1 of price k, and the last one of a row has no upper bound. Prices
rise, so an optimum fills the steps in their order and the cost is exact, unless the last step has more than one copy. Then the
sum is too small, which keeps it a bound, and the program is built again with more steps (`ImbalanceSteps.extend_where_short`).

Merged places have no rows of their own. A pool's copies on them beyond the sum of their shares cost at least the price of a
first step, for any place. So this is a relaxation, and no bound may be put on what merged places hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optassign_models.lp.program import FloatArray, Program
from optassign_models.policy.constants import FIRST_STEPS, MOST_FIRST_STEPS
from optassign_models.problem import LOGGED, BoolArray, IntArray
from optassign_models.program.constraints import ShareRows
from optassign_models.program.variables import MergedPlaces, ProgramVariables

OF_CLIENTS, OF_ACTIVES, OF_COPIES = (0, 1, 2), 3, 4
"""Families of shares, as `Shares.in_order` has them: three per client, two per subtopology and client."""
_FAR = 1 << 50
"""More than any sum of copies."""


@dataclass(frozen=True, eq=False)
class Imbalance:
    """Which families cost, and how many steps each of their shares has."""

    counts: tuple[bool, ...]
    """(5,) the family costs; the others have no rows."""
    steps: tuple[IntArray, ...]
    """(5,) arrays: steps of each share, in the order of the family."""

    @classmethod
    def at_first(cls, distances: Sequence[IntArray], counts: Sequence[bool]) -> Imbalance:
        """Few steps for each share, and one more than a count's distance from it.

        `distances`: by family, copies by which each count is off its share: (C,) three times, then (G × C,) twice.
        """
        pairs = zip(distances, FIRST_STEPS, strict=True)
        steps = tuple(np.minimum(np.maximum(distance + 1, first), MOST_FIRST_STEPS) for distance, first in pairs)
        return cls(tuple(counts), steps)


@dataclass(frozen=True, eq=False)
class ImbalanceStep:
    """The `number`-th copies beyond some shares of one family."""

    family: int
    number: int
    variables: IntArray
    """(k,)"""
    index: IntArray
    """(k,) which share of the family; empty for pools of merged places."""
    is_last: IntArray
    """(k,) bool: the step has no upper bound."""
    is_above: bool = False
    """Beyond upper bounds of shares;"""
    kind: int | None = None
    """or in pools of merged places, of this kind of tasks."""


@dataclass(frozen=True, eq=False)
class ImbalanceSteps:
    """All steps of a program."""

    imbalance: Imbalance
    listed: tuple[ImbalanceStep, ...]

    def extend_where_short(self, values: FloatArray) -> Imbalance | None:
        """More steps where a last one has more than one copy in `values` (variables,); None where the cost is exact.

        Copies beyond one client's share often go to another client as soon as they cost more there. So all clients get as many
        steps as one needs.
        """
        more = [steps.copy() for steps in self.imbalance.steps]
        is_exact = True
        for step in self.listed:
            over = step.is_last & (values[step.variables] > 1 + 1e-6)
            if not len(step.index) or not over.any():
                continue
            is_exact = False
            needed = step.number + 2 * np.ceil(values[step.variables[over]]).astype(np.int64)
            if step.family in OF_CLIENTS:
                np.maximum(more[step.family], needed.max(), out=more[step.family])
            else:
                np.maximum.at(more[step.family], step.index[over], needed)
        return None if is_exact else Imbalance(self.imbalance.counts, tuple(more))

    def list_above(self, family: int) -> list[tuple[IntArray, IntArray]]:
        """Variables and shares of each step above the shares of a family, (k,) each."""
        return [(step.variables, step.index) for step in self.listed if step.family == family and step.is_above]

    def list_beyond(self, family: int, kind: int) -> IntArray:
        """(n,) variables: what each pool of a kind of tasks has on merged places beyond the shares of a family; or none."""
        found = [step.variables for step in self.listed if step.family == family and step.kind == kind]
        return found[0] if found else _nothing()


def add_steps(program: Program, v: ProgramVariables, families: Sequence[ShareRows], imbalance: Imbalance) -> ImbalanceSteps:
    """Adds the steps of every share that costs to the rows of the five families, in their order."""
    listed: list[ImbalanceStep] = []
    for family, (rows, steps) in enumerate(zip(families, imbalance.steps, strict=True)):
        if imbalance.counts[family]:
            listed.extend(_add_family(program, v, family, rows, steps))
    for family, merged in ((OF_ACTIVES, v.m), (OF_COPIES, (v.r,))):
        if imbalance.counts[family]:
            listed.extend(_add_merged(program, v, family, each) for each in merged if len(each.pool))
    return ImbalanceSteps(imbalance, tuple(listed))


def _add_family(program: Program, v: ProgramVariables, family: int, rows: ShareRows, steps: IntArray) -> list[ImbalanceStep]:
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
            found.append(ImbalanceStep(family, number, variables, index, is_last, is_above=sign < 0))
    return found


def _add_merged(program: Program, v: ProgramVariables, family: int, merged: MergedPlaces) -> ImbalanceStep:
    """Price each pool's copies on merged places beyond the sum of their shares, at the price of a first step (`cuts.py`)."""
    problem = v.scope.problem
    most = np.full(len(merged.pool), problem.T * (problem.standbys + 1))
    over = program.add_variables(np.zeros_like(most), most)
    return ImbalanceStep(family, 1, over, _nothing(), np.zeros(len(over), dtype=np.int64), kind=merged.kind)


def _nothing() -> IntArray:
    return np.zeros(0, dtype=np.int64)


def require_room(program: Program, v: ProgramVariables, steps: ImbalanceSteps | None) -> None:
    """A row for each pool that has merged places: its copies there are no more than all these places together take.

    With `steps`, what is beyond the shares counts as room that costs.

    A place takes what its subtopology has there at most, and what columns leave of the share. The row adds up the share where
    that is the lesser one without columns, and otherwise the number of tasks. By Gale's theorem (1957) on flows from pools to
    clients, what may still not fit is a matter of single clients: `reading.py` tells their places apart.
    """
    scope = v.scope
    for family, merged in ((OF_COPIES, v.r), *((OF_ACTIVES, merged) for merged in v.m)):
        share = (scope.copies_bounds if family == OF_COPIES else scope.actives_bounds)[1][merged.cell]
        tasks = scope.place_bounds[1][merged.cell] if merged.kind == LOGGED else np.full(len(share), scope.problem.T)
        room = np.bincount(merged.row, weights=np.minimum(share, tasks), minlength=len(merged.pool)).astype(np.int64)
        rows = program.add_rows(np.full_like(room, -_FAR), room)
        program.add_entries(rows, merged.of_pool, 1)
        _take_room(program, v, steps, family, _map_to_rows(merged, rows, share <= tasks, len(scope.pool_of_cell)))
        beyond = _nothing() if steps is None else steps.list_beyond(family, merged.kind)
        program.add_entries(rows[: len(beyond)], beyond, -1)


def _take_room(program: Program, v: ProgramVariables, steps: ImbalanceSteps | None, family: int, row_of: IntArray) -> None:
    """The columns' part of the shares that rows add up, `row_of` (G × C,) or −1; beyond a share, it costs there."""
    if family == OF_COPIES:
        variables, cell = v.y, v.scope.column_cell[v.scope.copies.column]
    else:
        variables, cell = v.a, v.scope.column_cell[v.a_column]
    above = [] if steps is None else steps.list_above(family)
    for each, cells, sign in ((variables, cell, 1), *((*step, -1) for step in above)):
        row = row_of[cells]
        program.add_entries(row[row >= 0], each[row >= 0], sign)


def _map_to_rows(merged: MergedPlaces, rows: IntArray, some: BoolArray, cells: int) -> IntArray:
    """(G × C,) the row of each place that `some` (k,) says, −1 of others."""
    row_of = np.full(cells, -1, dtype=np.int64)
    row_of[merged.cell[some]] = rows[merged.row[some]]
    return row_of
