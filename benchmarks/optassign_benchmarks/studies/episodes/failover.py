"""A client dies: how many active tasks the fullest of the others has at once, and what it takes until they are even.

Each assignor arranges the group itself, from nothing, until it rests: all clients at once, or a part of them first and the
others later, which is how groups grow. Then one client after the other is taken away from that rest. Standbys are caught up,
as they are while a group runs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from optassign.assignor import TaskAssignor
from optassign.formats.state import ApplicationState
from optassign.simulation.convergence import converge
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.jvm_planner import JvmPlanner, create_also_planner
from optassign_benchmarks.studies.episodes.own_arrangement import arrange, replace_clients
from optassign_benchmarks.tables import Table, make_table

SIZES = ((12, 2, 3, 2), (100, 7, 10, 2), (1_000, 75, 100, 20))
"""Tasks, fewer clients, all clients, warm-ups."""
STANDBYS = (1, 2)
ASSIGNORS = ("cp-sat", "greedy", JvmPlanner.name, "high-availability", "sticky")
_MOST_DEAD = 10
_MOST_REBALANCES = 300


@dataclass(frozen=True)
class Job:
    """One group under one assignor."""

    tasks: int
    fewer: int
    clients: int
    warmups: int
    standbys: int
    grown: bool
    assignor: str


@dataclass(frozen=True)
class Death:
    """The result of one client's death."""

    too_many: int
    """Active tasks of the fullest client beyond an even share, after the first rebalance."""
    rebalances: int
    """Until the group rests."""
    moves: int
    """Moves of actives, without the dead client's tasks."""


def run(*, quick: bool = False, jobs: int = 2) -> tuple[list[Table], list[str]]:
    """A row for each group and assignor."""
    listed = list(list_jobs(quick))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        deaths = dict(zip(listed, pool.map(play, listed), strict=True))
    rows = [
        (
            f"{job.tasks:,} × {job.clients} × {job.standbys}",
            f"{job.fewer}, then {job.clients}" if job.grown else "all at once",
            job.assignor,
            f"{statistics.fmean(death.too_many for death in found):.1f}",
            max(death.too_many for death in found),
            f"{statistics.fmean(death.rebalances for death in found):.1f}",
            f"{statistics.fmean(death.moves for death in found):.1f}",
        )
        for job, found in deaths.items()
    ]
    head = (
        *("tasks × clients × standbys", "clients came", "assignor"),
        *("too many on one, mean", "most", "rebalances", "further moves"),
    )
    return [make_table(head, rows)], []


def list_jobs(quick: bool) -> Iterator[Job]:
    """The grid."""
    for tasks, fewer, clients, warmups in SIZES[:2] if quick else SIZES:
        for standbys in STANDBYS:
            for grown in (False, True):
                for assignor in ASSIGNORS:
                    yield Job(tasks, fewer, clients, warmups, min(standbys, clients - 1), grown, assignor)


def play(job: Job) -> list[Death]:
    """Arrange the group, and take clients away, one at a time."""
    assignor = create_also_planner(job.assignor)
    whole = Spec("cold", job.tasks, job.clients, job.standbys, job.warmups, seed=1, stateless=0.0).generate()
    state = whole
    if job.grown:
        state = arrange(replace_clients(whole, whole.clients[: job.fewer]), assignor)
        state = replace_clients(state, (*state.clients, *whole.clients[job.fewer :]))
    state = arrange(state, assignor)
    step = math.ceil(job.clients / _MOST_DEAD)
    return [_take_away(state, n, assignor) for n in range(0, job.clients, step)]


def _take_away(state: ApplicationState, number: int, assignor: TaskAssignor) -> Death:
    state = replace_clients(state, (client for n, client in enumerate(state.clients) if n != number))
    most = max(len(client.active) for client in assignor.assign(state).clients)
    result = converge(state, assignor, max_rebalances=_MOST_REBALANCES)
    return Death(most - math.ceil(len(state.tasks) / len(state.clients)), result.rebalances, result.moved_active)
