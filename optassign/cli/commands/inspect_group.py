"""`optassign inspect`: inspect a running Kafka Streams group from outside, without any change of the application."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import accept_durations, accept_integers, accept_numbers, add_output, add_time_limit
from optassign.cli.common import write_result
from optassign.cli.output import DONE, UsageError
from optassign.measuring import ASSUMED_RATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from optassign.inspecting.cluster import ClusterConnection
    from optassign.inspecting.group_reading import StatedSettings
    from optassign.inspecting.groups import AnyReading
    from optassign.inspecting.inspected import Inspected
    from optassign.inspecting.outlook import GroupOutlook

SESSION_TIMEOUT_S = 45.0
"""Kafka's default session time-out."""
SAMPLE_S = 5.0
"""Default time between two readings of offsets, within which a busy topic grows."""
WAIT_S = 60.0
"""Default time-out of the wait for a rebalance to end."""
LOOK_EVERY_S = 5.0
"""Default time between two looks of --watch: members send offsets no more often."""
DOWN_S = 30.0
"""Default time that an instance is away in a rolling restart: less than Kafka's session time-out of 45 s."""

_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1  # Kafka's int and long; those of optassign.formats are slow to import

ABOUT = "Inspect a running Kafka Streams group from outside, and estimate the cost of its next rebalances"
EXAMPLE = "inspect --bootstrap-server localhost:9092 --group orders"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `inspect`."""
    add = parser.add_argument_group("the group").add_argument
    add("--bootstrap-server", metavar="HOST:PORT,…", required=True, help="brokers to connect to first")
    add("--group", metavar="NAME", required=True, help="the application.id")
    add("--command-config", metavar="FILE", help="a client.properties with TLS and SASL settings")
    add(
        "--wait",
        type=accept_durations(),
        default=WAIT_S,
        metavar="TIME",
        help="wait this long for a rebalance to end (default: %(default)g)",
    )
    add = parser.add_argument_group("settings that brokers do not have").add_argument
    add("--topology", metavar="FILE", help="the text of Topology#describe(), if several subtopologies have changelogs")
    add("--max-warmup-replicas", type=accept_integers(1, _INT32_MAX), metavar="N", help="default: Kafka's, 2")
    add("--num-standby-replicas", type=accept_integers(0, _INT32_MAX), metavar="N", help="default: as the assignment has them")
    add("--acceptable-recovery-lag", type=accept_integers(0, _INT64_MAX), metavar="N", help="offsets (default: Kafka's, 10000)")
    add(
        "--probing-rebalance-interval-ms",
        type=accept_integers(60_000, _INT64_MAX),
        metavar="MS",
        help="default: Kafka's, 600000",
    )
    add("--rack-aware-assignment-tags", metavar="TAG,…", help="default: none")
    add(
        "--restore-rate",
        type=accept_numbers("offsets"),
        default=float(ASSUMED_RATE),
        metavar="N",
        help="offsets per second that an instance restores (default: %(default)g)",
    )
    add(
        "--session-timeout",
        type=accept_durations(),
        default=SESSION_TIMEOUT_S,
        metavar="TIME",
        help="default: Kafka's, %(default)g",
    )
    add(
        "--restart-time",
        type=accept_durations(),
        default=DOWN_S,
        metavar="TIME",
        help="an instance is away this long in a rolling restart (default: %(default)g)",
    )
    add = parser.add_argument_group("what to write").add_argument
    add("--snapshot", metavar="FILE", help="write the rebalance as a snapshot; - is standard output")
    add("--recording", metavar="FILE", help="write the rebalance and the applied answer as a recording (.json.gz)")
    add("--html", metavar="FILE", help="write the report as a page with pictures")
    add("--no-outlook", action="store_true", help="leave out the simulated cost of the next events")
    add(
        "--sample",
        type=accept_durations(),
        default=SAMPLE_S,
        metavar="TIME",
        help="read the changelogs again after this time, to see their growth; 0: read them once (default: %(default)g)",
    )
    add_output(parser)
    add_time_limit(parser)
    add = parser.add_argument_group("follow the group").add_argument
    add("--watch", action="store_true", help="record each rebalance, with what optassign would have done, until Ctrl-C")
    add("--recordings", metavar="DIR", default="recordings", help="where --watch writes (default: %(default)s)")
    add(
        "--every",
        type=accept_durations(),
        default=LOOK_EVERY_S,
        metavar="TIME",
        help="look this often (default: %(default)g)",
    )


def run(arguments: Namespace) -> int:
    """Write the requested files, or the report. UsageError or InputError for unreadable brokers, groups and files."""
    _check(arguments)
    settings = _read_settings(arguments)
    with _connect(arguments) as cluster:
        if arguments.watch:
            return _watch(arguments, cluster, settings)
        inspected = _inspect(arguments, cluster, settings)
    if arguments.snapshot is not None:
        from optassign.cli.output import write_text

        write_text(inspected.snapshot.model_dump_json() + "\n", arguments.snapshot)
        _say_written(arguments.snapshot)
    if arguments.recording is not None:
        from optassign.inspecting.inspected import encode, make_recording

        _write_bytes(encode(make_recording(inspected, arguments.time_limit)), arguments.recording)
        _say_written(arguments.recording)
    only_files = arguments.snapshot is not None or arguments.recording is not None
    if arguments.html is not None or not only_files or arguments.format is not None or arguments.output is not None:
        _write_report(arguments, inspected)
    return DONE


def _check(arguments: Namespace) -> None:
    """Raise UsageError for contradictory options and missing packages, before any request."""
    try:
        import kafka  # noqa: F401 - checks that it is installed
    except ImportError:
        raise UsageError("inspect needs kafka-python: pip install 'optassign[inspect]'") from None
    if not arguments.restore_rate:
        raise UsageError("--restore-rate: found 0; allowed: more than 0 offsets per second")
    if arguments.watch and not arguments.every:
        raise UsageError("--every: found 0; allowed: more than 0 seconds")
    files = [name for name in ("snapshot", "recording", "html", "output", "format") if getattr(arguments, name) is not None]
    if arguments.watch and files:
        raise UsageError(f"--{files[0]}: found it with --watch, which writes recordings; allowed: one of them")
    if arguments.recording == "-":
        raise UsageError("--recording: found -; allowed: a file, since a recording is compressed")
    if arguments.html is not None:
        from optassign.cli.show.inspection import check_libraries

        check_libraries()


def _read_settings(arguments: Namespace) -> "StatedSettings":
    from optassign.formats.input_errors import InputError
    from optassign.inspecting.group_reading import StatedSettings, read_stores

    stores = None
    if arguments.topology is not None:
        try:
            stores = read_stores(Path(arguments.topology).read_text(encoding="utf-8"), arguments.topology)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                arguments.topology, "", f"that it cannot be read ({reason})", "what Topology#describe() prints"
            ) from None
    stated = arguments.rack_aware_assignment_tags or ""
    tags = tuple(tag.strip() for tag in stated.split(",") if tag.strip())
    if len(set(tags)) < len(tags):
        raise UsageError(f"--rack-aware-assignment-tags: found {stated}; allowed: each tag once")
    return StatedSettings(
        acceptable_recovery_lag=arguments.acceptable_recovery_lag,
        max_warmup_replicas=arguments.max_warmup_replicas,
        num_standby_replicas=arguments.num_standby_replicas,
        probing_rebalance_interval_ms=arguments.probing_rebalance_interval_ms,
        rack_aware_assignment_tags=tags,
        stores=stores,
    )


def _connect(arguments: Namespace) -> "ClusterConnection":
    from optassign.inspecting.cluster import ClusterConnection, make_connection, read_properties

    settings: dict[str, Any] = {}
    if arguments.command_config is not None:
        settings, ignored = make_connection(read_properties(Path(arguments.command_config)), arguments.command_config)
        if ignored:
            print(f"optassign inspect: {arguments.command_config}: not used: {', '.join(ignored)}", file=sys.stderr)
    return ClusterConnection(arguments.bootstrap_server, settings)


def _inspect(arguments: Namespace, cluster: "ClusterConnection", settings: "StatedSettings") -> "Inspected":
    """Return the group's last rebalance; for an outlook, with the growth of changelogs between two readings."""
    import time

    from optassign.cli.show.progress import ProgressLine
    from optassign.inspecting.group_reading import measure_growth
    from optassign.inspecting.groups import await_group

    with ProgressLine(f"reading {arguments.group}"):
        reading = await_group(cluster, arguments.group, arguments.wait)
        growth: dict[str, float] = {}
        if arguments.sample and not arguments.no_outlook and reading.changelogs:
            begin = time.monotonic()
            time.sleep(arguments.sample)
            later, _ = cluster.read_topics(reading.changelogs, with_ends=True)
            growth = measure_growth(reading.changelogs, later, time.monotonic() - begin)
        return _reconstruct(reading, settings, growth)


def _reconstruct(reading: "AnyReading", settings: "StatedSettings", growth: dict[str, float]) -> "Inspected":
    from optassign.inspecting.classic import inspect_classic
    from optassign.inspecting.group_reading import GroupReading
    from optassign.inspecting.streams_group import inspect_streams

    if isinstance(reading, GroupReading):
        return inspect_classic(reading, settings, growth)
    return inspect_streams(reading, settings, growth)


def _write_report(arguments: Namespace, inspected: "Inspected") -> None:
    from optassign.cli.output import format_json
    from optassign.inspecting.inspected import make_recording
    from optassign.inspecting.report import make_report

    outlook = None if arguments.no_outlook else _simulate_events(arguments, inspected)
    report = make_report(inspected, make_recording(inspected, arguments.time_limit), outlook)
    if arguments.html is not None:
        from optassign.cli.output import write_text
        from optassign.cli.show.inspection import make_page

        write_text(make_page(report), arguments.html)
        _say_written(arguments.html)
        if arguments.format is None and arguments.output is None:
            return

    def make_json() -> str:
        from optassign.inspecting.report import list_advice

        return format_json({**report.as_json(), "advice": list(list_advice(report))})

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.inspection import render_report

        return render_report(report, width)

    write_result(arguments, make_json, make_tables)


def _simulate_events(arguments: Namespace, inspected: "Inspected") -> "GroupOutlook":
    from optassign.cli.show.progress import ProgressLine
    from optassign.inspecting.outlook import Assumptions, make_outlook
    from optassign.inspecting.report import find_simulated_assignor

    assumptions = Assumptions(
        inspected.protocol,
        arguments.restore_rate,
        arguments.session_timeout,
        arguments.restart_time,
        inspected.static_members == sum(client.threads for client in inspected.snapshot.clients),
    )
    with ProgressLine("simulating the next events") as progress:

        def show_run(what: str) -> None:
            progress.doing = what

        played = find_simulated_assignor(inspected)
        return make_outlook(inspected.snapshot, inspected.applied, played, inspected.growth, assumptions, show_run)


def _watch(arguments: Namespace, cluster: "ClusterConnection", settings: "StatedSettings") -> int:
    from datetime import datetime

    from optassign.cli.show.inspection import describe_rebalance
    from optassign.inspecting.groups import follow
    from optassign.inspecting.inspected import encode, make_recording
    from optassign.recordings.files import make_relative_path

    def report_trouble(trouble: str) -> None:
        print(f"optassign inspect: {trouble}; trying again", file=sys.stderr, flush=True)

    before: Inspected | None = None
    try:
        for reading in follow(cluster, arguments.group, arguments.every, report_trouble):
            inspected = _reconstruct(reading, settings, {})
            recording = make_recording(inspected, arguments.time_limit)
            at = datetime.fromisoformat(recording.recorded_at)
            path = Path(arguments.recordings) / make_relative_path(recording.application, at, 0)
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")  # readers of the folder must find complete recordings only
            _write_bytes(encode(recording), str(part))
            part.rename(path)
            print(describe_rebalance(inspected, recording, before), flush=True)
            before = inspected
    except KeyboardInterrupt:
        pass
    return DONE


def _say_written(path: str) -> None:
    """Report a written file on standard error: standard output may be the report."""
    if path != "-":
        print(f"optassign inspect: wrote {path}", file=sys.stderr)


def _write_bytes(content: bytes, path: str) -> None:
    from optassign.formats.input_errors import InputError

    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise InputError(path, "", f"that it cannot be written ({error.strerror or error})", "a file to write") from None
