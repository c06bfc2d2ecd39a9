"""Seconds and memory: of solving, of whole processes, of limits kept, of the command line's start."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.parsing.reading import read_assignment, read_state
from optassign.generate import Shape
from optassign.judging.validation import validate
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.tables import Table, make_table

_SIZES = ((1_000, 100, 20, 5), (10_000, 1_000, 100, 3), (100_000, 1_000, 200, 1))
"""Tasks, clients, warm-ups, runs."""
_LIMIT = 10.0
"""Seconds: the default."""
_SHORT_LIMIT = 0.2
"""Seconds; shorter than most answers take, so that the clock ends the search."""
_SHAPES: tuple[Shape, ...] = ("scale-out", "scale-in", "cold")


def run() -> tuple[list[Table], list[str]]:
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
