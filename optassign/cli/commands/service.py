"""`optassign serve` and `optassign record`: what can be said, and what they do.

Argparse only at the top, as in arguments.py; what a command needs is imported when it runs.
"""

import argparse
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["add_service_commands", "record", "serve"]

_RECORDINGS_VARIABLE = "OPTASSIGN_RECORDINGS"


def add_service_commands(command: Callable[[Any, str, str], ArgumentParser], commands: Any) -> None:
    """Add both to `commands`; `command` makes a parser."""
    _serve_options(command(commands, "serve", "answer rebalances over HTTP, for the plug-in"))
    _record_options(command, command(commands, "record", "look at what a service recorded"))


def _serve_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="default: %(default)s; others need a token and TLS")
    add("--port", type=_between(0, 65535), default=8924, metavar="N", help="default: %(default)s; 0: any that is free")
    add("--workers", type=_between(1, 256), metavar="N", help="processes that solve (default: one per processor, at most 4)")
    add("--assignor", default="cp-sat", metavar="NAME", help="default: %(default)s")
    add("--default-deadline", type=_positive, default=5.0, metavar="SECONDS", help="of requests without one (default: 5)")
    add("--log-format", choices=("json", "text"), default="text", help="of the log on standard error (default: text)")
    recordings = parser.add_argument_group("recordings")
    recordings.add_argument("--recordings", metavar="DIR", help="record every rebalance there, and remember across restarts")
    recordings.add_argument("--keep-days", type=_positive, default=90.0, metavar="N", help="default: 90")
    recordings.add_argument("--keep-bytes", type=_bytes, default=10 << 30, metavar="N", help="such as 500M (default: 10G)")
    safety = parser.add_argument_group("safety")
    safety.add_argument("--token-file", metavar="FILE", help="what plug-ins must know (or in OPTASSIGN_TOKEN)")
    safety.add_argument("--tls-cert", metavar="FILE", help="certificate chain, PEM")
    safety.add_argument("--tls-key", metavar="FILE", help="its private key, PEM")
    safety.add_argument("--behind-proxy", action="store_true", help="a proxy does TLS: listen to others without")
    limits = parser.add_argument_group("limits")
    limits.add_argument("--max-body", type=_bytes, default=64 << 20, metavar="N", help="bytes, inflated (default: 64M)")
    limits.add_argument(
        "--max-cells", type=_between(1), default=100_000_000, metavar="N", help="tasks × clients (default: 100,000,000)"
    )
    limits.add_argument("--max-name", type=_between(1), default=255, metavar="N", help="characters (default: %(default)s)")
    limits.add_argument("--max-in-flight", type=_between(1), default=64, metavar="N", help="requests (default: %(default)s)")
    limits.add_argument(
        "--max-applications", type=_between(1), default=256, metavar="N", help="that are remembered (default: %(default)s)"
    )


def _record_options(command: Callable[[Any, str, str], ArgumentParser], parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    ls = command(actions, "ls", "list recordings, the oldest first")
    _where(ls)
    ls.add_argument("--application", metavar="NAME", help="only of this application")
    ls.add_argument("--since", metavar="TIME", help="such as 2026-11-20, 2026-11-20T15:20 (UTC), 90m, 24h or 7d")
    _output(ls)
    show = command(actions, "show", "the snapshot's answer as it was given")
    _where(show)
    _which(show)
    _output(show)
    export = command(actions, "export", "the snapshot, for every other command")
    _where(export)
    _which(export)
    export.add_argument("--answer", action="store_true", help="the answer in place of the snapshot")
    export.add_argument("--output", metavar="FILE", help="where to write (default: standard output)")


def _where(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--recordings", metavar="DIR", help=f"the service's folder (default: ${_RECORDINGS_VARIABLE}, or recordings)"
    )


def _which(parser: ArgumentParser) -> None:
    parser.add_argument("recording", metavar="FILE|ID", help="a file, or an id that ls shows")


def _output(parser: ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", help="where to write (default: standard output)")
    parser.add_argument("--format", choices=("json", "table"), help="default: table to a terminal, else json")


def _between(least: int, most: int | None = None) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least or (most is not None and value > most):
            allowed = f"{least} or more" if most is None else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"found {value}; allowed: {allowed}")
        return value

    number.__name__ = "integer"  # argparse says: invalid integer value
    return number


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1e6:
        raise argparse.ArgumentTypeError(f"found {text}; allowed: above 0, at most 1000000")
    return value


def _bytes(text: str) -> int:
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    shift = units.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not (digits.isascii() and digits.isdigit()) or not int(digits):
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: bytes above 0, or with K, M, G or T")
    return int(digits) << shift


_positive.__name__ = "number"


def serve(arguments: Namespace) -> int:
    """Run the service until a signal."""
    from optassign.cli.commands.common import UsageError, known

    try:
        from optassign.service.server import serve as run
        from optassign.service.settings import Limits, Settings, SettingsError, default_workers, read_token
    except ModuleNotFoundError as error:
        raise UsageError(f"it needs {error.name}, which is not installed: pip install 'optassign[service]'") from None
    try:
        return run(
            Settings(
                host=arguments.host,
                port=arguments.port,
                workers=arguments.workers or default_workers(),
                assignor=known(arguments.assignor),
                default_deadline=arguments.default_deadline,
                recordings=_path(arguments.recordings),
                keep_days=arguments.keep_days,
                keep_bytes=arguments.keep_bytes,
                token=read_token(_path(arguments.token_file)),
                tls_cert=_path(arguments.tls_cert),
                tls_key=_path(arguments.tls_key),
                behind_proxy=arguments.behind_proxy,
                log_format=arguments.log_format,
                limits=Limits(
                    body_bytes=arguments.max_body,
                    cells=arguments.max_cells,
                    name_length=arguments.max_name,
                    in_flight=arguments.max_in_flight,
                    applications=arguments.max_applications,
                ),
            )
        )
    except SettingsError as error:
        raise UsageError(str(error)) from None


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def record(arguments: Namespace) -> int:
    """List, show or export recordings."""
    return {"ls": _ls, "show": _show, "export": _export}[arguments.action](arguments)


def _ls(arguments: Namespace) -> int:
    from optassign.cli.commands.common import DONE, UsageError, give
    from optassign.cli.show.output import as_json_text
    from optassign.formats.input_errors import InputError
    from optassign.recordings.files import entries, read_head

    folder, since = _folder(arguments), _since(arguments.since)
    try:
        found = sorted(entries(folder, arguments.application))
    except OSError as error:
        raise UsageError(f"--recordings: found that {folder} cannot be read ({error.strerror})") from None
    rows = []
    for entry in found:
        if since is None or entry.at >= since:
            try:
                rows.append((entry.id, read_head(entry.path)))
            except InputError as error:  # one that is damaged must not hide the others
                print(f"optassign record ls: {error}", file=sys.stderr)

    def tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.recording_tables import list_of_recordings

        return list_of_recordings(rows)

    give(arguments, lambda: as_json_text([{"id": name, **head.model_dump()} for name, head in rows]), tables)
    return DONE


def _show(arguments: Namespace) -> int:
    from optassign.cli.commands.common import DONE, give
    from optassign.recordings.recording import read_recording

    recording = read_recording(_file(arguments))

    def tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.recording_tables import one_recording

        return one_recording(recording, width)

    give(arguments, lambda: recording.model_dump_json() + "\n", tables)
    return DONE


def _export(arguments: Namespace) -> int:
    from optassign.cli.commands.common import DONE
    from optassign.cli.show.output import write
    from optassign.recordings.recording import read_recording, read_snapshot

    path = _file(arguments)
    text = read_recording(path).assignment.model_dump_json() + "\n" if arguments.answer else read_snapshot(path)
    write(text, arguments.output)
    return DONE


def _folder(arguments: Namespace) -> Path:
    import os

    from optassign.cli.commands.common import UsageError

    folder = Path(arguments.recordings or os.environ.get(_RECORDINGS_VARIABLE) or "recordings")
    if not folder.is_dir():
        raise UsageError(f"--recordings: found {folder}, which is no folder; allowed: a folder of recordings")
    return folder


def _file(arguments: Namespace) -> Path:
    """The file itself, or that of an id."""
    from optassign.recordings.files import SUFFIX

    path = Path(arguments.recording)
    return path if path.is_file() or path.name.endswith(SUFFIX) else _folder(arguments) / f"{arguments.recording}{SUFFIX}"


def _since(text: str | None) -> Any:
    """The point in time, in UTC where it names no zone."""
    from datetime import UTC, datetime, timedelta

    from optassign.cli.commands.common import UsageError

    if text is None:
        return None
    try:
        unit = {"m": "minutes", "h": "hours", "d": "days"}.get(text[-1:])
        if unit and text[:-1].isdigit():
            return datetime.now(UTC) - timedelta(**{unit: int(text[:-1])})
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        allowed = "a time as in ISO 8601, or a number of m, h or d before now"
        raise UsageError(f"--since: found {text!r}; allowed: {allowed}") from None
