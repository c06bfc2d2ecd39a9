"""A day of uneven load in the simulator, with weights by rates, weights by changelog, and counted tasks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product

from optassign.simulation.timed.scenario import Scenario, read_scenario
from optassign.simulation.timed.simulator import simulate, summarise
from optassign_benchmarks.jvm_planner import JvmPlanner, create_also_planner
from optassign_benchmarks.runner import Layout, Study, StudyCase, first

_OWN, _KAFKA = ("cp-sat", JvmPlanner.name), "kafka-high-availability"
_MOST_BACKLOG = 1_000_000
"""Greatest accepted backlog in records, for an assignor that weighs tasks."""


def _make_day(weigh_by: str) -> Scenario:
    day = read_scenario("uneven-load")
    return day.model_copy(update={"options": day.options.model_copy(update={"weigh_by": weigh_by})})


def _play(day: Scenario, assignor: str) -> Mapping[str, float | int | None]:
    return summarise(simulate(day, create_also_planner(assignor)))


UNEVEN_LOAD = Study(
    cases=lambda quick: [
        StudyCase(partial(_make_day, weigh_by), {"tasks": tasks}, assignors=(assignor,))
        for assignor, (weigh_by, tasks) in (
            *product(_OWN, (("rates", "by rates"), ("changelog", "by changelog"), ("given", "counted"))),
            (_KAFKA, ("given", "counted")),
        )
    ],
    assignors=(),
    parts=(_play,),
    layouts=(
        Layout(
            {"assignor": "assignor", "tasks are weighed": "tasks"},
            {
                "backlog, records × s": lambda rows: f"{rows[0].backlog_s / 1e9:.1f} · 10⁹",
                "greatest backlog, records": lambda rows: round(rows[0].most_backlog),
                "moves of actives": first("moves"),
                "restored, offsets": lambda rows: round(rows[0].restored),
                "rebalances": first("rebalances"),
                "downtime, task-seconds": lambda rows: round(rows[0].down_task_s),
            },
        ),
    ),
    demands=lambda rows: (
        f"{row}: a backlog of {row.most_backlog:,.0f} records"
        for row in rows
        if row.tasks != "counted" and row.most_backlog > _MOST_BACKLOG
    ),
)
