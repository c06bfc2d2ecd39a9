"""A folder of recordings like that of a service that has run for months, filled without a service."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from optassign import assign
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES
from optassign.recordings.files import make_relative_path
from optassign.recordings.recording import RecordingHead, encode_recording, make_overview, summarise
from optassign_benchmarks.grid import Spec

__all__ = ["FIFTY_SPECS", "Filled", "fill_folder"]

FIFTY_SPECS = tuple(
    Spec(SHAPES[place % len(SHAPES)], round(16 * 125 ** (place / 49)), max(2, round(1.6 * 125 ** (place / 49))), seed=place)
    for place in range(50)
)
"""Fifty applications of 16 to 2,000 tasks, with ten tasks on each instance."""
_RECORDINGS = 1_000_000
_DAYS = 80
_LINKS = 1_000
"""Recordings that share a file on the disk: file systems limit the links of a file (ext4 to 65,000)."""


@dataclass(frozen=True)
class Filled:
    """An application of the folder, and its newest recording."""

    application: str
    newest: str
    """Day and time of the recording, as in the addresses of pages."""


def fill_folder(folder: Path, specs: Sequence[Spec], recordings: int, span: timedelta) -> list[Filled]:
    """Record rebalances of an application for each spec, spread over `span` until now. Return each application's newest
    recording.

    `recordings`: the number for all applications together; each gets an equal part with the same content.
    """
    each = recordings // len(specs)
    states = (spec.generate().model_copy(update={"application": f"app-{place:02}"}) for place, spec in enumerate(specs))
    return [_fill_application(folder, state, each, span / each) for state in states]


def _fill_application(folder: Path, state: ApplicationState, each: int, apart: timedelta) -> Filled:
    answer = assign(state, "greedy", 30.0)
    newest = datetime.now(UTC).replace(microsecond=0)
    application = state.application or ""
    head = RecordingHead(
        format=1,
        application=application,
        recorded_at=newest.isoformat(timespec="milliseconds"),
        answered_at=round(newest.timestamp() * 1_000),
        assignor="greedy",
        time_limit=30.0,
        summary=summarise(state, answer),
        overview=make_overview(state, answer),
    )
    content = encode_recording(head, answer.model_dump_json().encode(), state.model_dump_json(exclude_none=True).encode())
    first = file = folder / make_relative_path(application, newest, 0)
    days: set[Path] = set()
    for place in range(each):
        path = folder / make_relative_path(application, newest - place * apart, 0)
        if path.parent not in days:
            path.parent.mkdir(parents=True)
            days.add(path.parent)
        if place % _LINKS:
            os.link(file, path)
        else:
            path.write_bytes(content)
            file = path
    return Filled(application, f"{first.parent.name}/{first.name.removesuffix('.json.gz')}")


def main() -> None:
    """Fill the folder that the command line names."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where no recordings are yet")
    parser.add_argument("--recordings", type=int, default=_RECORDINGS, help="of all applications (%(default)s)")
    arguments = parser.parse_args()
    fill_folder(arguments.folder, FIFTY_SPECS, arguments.recordings, timedelta(days=_DAYS))


if __name__ == "__main__":
    main()
