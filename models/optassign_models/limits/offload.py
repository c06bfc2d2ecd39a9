"""Temporary offload under limits: the options that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optassign_models.limits.limit import Kind, PlacementLimit
from optassign_models.offload import OffloadOptions


def restrict_offload(options: OffloadOptions, limits: Sequence[PlacementLimit]) -> OffloadOptions:
    """The options without places where a limit does not want the task.

    Logged tasks change roles, so only pins speak of them. A stateless task that a limit speaks of stays where it is, as the
    flow does not count copies by limit.
    """
    problem = options.problem
    columns, pools = options.columns.copy(), options.pools.copy()
    stays = problem.col_client == options.start[problem.col_task]
    for limit in limits:
        if limit.kind is Kind.PIN:
            barred = limit.tasks[problem.col_task] & ~limit.clients[problem.col_client]
            tasks = limit.tasks
        else:
            tasks = limit.tasks if limit.weight is None or limit.kind is Kind.FORBID else limit.weight > 0
            barred = tasks[problem.col_task] & options.pools[problem.col_task]
        columns &= ~barred | stays
        pools &= ~tasks
    return replace(options, columns=columns, pools=pools)
