"""Seconds, memory and proofs: of solving, of whole processes, of limits kept, of the command line's start.

*Beside Kafka*: seconds of one answer compared with Kafka's real high-availability class, on the same snapshots, in one run. The
calls alternate, so that other load of the machine meets all alike. For optassign it is the whole call from snapshot to answer,
validation and report included. Kafka's: the call inside a warmed JVM, objects made before. *Proofs*: how many plans are proven
in all goals, and what finding them takes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from optassign.assignor import assign, create
from optassign.assignors.baselines.kafka import KafkaBrokerSticky, KafkaBrokerSticky44, KafkaHighAvailability, KafkaSticky
from optassign.formats.assignment import TaskAssignment
from optassign.formats.reading import read_assignment, read_state
from optassign.formats.state import ApplicationState
from optassign.generate import SHAPES, Shape
from optassign.judging.validation import validate
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.results import Table, make_table
from optassign_benchmarks.runner import Layout, Study, StudyCase, count, median

_SIZES = ((1_000, 100, 20, 5), (10_000, 1_000, 100, 3), (100_000, 1_000, 200, 1))
"""Tasks, clients, warm-ups, runs."""
_LIMIT = 10.0
"""Seconds: the default."""
_SHORT_LIMIT = 0.2
"""Seconds; shorter than most answers take, so that the clock ends the search."""
_SHAPES: tuple[Shape, ...] = ("scale-out", "scale-in", "cold")


def run_speed() -> tuple[list[Table], list[str]]:
    """Three tables: solving, limits kept, the start of the command line. None of their figures counts as wrong."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [_solving_table(Path(folder)), _limits_table(Path(folder)), _start_table()]
    return parts, []


def _solving_table(folder: Path) -> Table:
    rows: list[tuple[object, ...]] = []
    for tasks, clients, warmups, runs in _SIZES:
        for shape in _SHAPES if runs > 1 else _SHAPES[:1]:
            snapshot = _write_snapshot(folder, Spec(shape, tasks, clients, 1, warmups, seed=1))
            for assignor in ("cp-sat", "greedy"):
                rows.append((f"{tasks:,} × {clients:,}", shape, assignor, *_measure_assign(snapshot, assignor, runs)))
    head = (
        "tasks × clients × 1",
        "shape",
        "assignor",
        "solving s",
        "assign s, beside reading and writing",
        "whole process s",
        "peak MiB",
        "restore work ÷ bound",
        "proven goals",
        "gaps of the others",
    )
    return make_table(head, rows, f"Time limit of {_LIMIT:.0f} s")


def _measure_assign(snapshot: Path, assignor: str, runs: int) -> tuple[object, ...]:
    """The cells of a row after its assignor: medians over whole processes, and over calls in this process."""
    walls, peak, answer = [], 0, snapshot.with_suffix(".answer")
    for _ in range(runs):
        seconds, memory = _run_command(
            "assign", str(snapshot), "--assignor", assignor, "--time-limit", str(_LIMIT), "--output", str(answer)
        )
        walls.append(seconds)
        peak = max(peak, memory)
    state = read_state(str(snapshot))
    if runs > 1:
        assign(state, assignor)  # imports the solver, which is part of a whole process but not of a call
    calls = []
    for _ in range(runs):
        start = time.perf_counter()
        assign(state, assignor, _LIMIT)
        calls.append(time.perf_counter() - start)
    report = read_assignment(str(answer)).report
    work = next(goal for goal in report.goals if goal.name == "restore_work")
    ratio = "–" if work.bound is None else f"{work.value / work.bound:.4f}" if work.bound else "1"
    proven = ", ".join(f"{g.stage}.{g.name}" for g in report.goals if g.proven) or "–"
    gaps = ", ".join(f"{g.stage}.{g.name} {g.gap:.3f}" for g in report.goals if not g.proven and g.gap is not None) or "–"
    solving = sum(report.seconds.values())
    return solving, statistics.median(calls), statistics.median(walls), peak // 1024, ratio, proven, gaps


def _limits_table(folder: Path) -> Table:
    """How well a short limit is kept, from after reading the snapshot to before writing the answer."""
    rows: list[tuple[object, ...]] = []
    for tasks, clients, warmups, runs in _SIZES[:2]:
        for shape in _SHAPES:
            state = read_state(str(_write_snapshot(folder, Spec(shape, tasks, clients, 1, warmups, seed=1))))
            assign(state, "cp-sat")
            taken: list[float] = []
            answer: TaskAssignment | None = None
            for _ in range(runs):
                start = time.perf_counter()
                answer = assign(state, "cp-sat", time_limit=_SHORT_LIMIT)
                taken.append(time.perf_counter() - start)
            assert answer is not None
            broken = len(validate(state, answer))
            rows.append((f"{tasks:,} × {clients:,}", shape, max(taken), max(0.0, max(taken) - _SHORT_LIMIT), broken))
    head = ("tasks × clients × 1", "shape", "most seconds", "over the limit", "rules broken")
    return make_table(head, rows, f"Time limit of {_SHORT_LIMIT} s")


def _start_table() -> Table:
    """Seconds of a command that loads no solver."""
    seconds = []
    for _ in range(11):
        seconds.append(_run_command("--help")[0])
    rows = [("optassign --help", statistics.median(seconds), max(seconds))]
    return make_table(("command", "median s", "most s"), rows, "Start of the command line")


def _write_snapshot(folder: Path, spec: Spec) -> Path:
    path = folder / f"{spec.name}.json"
    if not path.exists():
        path.write_text(spec.generate().model_dump_json(), encoding="utf-8")
    return path


def _run_command(*arguments: str) -> tuple[float, int]:
    """Seconds and peak memory (KiB) of the command line as a whole process."""
    start = time.perf_counter()
    command = [str(Path(sys.executable).with_name("optassign")), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, usage.ru_maxrss


CASES: tuple[tuple[Shape, int, int, int, int, int], ...] = (
    ("scale-out", 1_000, 100, 20, 7, 5),
    ("steady", 1_000, 100, 20, 7, 5),
    ("scale-out", 6_000, 1_000, 100, 3, 1),
    ("scale-out", 10_000, 1_000, 100, 3, 1),
)
"""Shape, tasks, clients, warm-ups; timed calls, and calls of Kafka's classes before them that are not timed."""
_COMPARED = ("cp-sat", "greedy")
_LONG_LIMIT = 60.0


def run_beside_kafka() -> tuple[list[Table], list[str]]:
    """A row for each size, shape and assignor; wrong: one of optassign's that takes longer than Kafka's default."""
    rows: list[tuple[object, ...]] = []
    missed: list[str] = []
    for shape, tasks, clients, warmups, calls, before in CASES:
        spec = Spec(shape, tasks, clients, 1, warmups, seed=1)
        seconds = _time_calls(spec, calls, before)
        medians = {name: statistics.median(taken) for name, taken in seconds.items()}
        kafka = medians["kafka-high-availability"]
        for name, taken in seconds.items():
            ratio = kafka / medians[name]
            if name in _COMPARED and ratio < 1:
                missed.append(f"{spec.name}: {name} takes {1 / ratio:.2f} times as long")
            spread = f"{min(taken):.3f}–{max(taken):.3f}"
            rows.append((f"{tasks:,} × {clients:,} × 1", shape, name, calls, medians[name], spread, f"{ratio:.1f}"))
    head = (
        "tasks × clients × standbys",
        "shape",
        "assignor",
        "calls",
        "median s",
        "least–most s",
        "times faster than kafka-high-availability",
    )
    return [make_table(head, rows)], missed


def _time_calls(spec: Spec, calls: int, before: int) -> dict[str, list[float]]:
    """Assignor -> seconds of each timed call; `before`: untimed calls of Kafka's classes that warm up the JVM."""
    state = spec.generate()
    ours = {name: create(name, time_limit=_LONG_LIMIT) for name in _COMPARED}
    kafka = {made.name: made for made in (KafkaHighAvailability(), KafkaSticky(), KafkaBrokerSticky(), KafkaBrokerSticky44())}
    for assignor in ours.values():
        assignor.assign(state)  # loads the solver, which is not part of a call
    for timed in kafka.values():
        timed.timed(state, warmup_calls=before, timed_calls=1)
    seconds: dict[str, list[float]] = {name: [] for name in (*ours, *kafka)}
    for _ in range(calls):
        for name, assignor in ours.items():
            start = time.perf_counter()
            assignor.assign(state)
            seconds[name].append(time.perf_counter() - start)
        for name, timed in kafka.items():
            seconds[name].extend(timed.timed(state, timed_calls=1))
    return seconds


PROVEN_SIZES = ((100, 10, 20), (1_000, 100, 4), (10_000, 1_000, 1))
"""Tasks, clients, seeds of each kind."""
_LATER = ("actives_not_caught_up", "active_migrations", "standby_migrations")


def prove(state: ApplicationState, assignor: str) -> dict[str, object]:
    """The greatest gap of the plan's goals, and its seconds; a group at rest needs no plan."""
    report = assign(state, assignor, time_limit=60.0).report
    goals = [goal for goal in report.goals if goal.stage == "plan"]
    if not any(goal.name in _LATER for goal in goals):
        return {"needs_plan": False}
    gap = max(1.0 if goal.gap is None else goal.gap for goal in goals)
    return {"needs_plan": True, "gap": gap, "plan_s": report.seconds["plan"]}


PROOFS = Study(
    cases=lambda quick: (
        StudyCase(
            Spec(shape, tasks, clients, standbys, tasks // 50, seed=seed, stateless=stateless),
            {"size": f"{tasks:,} × {clients:,}"},
        )
        for tasks, clients, seeds in PROVEN_SIZES[: 2 if quick else None]
        for shape, seed, stateless, standbys in product(SHAPES, range(1, seeds + 1), (0.0, 0.2), (0, 1, 2))
    ),
    assignors=("cp-sat",),
    parts=(prove,),
    layouts=(
        Layout(
            {"tasks × clients": "size"},
            {
                "snapshots that need a plan": len,
                "proven in every goal": count(lambda row: row.gap == 0),
                "greatest gap": lambda rows: f"{max(row.gap for row in rows):.2%}",
                "median seconds": median("plan_s"),
                "longest": lambda rows: max(row.plan_s for row in rows),
            },
            keep=lambda row: bool(row.needs_plan),
        ),
    ),
    demands=lambda rows: (f"{row.case}: gap {row.gap:.2%}" for row in rows if row.needs_plan and row.gap > 0),
    jobs=1,
)
