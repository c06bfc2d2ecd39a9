"""How many plans are proven in all goals, and what finding them takes: by shape and size."""

from __future__ import annotations

from statistics import median

from optassign.assignor import assign
from optassign.generate import SHAPES, generate
from optassign.generate.dealing import NotBalancedError
from optassign_benchmarks.tables import Table, make_table

SIZES = ((100, 10, 20), (1_000, 100, 4), (10_000, 1_000, 1))
"""Tasks, clients, seeds of each kind."""
_STATELESS, _STANDBYS = (0.0, 0.2), (0, 1, 2)
_LATER = ("actives_not_caught_up", "active_migrations", "standby_migrations")
_HEAD = ("tasks × clients", "snapshots that need a plan", "proven in every goal", "greatest gap", "median seconds", "longest")


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """The table, and each plan that is not proven. quick: without the greatest size."""
    rows, wrong = [], []
    for tasks, clients, seeds in SIZES[:2] if quick else SIZES:
        seconds: list[float] = []
        gaps: list[float] = []
        for shape in SHAPES:
            for seed in range(1, seeds + 1):
                for stateless in _STATELESS:
                    for standbys in _STANDBYS:
                        try:
                            state = generate(shape, tasks, clients, standbys, tasks // 50, seed=seed, stateless=stateless)
                        except NotBalancedError:
                            continue
                        report = assign(state, time_limit=60.0).report
                        goals = [goal for goal in report.goals if goal.stage == "plan"]
                        if not any(goal.name in _LATER for goal in goals):
                            continue
                        seconds.append(report.seconds["plan"])
                        gaps.append(max(1.0 if goal.gap is None else goal.gap for goal in goals))
                        if gaps[-1] > 0:
                            wrong.append(f"{shape} {tasks} × {clients}, seed {seed}: gap {gaps[-1]:.2%}")
        proven = sum(gap == 0 for gap in gaps)
        size = f"{tasks:,} × {clients:,}"
        rows.append((size, len(gaps), proven, f"{max(gaps):.2%}", round(median(seconds), 3), round(max(seconds), 3)))
    return [make_table(_HEAD, rows)], wrong
