"""Whole convergences beside their proven bound: restored offsets, rebalances, seconds."""

from __future__ import annotations

import math
import time

from optassign.assignment import TaskAssignment
from optassign.assignor import assign
from optassign.benchmarks.grid import Spec
from optassign.benchmarks.tables import markdown
from optassign.generate import SHAPES
from optassign.metrics import ranks
from optassign.simulation.convergence import converge
from optassign.state import ApplicationState

SIZES = ((100, 10, 2), (1000, 100, 20))
"""Tasks, clients, warm-ups."""
SETTLED = ("cold", "steady", "scale-out", "scale-in", "restart")
"""Shapes whose group was settled before."""


def specs() -> list[Spec]:
    """Every shape at both sizes with 0 to 3 standbys, equal and mixed threads."""
    return [
        Spec(shape, tasks, clients, standbys, warmups, threads=threads, seed=seed)
        for tasks, clients, warmups in SIZES
        for shape in SHAPES
        for standbys in (0, 1, 2, 3)
        for threads, seed in ((1, 1), ((1, 4), 2))
    ]


def rebalances_allowed(state: ApplicationState, first: TaskAssignment) -> int:
    """2 + ceil(cold copies of the first plan that are no standbys of the first answer ÷ max_warmup_replicas)."""
    if first.plan is None:
        return 2
    rank = ranks(state)
    standby = {(task, client.process_id) for client in first.clients for task in client.standby}
    logged = {task.id for task in state.tasks if task.logged}
    cold = sum(
        (task, client.process_id) not in standby and rank.of(task, client.process_id) > 0
        for client in first.plan
        for task in (*client.active, *client.standby)
        if task in logged
    )
    return 2 + math.ceil(cold / state.configs.max_warmup_replicas)


def run() -> tuple[str, list[str]]:
    """The table, and what missed its mark."""
    rows: list[tuple[object, ...]] = []
    missed: list[str] = []
    for spec in specs():
        state = spec.generate()
        first = assign(state, "cp-sat")
        allowed = rebalances_allowed(state, first)
        for keep_state in (False, True):
            start = time.perf_counter()
            mine = converge(state, "cp-sat", keep_state=keep_state)
            seconds = time.perf_counter() - start
            greedy = converge(state, "greedy", keep_state=keep_state)
            bound = mine.lower_bound or 0
            ratio, greedy_ratio = _ratio(mine.restored_offsets, bound), _ratio(greedy.restored_offsets, bound)
            threads = "1" if spec.threads == 1 else "1–4"
            kept = "kept" if keep_state else "deleted"
            size = f"{spec.tasks:,} × {spec.clients}"
            rows.append(
                (
                    size,
                    spec.shape,
                    spec.standbys,
                    threads,
                    kept,
                    bound,
                    ratio,
                    mine.rebalances,
                    allowed,
                    greedy_ratio,
                    greedy.rebalances,
                    seconds,
                )
            )
            good = mine.stable and greedy.stable and not mine.violations and not greedy.violations
            if not good or (spec.shape in SETTLED and (ratio > 1.01 or mine.rebalances > allowed or greedy_ratio > 1.3)):
                missed.append(
                    f"{spec.name} state {kept}: cp-sat {ratio:.3f} in {mine.rebalances} of {allowed}, greedy {greedy_ratio:.3f}"
                    f" in {greedy.rebalances}, stable {mine.stable} {greedy.stable}"
                )
    head = (
        "tasks × clients",
        "shape",
        "standbys",
        "threads",
        "dropped state",
        "bound (offsets)",
        "cp-sat ÷ bound",
        "rebalances",
        "allowed",
        "greedy ÷ bound",
        "greedy rebalances",
        "cp-sat s",
    )
    return markdown(head, rows), missed


def _ratio(value: int, bound: int) -> float:
    return value / bound if bound else float(value == 0) or math.inf
