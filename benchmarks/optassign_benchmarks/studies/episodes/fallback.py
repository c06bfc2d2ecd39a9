"""An outage of the service: the planner in the plug-in's jar compared with the service, on the groups of `time-to-balance`.

Both begin with no rates known. The limit is of each one's own plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from optassign_benchmarks.jvm_planner import JvmPlanner
from optassign_benchmarks.studies.episodes.time_to_balance import SIZES, SLOTS, Job, Outcome, list_jobs, play
from optassign_benchmarks.tables import Table, make_table

_SERVICE = "cp-sat"


def run(*, quick: bool = False, jobs: int = 2) -> tuple[list[Table], list[str]]:
    """The table, and where the planner has more downtime than Kafka's default, or does not settle.

    quick: the smaller size; of the larger one it is medium state with most warm-ups, since each takes minutes.
    """
    groups = [job for job in list_jobs(quick=True) if not job.noise]
    if not quick:
        some = [job for job in groups if job.slots == max(SLOTS) and job.state == "medium"]
        groups += [replace(job, tasks=tasks, clients=clients) for tasks, clients in SIZES[1:] for job in some]
    listed = [replace(job, assignor=name) for job in groups for name in (_SERVICE, JvmPlanner.name)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = dict(zip(listed, pool.map(play, listed), strict=True))
    return [tabulate(groups, found)], find_wrong(found)


def tabulate(groups: list[Job], found: Mapping[Job, Outcome]) -> Table:
    """A row for each group: the service's figures and the planner's."""
    rows = []
    for job in groups:
        both = [found[replace(job, assignor=name)] for name in (_SERVICE, JvmPlanner.name)]
        cells = (
            [f"{o.settled_s:,.0f}" for o in both],
            [f"{o.passes}" for o in both],
            [f"{o.imbalance_s:,.0f}" for o in both] + [f"{both[0].kafka_imbalance_s:,.0f}"],
            [f"{o.down_s:,.0f}" for o in both] + [f"{both[0].kafka_down_s:,.0f}"],
            [f"{o.moves} ({o.moves_logged})" for o in both],
        )
        group = (f"{job.tasks:,} × {job.clients}", job.shape, job.slots, job.state)
        rows.append((*group, *(" \\| ".join(cell) for cell in cells)))
    head = (
        *("tasks × clients", "shape", "warm-ups", "state", "settled, s", "passes"),
        *("imbalance × s (Kafka's last)", "downtime, task-s (Kafka's last)", "moves (logged)"),
    )
    return make_table(head, rows)


def find_wrong(found: Mapping[Job, Outcome]) -> list[str]:
    """Groups of the planner's that do not settle, or stop longer than under Kafka's default."""
    planner = {job: outcome for job, outcome in found.items() if job.assignor == JvmPlanner.name}
    return [
        f"{job}: settled after {o.settled_s:,.0f} s, {o.down_s:,.0f} s of downtime, Kafka's default {o.kafka_down_s:,.0f}"
        for job, o in planner.items()
        if o.settled_s == float("inf") or o.down_s > o.kafka_down_s
    ]
