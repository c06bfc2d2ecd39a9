"""Shares and windows: how many copies each client should hold (docs/rules.md, "Balanced").

Shares are proportional to threads × capacity. A client's share of copies is capped at the number of tasks (R2) and what
is cut off goes to the others in proportion (water filling). All arithmetic is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optassign.models.problem import LOGGED, STATELESS, IntArray, Placement, Problem


@dataclass(frozen=True, eq=False)
class Window:
    """Least and greatest count, both of one shape."""

    low: IntArray
    high: IntArray

    def holds(self, count: IntArray) -> bool:
        """Whether every count is inside."""
        return bool(np.all((count >= self.low) & (count <= self.high)))

    def excess(self, count: IntArray) -> int:
        """Sum of e (e + 1) / 2 at distance e from the window."""
        away = np.maximum(self.low - count, 0) + np.maximum(count - self.high, 0)
        return int(np.sum(away * (away + 1) // 2))

    def including(self, count: IntArray) -> Window:
        """The window widened just so far that the counts are inside."""
        return Window(np.minimum(self.low, count), np.maximum(self.high, count))


@dataclass(frozen=True, eq=False)
class Windows:
    """The five families, in their order of importance."""

    active: Window
    """(C,) all active tasks."""
    stateful: Window
    """(C,) stateful active tasks."""
    copies: Window
    """(C,) copies of logged tasks."""
    group_active: Window
    """(G, C) active tasks of a subtopology."""
    group_copies: Window
    """(G, C) copies of a logged subtopology; zero for the others."""

    def including(self, counts: Counts) -> Windows:
        """All windows widened to the given counts: what is left to demand where no balanced assignment exists."""
        return Windows(*(window.including(counted) for window, counted in self.pairs(counts)))

    def unbounded(self, most: int) -> Windows:
        """Windows of the same shape that hold every count up to `most`."""

        def all_of(window: Window) -> Window:
            return Window(np.zeros_like(window.low), np.full_like(window.high, most))

        return Windows(*(all_of(window) for window in self.in_order()))

    def in_order(self) -> tuple[Window, ...]:
        """The five families, most important first."""
        return (self.active, self.stateful, self.copies, self.group_active, self.group_copies)

    def hold(self, counts: Counts) -> bool:
        """Whether the counts are balanced."""
        return all(window.holds(count) for window, count in self.pairs(counts))

    def excess(self, counts: Counts) -> tuple[int, ...]:
        """Excess of each family, in order."""
        return tuple(window.excess(count) for window, count in self.pairs(counts))

    def pairs(self, counts: Counts) -> list[tuple[Window, IntArray]]:
        """Each window beside its counts, in order."""
        return list(zip(self.in_order(), counts.in_order(), strict=True))


@dataclass(frozen=True, eq=False)
class Counts:
    """What an assignment puts where, in the shapes of `Windows`."""

    active: IntArray
    stateful: IntArray
    copies: IntArray
    group_active: IntArray
    group_copies: IntArray

    def in_order(self) -> tuple[IntArray, ...]:
        """As `Windows.in_order`."""
        return (self.active, self.stateful, self.copies, self.group_active, self.group_copies)


def count(problem: Problem, active: IntArray, standby_task: IntArray, standby_client: IntArray) -> Counts:
    """Counts of an assignment; tasks with active −1 are left out."""
    G, C = problem.G, problem.C
    tasks = np.flatnonzero(active >= 0)
    group_active = np.bincount(problem.group[tasks] * C + active[tasks], minlength=G * C).reshape(G, C)
    group_standby = np.bincount(problem.group[standby_task] * C + standby_client, minlength=G * C).reshape(G, C)
    logged = (problem.kind == LOGGED)[:, None]
    group_copies = np.where(logged, group_active + group_standby, 0)
    return Counts(
        active=group_active.sum(axis=0),
        stateful=group_active[problem.kind != STATELESS].sum(axis=0),
        copies=group_copies.sum(axis=0),
        group_active=group_active,
        group_copies=group_copies,
    )


def excess(problem: Problem, windows: Windows, placed: Placement) -> tuple[int, ...]:
    """Excess of each family of an assignment, in order."""
    return windows.excess(count(problem, placed.active, placed.standby_task, placed.standby_client))


def windows(problem: Problem) -> Windows:
    """The windows of a problem, with `balance_factor` (KIP-441, first draft) on the three families per client."""
    sizes = np.bincount(problem.group, minlength=problem.G)
    logged = problem.kind == LOGGED
    one = _Fractions.of_actives(problem)
    many = _Fractions.of_copies(problem)
    logged_sizes = np.where(logged, sizes, 0)
    spare = problem.balance_factor - 1

    def widen(window: Window) -> Window:
        return Window(np.maximum(window.low - spare // 2, 0), window.high + (spare + 1) // 2)

    return Windows(
        active=widen(one.window(int(sizes.sum()))),
        stateful=widen(one.window(int(sizes[problem.kind != STATELESS].sum()))),
        copies=widen(many.window(int(logged_sizes.sum()))),
        group_active=one.windows(sizes),
        group_copies=many.windows(logged_sizes),
    )


@dataclass(frozen=True, eq=False)
class _Fractions:
    """(C,) each client's share of one task, as numerator ÷ denominator."""

    numerator: npt.NDArray[np.object_]
    denominator: npt.NDArray[np.object_]

    @classmethod
    def of_actives(cls, problem: Problem) -> _Fractions:
        units = _lowest_terms(problem.units)
        if not problem.draining.all():
            units = np.where(problem.draining, 0, units)
        return cls(units.astype(object), np.full(problem.C, int(units.sum()), dtype=object))

    @classmethod
    def of_copies(cls, problem: Problem) -> _Fractions:
        """Water filling: clients whose share passes one copy of every task hold just that; a draining client holds only
        what the others cannot."""
        units = [int(unit) for unit in _lowest_terms(problem.units)]
        left = problem.standbys + 1
        numerator, denominator = [0] * problem.C, [1] * problem.C
        drain = problem.draining if not problem.draining.all() else np.zeros(problem.C, dtype=np.bool_)
        for tier in (np.flatnonzero(~drain), np.flatnonzero(drain)):
            open_ = [int(c) for c in tier]
            while open_ and left:
                total = sum(units[c] for c in open_)
                full = {c for c in open_ if left * units[c] >= total}
                if not full:
                    for c in open_:
                        numerator[c], denominator[c] = left * units[c], total
                    left = 0
                for c in full:
                    numerator[c] = 1
                left -= len(full)
                open_ = [c for c in open_ if c not in full]
        return cls(np.array(numerator, dtype=object), np.array(denominator, dtype=object))

    def window(self, tasks: int) -> Window:
        share = self.numerator * tasks
        low = share // self.denominator
        return Window(low.astype(np.int64), (-(-share // self.denominator)).astype(np.int64))

    def windows(self, tasks: IntArray) -> Window:
        # Subtopologies mostly come in few sizes: exact arithmetic once for each.
        sizes, back = np.unique(tasks, return_inverse=True)
        each = [self.window(int(size)) for size in sizes]
        shape = (len(each), len(self.numerator))  # also where there is no subtopology at all
        low = np.array([w.low for w in each], dtype=np.int64).reshape(shape)
        high = np.array([w.high for w in each], dtype=np.int64).reshape(shape)
        return Window(low[back], high[back])


def _lowest_terms(units: IntArray) -> IntArray:
    return units // np.gcd.reduce(units)
