"""`optassign record ls|show|export`: show and export a service's recordings."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from optassign.cli.arguments import add_command, add_not_applied, add_output, add_output_file, add_recordings
from optassign.cli.common import choose_answer, find_folder, find_recording, write_result
from optassign.cli.output import DONE, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import RenderableType

ABOUT = "List, show and export what a service recorded"
EXAMPLE = "record ls --recordings /var/lib/optassign --since 24h"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the actions of `record` and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    ls = add_command(actions, "ls", "List recordings, the oldest first", "record ls --application orders --since 24h")
    add_recordings(ls)
    ls.add_argument("--application", metavar="NAME", help="list recordings of this application only")
    ls.add_argument(
        "--since",
        metavar="TIME",
        help="list recordings from this time on: 2026-11-20, 2026-11-20T15:20 (UTC), 90min, 24h or 7d",
    )
    add_output(ls)
    show = add_command(
        actions, "show", "Show a recorded rebalance and its assignment", "record show orders/2026-11-21/093632.780-0"
    )
    add_recordings(show)
    _add_recording(show)
    add_output(show)
    export = add_command(
        actions,
        "export",
        "Write the snapshot of a recording, or its assignment, as JSON",
        "record export orders --output snapshot.json",
    )
    add_recordings(export)
    _add_recording(export)
    which = export.add_mutually_exclusive_group()
    which.add_argument("--answer", action="store_true", help="write the recorded assignment in place of the snapshot")
    add_not_applied(which)
    add_output_file(export)


def _add_recording(parser: ArgumentParser) -> None:
    parser.add_argument(
        "recording", metavar="RECORDING", help="a file, an id that `record ls` shows, or an application: its latest one"
    )


def run(arguments: Namespace) -> int:
    """Run the action. UsageError for a bad folder or time, InputError for an unreadable recording."""
    return {"ls": _list, "show": _show, "export": _export}[arguments.action](arguments)


def _list(arguments: Namespace) -> int:
    import sys

    from optassign.cli.output import format_json
    from optassign.formats.input_errors import InputError
    from optassign.recordings.files import find_recordings, read_recording_head

    folder, since = find_folder(arguments), _parse_since(arguments.since)
    try:
        found = sorted(find_recordings(folder, arguments.application))
    except OSError as error:
        raise UsageError(f"--recordings: found that {folder} cannot be read ({error.strerror})") from None
    rows = []
    for file in found:
        if since is None or file.at >= since:
            try:
                rows.append((file.id, read_recording_head(file.path)))
            except InputError as error:  # a damaged recording must not hide the others
                print(f"optassign record ls: {error}", file=sys.stderr)

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.answer_tables import render_recordings

        return render_recordings(rows)

    write_result(arguments, lambda: format_json([{"id": name, **head.model_dump()} for name, head in rows]), make_tables)
    return DONE


def _show(arguments: Namespace) -> int:
    from optassign.recordings.recording import read_recording

    recording = read_recording(find_recording(arguments, arguments.recording))

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.answer_tables import render_recording

        return render_recording(recording, width)

    write_result(arguments, lambda: recording.model_dump_json() + "\n", make_tables)
    return DONE


def _export(arguments: Namespace) -> int:
    from optassign.cli.output import write_text
    from optassign.recordings.recording import read_recorded_snapshot, read_recording

    path = find_recording(arguments, arguments.recording)
    if arguments.answer:
        text = read_recording(path).assignment.model_dump_json() + "\n"
    elif arguments.not_applied:
        text = choose_answer(read_recording(path), not_applied=True).model_dump_json() + "\n"
    else:
        text = read_recorded_snapshot(path)
    write_text(text, arguments.output)
    return DONE


def _parse_since(text: str | None) -> "datetime | None":
    """Return the time of --since, in UTC if it has no zone. UsageError if it cannot be read."""
    from datetime import UTC, datetime, timedelta

    from optassign.formats.durations import parse_duration

    if text is None:
        return None
    if not text.isdigit():  # digits alone are a day: 20261120
        with suppress(ValueError, OverflowError):
            return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    try:
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        allowed = "a time as in ISO 8601, or a duration before now, such as 90min, 24h or 7d"
        raise UsageError(f"--since: found {text!r}; allowed: {allowed}") from None
