"""`make soak`: service, real broker and a real application run under faults for an hour, and no resource may grow.

`python -m optassign_benchmarks.soak --minutes 60 --seed 1` writes samples as JSON lines and a chart of them, and prints a
summary as JSON on standard output. The exit code is 1 if a resource exceeded its limit (samples.py), grew, or stayed open at
the end, or if a record was lost or counted twice. Instance `a`, the leader, and the service are never ended.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.faults import FaultyFront
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess, check_recordings
from optassign_benchmarks.results import describe_machine
from optassign_benchmarks.soak.actions import TIMEOUT_MS, Chaos
from optassign_benchmarks.soak.samples import (
    Sample,
    Sampler,
    SoakRow,
    draw_soak,
    find_children,
    find_faults,
    read_usage,
    summarise,
)
from optassign_benchmarks.soak.visitors import Visitors

APPLICATION = "soak"
_LEADER = "a"
_KEEP = "4M"
"""The limit of the recordings' bytes, low enough for deletions during the soak."""
_ACTIONS_PER_WORKER = 12
"""Number of actions between two kills of a worker."""
_LEFT_OPEN = 8
"""Number of descriptors that the service, without connections, may have more at the end than at the beginning."""


def run(minutes: float, seed: int, rate: float, folder: Path) -> dict[str, object]:
    """Run the soak for `minutes` minutes. Return its summary, in which `problems` has a line for each failed check."""
    problems: list[str] = []
    machine = describe_machine()
    with ExitStack() as stack:
        broker = stack.enter_context(Broker(folder / "broker"))
        service = stack.enter_context(ServiceProcess(folder / "service", "json", "--keep-bytes", _KEEP))
        front = stack.enter_context(FaultyFront(service.url, slow_seconds=3 * TIMEOUT_MS / 1000))
        configs = {"optassign_url": front.url, "optassign_timeout_ms": TIMEOUT_MS, "max_warmup_replicas": 4}
        group = stack.enter_context(StreamsApplication(broker, APPLICATION, folder, **configs))
        group.load.write(PRELOAD)
        group.load.run(rate)
        group.start(_LEADER, "b")
        group.await_complete()
        chaos = Chaos(group, service, front, seed, spared=(_LEADER,), ways=("pause",))
        visitors = stack.enter_context(Visitors(service.url, seed))
        folders = {
            "recordings": service.recordings,
            "log of the service": service.log,
            "folders of the application": folder / APPLICATION,
            "data of the broker": folder / "broker",
        }
        sampler = Sampler(folder / "samples.jsonl", lambda: _find_processes(broker, service, group), folders)
        before = _count_descriptors(service)
        start = time.monotonic()
        actions: list[float] = []
        workers_killed = 0
        with sampler:
            try:
                while time.monotonic() - start < 60 * minutes:
                    actions.append(time.monotonic() - start)
                    chaos.act()
                    if len(actions) % _ACTIONS_PER_WORKER == 0:
                        workers_killed += _kill_worker(service)
                    chaos.pause()
                    group.assert_nothing_died()
                    group.load.check()
                visitors.stop()
                chaos.judge_answers()
                chaos.restore()
                group.await_complete()
                group.mark()
                group.settle()
                group.load.await_accounted()
                recordings, faults = check_recordings(service.recordings, APPLICATION)
                problems += faults
                await_condition(
                    f"at most {_LEFT_OPEN} more descriptors of the service are open than the {before} of the beginning",
                    lambda: _count_descriptors(service) <= before + _LEFT_OPEN,
                    found=lambda: _count_descriptors(service),
                )
            except AssertionError as error:
                recordings = 0
                problems.append(str(error))
        if set(visitors.statuses) - {0, 200, 400, 408, 413, 503}:
            problems.append(f"visitors were answered {dict(visitors.statuses)}")
        rows = summarise(sampler.samples)
        problems += find_faults(rows)
        for kind in ("png", "svg"):
            draw_soak(sampler.samples, actions, folder / f"soak.{kind}")
        return {
            "machine": machine,
            "seed": seed,
            "minutes": minutes,
            "actions": dict(sorted(chaos.counts.items())),
            "workers_killed": workers_killed,
            "requests_by_fault": {fault.value: number for fault, number in sorted(front.requests.items())},
            "visits": dict(sorted(visitors.visits.items())),
            "visitors_answered": dict(sorted(visitors.statuses.items())),
            "rebalances": group.generation,
            "answered_by_while_the_service_was_well": dict(sorted(chaos.answers[False].items())),
            "answered_by_while_it_was_not": dict(sorted(chaos.answers[True].items())),
            "recordings_checked": recordings,
            "records_written": group.load.written,
            "records_read": group.load.read,
            "records_lost_or_counted_twice": group.load.lost + group.load.doubled,
            "threads_died": len(group.deaths),
            "processors_busy": _measure_cpu(sampler.samples) | {"soak itself": round(sum(os.times()[:2]) / 60 / minutes, 3)},
            "usage": [asdict(row) for row in rows],
            "problems": problems,
        }


def _find_processes(broker: Broker, service: ServiceProcess, group: StreamsApplication) -> Iterator[tuple[str, str, int]]:
    """Yield (kind, name, pid) of all running processes."""
    yield "broker", "broker", broker.process.pid
    pid = service.pid
    if pid is not None:
        yield "service", "service", pid
        for worker in find_children(pid, workers=True):
            yield "worker", "worker", worker
    for name, instance in sorted(group.instances.copy().items()):
        yield "application", name, instance.process.pid


def _count_descriptors(service: ServiceProcess) -> int:
    usage = None if service.pid is None else read_usage(service.pid)
    return 0 if usage is None else usage.descriptors


def _kill_worker(service: ServiceProcess) -> int:
    """Kill the oldest of the service's workers, and return the number of killed workers, 0 or 1."""
    workers = [] if service.pid is None else find_children(service.pid, workers=True)
    for pid in workers[:1]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(workers[:1])


def _measure_cpu(samples: list[Sample]) -> dict[str, float]:
    """Return kind → number of processors that its processes kept busy, on average over the soak."""
    last: dict[tuple[str, int | None], tuple[float, float]] = {}
    for sample in samples:
        if sample.cpu is not None:
            first = last.get((sample.kind, sample.pid), (sample.cpu, 0.0))[0]
            last[sample.kind, sample.pid] = (first, sample.cpu)
    seconds = max(1.0, max((sample.at for sample in samples), default=0.0))
    found: Counter[str] = Counter()
    for (kind, _), (first, latest) in last.items():
        found[kind] += latest - first  # type: ignore[assignment] # a Counter of seconds
    return {kind: round(used / seconds, 3) for kind, used in sorted(found.items())}


def format_table(rows: list[SoakRow]) -> str:
    """Return the usage as a table in Markdown."""
    lines = ["| | second quarter | last quarter | most | grows by at most |", "|---|---|---|---|---|"]
    for row in rows:
        unit, name = (1 << 20, " MiB") if row.quantity in ("memory", "disk") else (1, "")
        numbers = [row.before, row.after, row.most, row.most_growth]
        cells = ["–" if number is None else f"{number / unit:,.0f}{name}" for number in numbers]
        lines.append(f"| {row.kind}: {row.quantity} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Run the command. Return 0 if all checks passed, otherwise 1."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the actions (%(default)s)")
    parser.add_argument("--rate", type=float, default=100.0, help="records per second into the application (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where everything stays; default: a new temporary folder")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="optassign-soak-"))
    print(f"seed {arguments.seed}; samples.jsonl, soak.png, logs and recordings in {folder}", file=sys.stderr, flush=True)
    summary = run(arguments.minutes, arguments.seed, arguments.rate, folder)
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(summary, indent=2))
    print(format_table([SoakRow(**row) for row in summary["usage"]]), file=sys.stderr)  # type: ignore[attr-defined]
    return 1 if summary["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
