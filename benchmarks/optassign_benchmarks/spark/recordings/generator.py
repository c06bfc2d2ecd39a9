"""`python -m optassign_benchmarks.spark.recordings.generator FOLDER`: as many recordings as wanted, like the service's own.

Applications live through rebalance after rebalance, from seeded snapshots on: an answer, everything restored, the follow-up.
When a group rests, something happens to it: the next snapshot. Each application has the same number of recordings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generate import Shape
from optassign.recordings.files import make_relative_path
from optassign.recordings.recording import RecordingHead, encode_recording, summarise
from optassign.simulation.successors import make_restored_snapshot
from optassign_benchmarks.grid import Spec

__all__ = ["generate_recordings"]

_BEGIN = datetime(2026, 7, 1, tzinfo=UTC)
_SHAPES: tuple[Shape, ...] = ("scale-out", "restart", "scale-in", "steady")


def generate_recordings(
    folder: Path, number: int, tasks: int = 100, clients: int = 10, applications: int = 4, assignor: str = "high-availability"
) -> list[Path]:
    """Write `number` recordings, the same each time, and return their paths. `assignor`: who answers them."""
    paths = []
    for i in range(applications):
        application = f"application-{i + 1}"
        share = number // applications + (i < number % applications)
        for n, (at, state, answer) in enumerate(islice(_live(application, tasks, clients, i, assignor), share)):
            path = folder / make_relative_path(application, at, n)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_make_recording(state, answer, at))
            paths.append(path)
    return paths


def _make_recording(state: ApplicationState, answer: TaskAssignment, at: datetime) -> bytes:
    """The bytes of a recording as the service would have written it."""
    head = RecordingHead(
        format=1,
        application=state.application,
        recorded_at=at.isoformat().replace("+00:00", "Z"),
        answered_at=int(at.timestamp() * 1000),
        assignor=answer.assignor,
        time_limit=10.0,
        summary=summarise(state, answer),
    )
    return encode_recording(head, answer.model_dump_json().encode(), state.model_dump_json(exclude_defaults=True).encode())


def _live(
    application: str, tasks: int, clients: int, seed: int, assignor: str
) -> Iterator[tuple[datetime, ApplicationState, TaskAssignment]]:
    """When, snapshot and answer of each rebalance of an application, without end, ten minutes or five hours apart."""
    at = _BEGIN
    for event in range(1 << 30):
        spec = Spec(_SHAPES[event % len(_SHAPES)], tasks, clients, warmups=max(2, clients // 10), seed=1000 * seed + event)
        state = spec.generate().model_copy(update={"application": application})
        while True:
            answer = assign(state, assignor)
            yield at, state, answer.model_copy(update={"report": answer.report.without_times()})
            at += timedelta(minutes=10)
            if all(client.followup_rebalance_ms is None for client in answer.clients):
                break
            state = make_restored_snapshot(state, answer)
        at += timedelta(hours=5)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.spark.recordings.generator", description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, default in (("number", 1000), ("tasks", 100), ("clients", 10), ("applications", 4)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help="default: %(default)s")
    parser.add_argument("--assignor", default="high-availability", metavar="NAME", help="who answered (default: %(default)s)")
    arguments = parser.parse_args()
    paths = generate_recordings(**vars(arguments))
    print(f"{len(paths):,} recordings in {arguments.folder}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
