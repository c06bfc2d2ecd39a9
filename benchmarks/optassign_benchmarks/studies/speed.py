"""Seconds, memory and proofs: solving, whole processes, kept time limits, and the start of the command line.

*Next to Kafka*: seconds of one answer compared with Kafka's real high-availability class, on the same snapshots, in one run.
The calls alternate, so that the machine's other load affects all alike. For optassign the time covers the whole call from
snapshot to answer, with validation and report. For Kafka it covers the call inside a warmed JVM, with prepared objects.
*Proofs*: the number of plans that are proven in all goals, and their seconds.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from optassign.assignor import assign, create
from optassign.assignors.baselines.kafka import KafkaBrokerSticky, KafkaBrokerSticky44, KafkaHighAvailability, KafkaSticky
from optassign.formats.json_input import read_assignment, read_state
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape
from optassign.judging.validation import validate
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.runner import Layout, PlayedRow, PlayedStudy, Study, StudyCase, count, median

_SIZES = ((1_000, 100, 20, 5), (10_000, 1_000, 100, 3), (100_000, 1_000, 200, 1))
"""Tasks, clients, warm-ups, runs."""
_LIMIT = 10.0
"""Seconds: the default."""
_SHORT_LIMIT = 0.2
"""Seconds; shorter than most answers, so that the clock ends the search."""
_STARTS = 11
"""Number of starts of the command line; odd, so that the median is one of them."""
_SHAPES: tuple[Shape, ...] = ("scale-out", "scale-in", "cold")


def _measure_assign(_: None, case: tuple[Spec, int]) -> Iterator[PlayedRow]:
    """Yield a row for each assignor: medians over whole processes, and over calls in this process."""
    spec, runs = case
    for assignor in ("cp-sat", "greedy"):
        with tempfile.TemporaryDirectory() as folder:
            snapshot = _write_snapshot(Path(folder), spec)
            answer = snapshot.with_suffix(".answer")
            command = ("assign", str(snapshot), "--assignor", assignor, "--time-limit", str(_LIMIT), "--output", str(answer))
            walls, memory = zip(*(_run_command(*command) for _ in range(runs)), strict=True)
            state, report = read_state(str(snapshot)), read_assignment(str(answer)).report
        if runs > 1:
            assign(state, assignor)  # imports the solver, which is part of a whole process but not of a call
        work = next(goal for goal in report.goals if goal.name == "restore_work")
        gaps = [f"{g.stage}.{g.name} {g.gap:.3f}" for g in report.goals if not g.proven and g.gap is not None]
        cells = {
            **_describe(spec),
            "assignor": assignor,
            "solving s": sum(report.seconds.values()),
            "assign s, without reading and writing": statistics.median(_time(state, assignor, _LIMIT) for _ in range(runs)),
            "whole process s": statistics.median(walls),
            "peak MiB": max(memory) // 1024,
            "restore work ÷ bound": "–" if work.bound is None else f"{work.value / work.bound:.4f}" if work.bound else "1",
            "proven goals": ", ".join(f"{g.stage}.{g.name}" for g in report.goals if g.proven) or "–",
            "gaps of the others": ", ".join(gaps) or "–",
        }
        yield PlayedRow(cells)


def _describe(spec: Spec) -> Mapping[str, object]:
    return {"tasks × clients × 1": f"{spec.tasks:,} × {spec.clients:,}", "shape": spec.shape}


def _time(state: ApplicationState, assignor: str, limit: float) -> float:
    start = time.perf_counter()
    assign(state, assignor, limit)
    return time.perf_counter() - start


def _keep_limit(_: None, case: tuple[Spec, int]) -> Iterator[PlayedRow]:
    """Yield a row of the time beyond a short limit, from after reading the snapshot to before writing the answer."""
    spec, runs = case
    state = spec.generate()
    assign(state, "cp-sat")
    longest = max(_time(state, "cp-sat", _SHORT_LIMIT) for _ in range(runs))
    broken = len(validate(state, assign(state, "cp-sat", _SHORT_LIMIT)))
    over = max(0.0, longest - _SHORT_LIMIT)
    yield PlayedRow({**_describe(spec), "most seconds": longest, "over the limit": over, "rules broken": broken})


def _start(_: None, command: str) -> Iterator[PlayedRow]:
    """Yield a row of the seconds of a command that loads no solver."""
    seconds = [_run_command(command)[0] for _ in range(_STARTS)]
    yield PlayedRow({"command": f"optassign {command}", "median s": statistics.median(seconds), "most s": max(seconds)})


def _list_specs(quick: bool) -> Iterator[tuple[Spec, int]]:
    for tasks, clients, warmups, runs in _SIZES[: 1 if quick else None]:
        for shape in _SHAPES if runs > 1 else _SHAPES[:1]:
            yield Spec(shape, tasks, clients, 1, warmups, seed=1), runs


SPEED = (
    PlayedStudy(
        cases=_list_specs,
        play=_measure_assign,
        caption=lambda quick: f"Time limit of {_LIMIT:.0f} s",
    ),
    PlayedStudy(
        cases=lambda quick: [(spec, runs) for spec, runs in _list_specs(quick) if runs > 1],
        play=_keep_limit,
        caption=lambda quick: f"Time limit of {_SHORT_LIMIT} s",
    ),
    PlayedStudy(
        cases=lambda quick: ["--help"],
        play=_start,
        caption=lambda quick: "Start of the command line",
    ),
)
"""Solving, kept limits, and the start of the command line. None of their figures is a fault."""


def _write_snapshot(folder: Path, spec: Spec) -> Path:
    path = folder / f"{spec.name}.json"
    if not path.exists():
        path.write_text(spec.generate().model_dump_json(), encoding="utf-8")
    return path


_MEASURE = """import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), time.perf_counter() - start, usage.ru_maxrss)"""
"""A program of its own: the peak memory of a process is at least the memory of the process that has started it."""


def _run_command(*arguments: str) -> tuple[float, int]:
    """Return seconds and peak memory (KiB) of the command line as a whole process."""
    command = [str(Path(sys.executable).with_name("optassign")), *arguments]
    measured = subprocess.run([sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, check=True)
    code, seconds, peak = measured.stdout.split()
    if int(code):
        raise subprocess.CalledProcessError(int(code), command)
    return float(seconds), int(peak)


CASES: tuple[tuple[Shape, int, int, int, int, int], ...] = (
    ("scale-out", 1_000, 100, 20, 7, 5),
    ("steady", 1_000, 100, 20, 7, 5),
    ("scale-out", 6_000, 1_000, 100, 3, 1),
    ("scale-out", 10_000, 1_000, 100, 3, 1),
)
"""Shape, tasks, clients, warm-ups; timed calls, and untimed calls of Kafka's classes before them."""
_COMPARED = ("cp-sat", "greedy")
_LONG_LIMIT = 60.0


def _compare(_: None, case: tuple[Shape, int, int, int, int, int]) -> Iterator[PlayedRow]:
    """Yield a row for each assignor; an assignor of optassign that is slower than Kafka's default is a fault."""
    shape, tasks, clients, warmups, calls, before = case
    spec = Spec(shape, tasks, clients, 1, warmups, seed=1)
    seconds = _time_calls(spec, calls, before)
    kafka = statistics.median(seconds["kafka-high-availability"])
    for name, taken in seconds.items():
        median = statistics.median(taken)
        is_slow = name in _COMPARED and median > kafka
        cells = {
            "tasks × clients × standbys": f"{tasks:,} × {clients:,} × 1",
            "shape": shape,
            "assignor": name,
            "calls": calls,
            "median s": median,
            "least–most s": f"{min(taken):.3f}–{max(taken):.3f}",
            "times faster than kafka-high-availability": f"{kafka / median:.1f}",
        }
        yield PlayedRow(cells, (f"{spec.name}: {name} takes {median / kafka:.2f} times as long",) * is_slow)


NEXT_TO_KAFKA = PlayedStudy(
    cases=lambda quick: CASES[: 1 if quick else None],
    play=_compare,
)


def _time_calls(spec: Spec, calls: int, before: int) -> dict[str, list[float]]:
    """Return assignor → seconds of each timed call. `before`: untimed calls of Kafka's classes that warm up the JVM."""
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
    """Return whether the group needs a plan and, if so, the greatest gap of the plan's goals and its seconds. A stable group
    needs no plan."""
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
                "snapshots that need a target": len,
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
