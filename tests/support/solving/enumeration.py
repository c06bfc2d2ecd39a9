"""The optimum of tiny problems by enumeration: no solver, no flow, only dictionaries and loops.

Written from docs/reference/rules.md for the snapshot itself: it shares no code with the models, the arrays or the judge.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from optassign.formats.state import ApplicationState, TaskInfo

Copies = dict[str, tuple[str, frozenset[str]]]
"""Task → (active, standbys)."""


@dataclass(frozen=True)
class Tiny:
    """A snapshot of a few tasks and clients, with the definitions of docs/reference/rules.md."""

    state: ApplicationState

    @cached_property
    def clients(self) -> list[str]:
        return [c.process_id for c in self.state.clients]

    @cached_property
    def standbys(self) -> int:
        return min(self.state.configs.num_standby_replicas, len(self.clients) - 1)

    def find_end(self, task: TaskInfo) -> int:
        if task.changelog_end_offset is not None:
            return task.changelog_end_offset
        reported = [c.lags[task.id] for c in self.state.clients if task.id in c.lags]
        return max([self.state.configs.acceptable_recovery_lag, *reported]) + 1

    def find_rank_and_cost(self, task: TaskInfo, client: str) -> tuple[int, int]:
        if not task.logged or self.state.configs.acceptable_recovery_lag == 2**63 - 1:
            return 0, 0
        c = next(c for c in self.state.clients if c.process_id == client)
        holder = task.id in c.previous_active or task.id in c.previous_standby
        lag = c.lags.get(task.id, self.find_end(task))
        if lag == -3:
            return (1, 0) if holder else (2, self.find_end(task))
        return (0, 0) if lag <= self.state.configs.acceptable_recovery_lag else (lag, lag)

    @cached_property
    def table(self) -> dict[tuple[str, str], tuple[int, int]]:
        return {(t.id, c): self.find_rank_and_cost(t, c) for t in self.state.tasks for c in self.clients}

    def list_placements(self, task: TaskInfo) -> list[tuple[str, frozenset[str]]]:
        number = self.standbys if task.logged else 0
        return [
            (a, frozenset(s)) for a in self.clients for s in itertools.combinations([c for c in self.clients if c != a], number)
        ]

    def list_first_placements(self, task: TaskInfo) -> list[tuple[str, frozenset[str]]]:
        """Return the placements that keep R3 and R5."""
        if not task.logged:
            return self.list_placements(task)
        rank = {c: self.table[task.id, c][0] for c in self.clients}
        found = []
        for active, standbys in self.list_placements(task):
            others = [rank[c] for c in self.clients if c != active and c not in standbys]
            if rank[active] == min(rank.values()) and all(rank[s] <= min(others, default=rank[s]) for s in standbys):
                found.append((active, standbys))
        return found

    def enumerate_all(self) -> Iterator[Copies]:
        """Yield all placements that keep R1, R2 and R4."""
        return self._combine([self.list_placements(task) for task in self.state.tasks])

    def enumerate_first(self) -> Iterator[Copies]:
        """Yield all placements that keep R1 to R5."""
        return self._combine([self.list_first_placements(task) for task in self.state.tasks])

    def list_balanced(self) -> list[Copies]:
        """Return the balanced placements that keep R1, R2 and R4."""
        return [copies for copies in self.enumerate_all() if self.is_balanced(copies)]

    def _combine(self, options: list[list[tuple[str, frozenset[str]]]]) -> Iterator[Copies]:
        ids = [t.id for t in self.state.tasks]
        for choice in itertools.product(*options):
            yield dict(zip(ids, choice, strict=True))

    @cached_property
    def units(self) -> dict[str, Fraction]:
        return {c.process_id: c.threads * Fraction(round(c.capacity * 10**6)) for c in self.state.clients}

    def compute_share(self, tasks: int, copies: int) -> dict[str, Fraction]:
        """Return each client's share of `copies` copies of each of `tasks` tasks, at most one copy of a task on a client."""
        drains = {c.process_id for c in self.state.clients if c.draining}
        tiers = [[c for c in self.clients if c not in drains], sorted(drains)]
        if not tiers[0]:
            tiers = [self.clients, []]
        share = dict.fromkeys(self.clients, Fraction(0))
        left = Fraction(tasks * copies)
        for tier in tiers:
            open_ = list(tier)
            while open_ and left:
                total = sum(self.units[c] for c in open_)
                full = [c for c in open_ if left * self.units[c] / total > tasks]
                if not full:
                    for c in open_:
                        share[c] = left * self.units[c] / total
                    left = Fraction(0)
                for c in full:
                    share[c] = Fraction(tasks)
                left -= tasks * len(full)
                open_ = [c for c in open_ if c not in full]
        return share

    def find_nearest(self, shares: dict[str, Fraction]) -> dict[str, tuple[int, int]]:
        """Return the least and greatest count of each client among the roundings nearest to the shares."""
        total = sum(shares.values())
        roundings = [c for c in itertools.product(*((floor(s), ceil(s)) for s in shares.values())) if sum(c) == total]

        def measure(counts: tuple[int, ...]) -> Fraction:
            return sum((abs(n - s) for n, s in zip(counts, shares.values(), strict=True)), Fraction(0))

        least = min(map(measure, roundings))
        best = [counts for counts in roundings if measure(counts) == least]
        return {client: (min(each), max(each)) for client, each in zip(shares, zip(*best, strict=True), strict=True)}

    @cached_property
    def groups(self) -> dict[str, tuple[str, int]]:
        return {t.id: t.task_id.subtopology_key for t in self.state.tasks}

    @cached_property
    def shares(self) -> list[tuple[int, str, object, int, int]]:
        """Return (family, client, subtopology, low, high) of each share."""
        found: list[tuple[int, str, object, int, int]] = []
        stateful = [t for t in self.state.tasks if t.stateful]
        logged = [t for t in self.state.tasks if t.logged]
        spare = self.state.options.balance_factor - 1
        for family, tasks, copies in (
            (0, len(self.state.tasks), 1),
            (1, len(stateful), 1),
            (2, len(logged), self.standbys + 1),
        ):
            shares = self.compute_share(tasks, copies)
            nearest = self.find_nearest(shares)
            for client, share in shares.items():
                low, high = nearest[client] if family == 0 else (floor(share), ceil(share))
                found.append((family, client, None, max(0, low - spare // 2), high + (spare + 1) // 2))
        for group in set(self.groups.values()):
            mine = [t for t in self.state.tasks if self.groups[t.id] == group]
            for client, share in self.compute_share(len(mine), 1).items():
                found.append((3, client, group, floor(share), ceil(share)))
            if mine[0].logged:
                for client, share in self.compute_share(len(mine), self.standbys + 1).items():
                    found.append((4, client, group, floor(share), ceil(share)))
        return found

    def measure_imbalance(self, copies: Copies) -> list[int]:
        """Return the imbalances of the five families, in order."""
        imbalance = [0] * 5
        info = {t.id: t for t in self.state.tasks}
        for family, client, group, low, high in self.shares:
            count = 0
            for task, (active, standbys) in copies.items():
                if group is not None and self.groups[task] != group:
                    continue
                holds = (active == client) if family in (0, 1, 3) else (active == client or client in standbys)
                right = {0: True, 1: info[task].stateful, 2: info[task].logged, 3: True, 4: True}[family]
                count += holds and right
            away = max(low - count, count - high, 0)
            imbalance[family] += away * (away + 1) // 2
        return imbalance

    def is_balanced(self, copies: Copies) -> bool:
        return not any(self.measure_imbalance(copies))

    def count_active_moves(self, copies: Copies) -> int:
        moves = 0
        for task, (active, _) in copies.items():
            owners = [c.process_id for c in self.state.clients if task in c.previous_active]
            moves += bool(owners) and active not in owners
        return moves

    def count_active_migrations(self, plan: Copies) -> int:
        """Return goal (e): owned tasks that move, and unowned tasks whose new owner is not caught up."""
        owned = {task for client in self.state.clients for task in client.previous_active}
        cold = sum(self.table[task, active][0] > 0 for task, (active, _) in plan.items() if task not in owned)
        return self.count_active_moves(plan) + cold

    def count_standby_migrations(self, copies: Copies) -> int:
        moves = 0
        for task, (_, standbys) in copies.items():
            had = {c.process_id for c in self.state.clients if task in c.previous_standby}
            known = any(task in c.previous_active or task in c.previous_standby for c in self.state.clients)
            if known:
                moves += len(standbys - had)
        return moves

    def measure_plan(self, plan: Copies) -> tuple[int, int, int, int, int]:
        """Return goals (b) to (f), with (b) and (c) for the first answer that suits the plan best."""
        work = cold = actives_not_caught_up = 0
        for task in self.state.tasks:
            active, standbys = plan[task.id]
            options = []
            for first_active, first_standbys in self.list_first_placements(task):
                union = {active, first_active} | standbys | first_standbys
                ranks = [self.table[task.id, c] for c in union]
                options.append((sum(cost for rank, cost in ranks if rank), sum(rank > 0 for rank, _ in ranks)))
            best = min(options)
            work += best[0]
            cold += best[1]
            actives_not_caught_up += task.logged and self.table[task.id, active][0] > 0
        return work, cold, actives_not_caught_up, self.count_active_migrations(plan), self.count_standby_migrations(plan)

    def find_best_plan(self) -> tuple[int, int, int, int, int] | None:
        return min(map(self.measure_plan, self.list_balanced()), default=None)

    def find_best_now(self) -> int | None:
        """Return the fewest active moves of a balanced assignment that keeps R1 to R5, or None without such an assignment."""
        return min(map(self.count_active_moves, filter(self.is_balanced, self.enumerate_first())), default=None)

    def measure_rebalance(self, answer: Copies, plan: Copies) -> tuple[int, int, int, int, int]:
        """Return goals (i) to (v), the first and the third negated so that all are minimised."""
        planned = off = led = 0
        for task, (active, standbys) in answer.items():
            p, s = plan[task]
            planned += len({active, *standbys} & {p, *s})
            off += sum(cost for c in {active, *standbys} - {p, *s} for rank, cost in [self.table[task, c]] if rank)
            led += active == p
        imbalance = self.measure_imbalance(answer)
        return -planned, off, -led, self.count_active_moves(answer), imbalance[0] + imbalance[1] + imbalance[3]

    def find_best_rebalance(self, plan: Copies) -> tuple[int, int, int, int, int]:
        return min(self.measure_rebalance(answer, plan) for answer in self.enumerate_first())
