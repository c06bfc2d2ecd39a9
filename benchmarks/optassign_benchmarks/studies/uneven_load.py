"""A day of uneven load in the simulator, with weights by rates, by changelog, and with counted tasks."""

from __future__ import annotations

from itertools import product

from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import simulate, summarise
from optassign_benchmarks.jvm_planner import JvmPlanner, create_also_planner
from optassign_benchmarks.results import Table, make_table

_KAFKA = "kafka-high-availability"
_WEIGHTS = {"rates": "weights by rates", "changelog": "by changelog", "given": "counting"}
"""`options.weigh_by` → the name of its column."""
_MOST_BACKLOG = 1_000_000
"""Records, of an assignor that weighs tasks."""


def run() -> tuple[list[Table], list[str]]:
    """The table, and the backlogs that weights leave too large."""
    scenario, runs = read_scenario("uneven-load"), {}
    for assignor, weigh_by in (*product(("cp-sat", JvmPlanner.name), _WEIGHTS), (_KAFKA, "given")):
        weighed = scenario.model_copy(update={"options": scenario.options.model_copy(update={"weigh_by": weigh_by})})
        name = "Kafka's default" if assignor == _KAFKA else f"{assignor}, {_WEIGHTS[weigh_by]}"
        runs[name] = summarise(simulate(weighed, create_also_planner(assignor)))
    rows = [
        ("backlog, records × s", *(f"{_read(run, 'backlog_s') / 1e9:.1f} · 10⁹" for run in runs.values())),
        ("greatest backlog, records", *(round(_read(run, "most_backlog")) for run in runs.values())),
        ("moves of actives", *(int(_read(run, "moves")) for run in runs.values())),
        ("restored, offsets", *(round(_read(run, "restored")) for run in runs.values())),
        ("rebalances", *(int(_read(run, "rebalances")) for run in runs.values())),
        ("downtime, task-seconds", *(round(_read(run, "down_task_s")) for run in runs.values())),
    ]
    large = {name: _read(run, "most_backlog") for name, run in runs.items() if name.endswith(("rates", "changelog"))}
    wrong = [f"{name}: a backlog of {backlog:,.0f} records" for name, backlog in large.items() if backlog > _MOST_BACKLOG]
    return [make_table(("", *runs), rows)], wrong


def _read(run: dict[str, float | int | None], name: str) -> float:
    value = run[name]
    assert value is not None
    return value
