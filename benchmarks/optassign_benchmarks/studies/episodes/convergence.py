"""Whole convergences and their proven bound: restored offsets, rebalances, seconds."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, field

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generate import SHAPES
from optassign.measuring.ranks import Ranks
from optassign.simulation.convergence import Convergence, converge
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.tables import Table, make_table

SIZES = ((100, 10, 2), (1000, 100, 20))
"""Tasks, clients, warm-ups."""
SETTLED = ("cold", "steady", "scale-out", "scale-in", "restart")
"""Shapes whose group was at rest before something happened to it: only these are held to the bound."""


def specs() -> list[Spec]:
    """Snapshots of every shape at both sizes with 0 to 3 standbys, equal and mixed threads."""
    return [
        Spec(shape, tasks, clients, standbys, warmups, threads=threads, seed=seed)
        for tasks, clients, warmups in SIZES
        for shape in SHAPES
        for standbys in (0, 1, 2, 3)
        for threads, seed in ((1, 1), ((1, 4), 2))
    ]


def count_allowed_rebalances(state: ApplicationState, first: TaskAssignment) -> int:
    """The rebalances that a convergence may take, from its first answer.

    2 + ceil(copies not caught up of the first plan that are no standbys of the first answer ÷ max_warmup_replicas).
    """
    if first.plan is None:
        return 2
    rank = Ranks(state)
    standby = {(task, client.process_id) for client in first.clients for task in client.standby}
    logged = {task.id for task in state.tasks if task.logged}
    cold = sum(
        (task, client.process_id) not in standby and rank.of(task, client.process_id) > 0
        for client in first.plan
        for task in (*client.active, *client.standby)
        if task in logged
    )
    return 2 + math.ceil(cold / state.configs.max_warmup_replicas)


@dataclass
class _Row:
    """The worst over all numbers of standbys and threads, for one size, shape and fate of dropped state."""

    convergences: int = 0
    ratio: float = 0.0
    greedy_ratio: float = 0.0
    rebalances: int = 0
    spare: int = 1 << 30
    """The least difference of rebalances allowed and needed."""
    greedy_rebalances: int = 0
    seconds: list[float] = field(default_factory=list)


def run() -> tuple[list[Table], list[str]]:
    """The table, and each convergence that restored too much, took too long, broke a rule or did not come to rest."""
    rows: dict[tuple[str, str, str], _Row] = {}
    missed: list[str] = []
    for spec in specs():
        state = spec.generate()
        allowed = count_allowed_rebalances(state, assign(state, "cp-sat"))
        for keep_state in (False, True):
            start = time.perf_counter()
            cp_sat = converge(state, "cp-sat", keep_state=keep_state)
            seconds = time.perf_counter() - start
            greedy = converge(state, "greedy", keep_state=keep_state)
            ratio, greedy_ratio = _ratio(cp_sat, cp_sat), _ratio(greedy, cp_sat)
            kept = "kept" if keep_state else "deleted"
            row = rows.setdefault((f"{spec.tasks:,} × {spec.clients}", spec.shape, kept), _Row())
            row.convergences += 1
            row.ratio, row.greedy_ratio = max(row.ratio, ratio), max(row.greedy_ratio, greedy_ratio)
            row.rebalances = max(row.rebalances, cp_sat.rebalances)
            row.greedy_rebalances = max(row.greedy_rebalances, greedy.rebalances)
            row.spare = min(row.spare, allowed - cp_sat.rebalances)
            row.seconds.append(seconds / (cp_sat.rebalances + 1))
            good = cp_sat.stable and greedy.stable and not cp_sat.violations and not greedy.violations
            if not good or (spec.shape in SETTLED and (ratio > 1.01 or cp_sat.rebalances > allowed or greedy_ratio > 1.3)):
                missed.append(
                    f"{spec.name}, dropped state {kept}: cp-sat {ratio:.3f} in {cp_sat.rebalances} of {allowed}, greedy"
                    f" {greedy_ratio:.3f} in {greedy.rebalances}; stable: {cp_sat.stable}, {greedy.stable}"
                )
    head = (
        "tasks × clients",
        "shape",
        "dropped state",
        "convergences",
        "cp-sat ÷ bound, most",
        "rebalances, most",
        "fewer than allowed by, least",
        "greedy ÷ bound, most",
        "greedy rebalances, most",
        "cp-sat s a rebalance, median",
    )
    table = [
        (
            *key,
            r.convergences,
            r.ratio,
            r.rebalances,
            r.spare,
            r.greedy_ratio,
            r.greedy_rebalances,
            statistics.median(r.seconds),
        )
        for key, r in rows.items()
    ]
    return [make_table(head, table)], missed


def _ratio(result: Convergence, bounded: Convergence) -> float:
    """Restored offsets ÷ the bound that cp-sat's first answer proved."""
    bound = bounded.lower_bound or 0
    if not bound:
        return 1.0 if not result.restored_offsets else math.inf
    return result.restored_offsets / bound
