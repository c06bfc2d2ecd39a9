"""`optassign benchmark run|resume|report` and `optassign replay`: what can be said, and what they do.

Argparse only at the top, as in arguments.py; Spark is started only by a command that needs it, after all else is checked.
"""

import argparse
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optassign.benchmarks.spark.presets import Sweep
    from optassign.benchmarks.spark.runs import Run
    from optassign.benchmarks.spark.solving.jobs import Limits
    from optassign.benchmarks.spark.storage import Storage
    from optassign.cli.show.row_progress import RowProgress

__all__ = ["add_benchmark_commands", "benchmark", "replay"]

PRESETS = ("smoke", "paper", "wide")
"""As in `optassign.benchmarks.spark.presets`, which is not imported for the sake of a help text."""
_LIMITS = ("time_limit", "answer_limit", "convergence_limit", "memory_limit")


def add_benchmark_commands(command: Callable[[Any, str, str], ArgumentParser], commands: Any) -> None:
    """Add both to `commands`; `command` makes a parser."""
    actions = command(commands, "benchmark", "every assignor on a grid of snapshots, on Spark").add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    run = command(actions, "run", "begin a sweep")
    grid = run.add_mutually_exclusive_group(required=True)
    told = "smoke: a minute; paper: five minutes on two cores; wide: for a cluster"
    grid.add_argument("--preset", choices=PRESETS, help=told)
    grid.add_argument("--grid", metavar="FILE", help="a grid of your own as TOML, see docs/spark.md")
    run.add_argument("--output", metavar="FOLDER", required=True, help="where results go; any file system that Spark knows")
    _assignors(run)
    run.add_argument("--kafka", action="store_true", help="Kafka's own classes too, which need a JDK and Maven")
    _limits(run)
    _spark(run)
    for name, about in (("resume", "go on with a sweep that was interrupted"), ("report", "tables and pictures of a run")):
        action = command(actions, name, about)
        action.add_argument("folder", metavar="FOLDER", help="where its results are")
        action.add_argument("--run", metavar="ID", help="which run, where there are several; its beginning will do")
        _spark(action)

    replayed = command(commands, "replay", "recorded rebalances under every assignor, beside what was done, on Spark")
    replayed.add_argument("recordings", metavar="RECORDINGS", help="the service's folder; any file system that Spark knows")
    replayed.add_argument("--output", metavar="FOLDER", required=True, help="where results go; go on with what is there")
    _assignors(replayed)
    replayed.add_argument("--scale", type=_from_one, default=1, metavar="N", help="at N times the recorded size (default: 1)")
    replayed.add_argument("--converge", action="store_true", help="also play on from the beginning of each episode")
    _limits(replayed)
    _spark(replayed)


def benchmark(arguments: Namespace) -> int:
    """Run the command."""
    return {"run": _run, "resume": _resume, "report": _report}[arguments.action](arguments)


def replay(arguments: Namespace) -> int:
    """Run the command."""
    from optassign.benchmarks.spark.replay import count_recordings, run_replay
    from optassign.benchmarks.spark.runs import Run
    from optassign.benchmarks.spark.solving.jobs import Limits
    from optassign.benchmarks.spark.storage import Storage
    from optassign.cli.commands.common import DONE
    from optassign.judging.explanation_text import pluralize

    registered = _registered(arguments)
    assignors = _chosen(arguments) or _all_but_kafkas()
    limits = _with_limits(arguments, Limits())
    with _session(arguments) as (spark, storage, progress):
        recordings = Storage(spark, arguments.recordings)
        total = count_recordings(spark, recordings) if recordings.exists() else 0
        if not total:
            raise _usage(f"RECORDINGS: found no recording in {arguments.recordings}; allowed: a folder with *.json.gz files")
        run = Run(
            kind="replay",
            name="replay",
            assignors=assignors,
            limits=limits,
            recordings=recordings.folder,
            scale=arguments.scale,
            converge=arguments.converge,
            registered=registered,
        )
        run.save(storage)
        done = run_replay(spark, storage, run, progress.tell)
        progress.say(f"{pluralize(done.recordings, 'recording')} replayed, {total:,} are there")
        _write_report(spark, storage, run)
    return DONE


def _run(arguments: Namespace) -> int:
    from optassign.benchmarks.spark.runs import Run
    from optassign.cli.commands.common import DONE

    registered = _registered(arguments)
    sweep = _sweep(arguments)
    chosen = _chosen(arguments)
    if chosen:
        sweep = sweep.model_copy(update={"assignors": chosen})
    limits = _with_limits(arguments, sweep.limits.limits())
    run = Run("sweep", sweep.name, sweep.list_assignors(arguments.kafka), limits, sweep, registered=registered)
    _check_kafka(run.assignors)
    with _session(arguments) as (spark, storage, progress):
        if run.exists(storage):
            raise _usage(f"--output: found run {run.id} in it; allowed: `optassign benchmark resume {arguments.output}`")
        run.save(storage)
        _go_on(spark, storage, run, progress)
    return DONE


def _resume(arguments: Namespace) -> int:
    from optassign.benchmarks.spark.runs import find_run
    from optassign.cli.commands.common import DONE

    with _session(arguments, arguments.folder) as (spark, storage, progress):
        run = find_run(storage, arguments.run)
        if run.kind != "sweep":
            raise _usage(f"FOLDER: found replay {run.id}; allowed: a sweep (`optassign replay` goes on by itself)")
        _register(run.registered)
        _check_kafka(run.assignors)
        _go_on(spark, storage, run, progress)
    return DONE


def _report(arguments: Namespace) -> int:
    from optassign.benchmarks.spark.runs import find_run
    from optassign.cli.commands.common import DONE

    with _session(arguments, arguments.folder) as (spark, storage, progress):
        run = find_run(storage, arguments.run)
        progress.say(f"reporting on {run.id}")
        _write_report(spark, storage, run)
    return DONE


def _go_on(spark: Any, storage: "Storage", run: "Run", progress: "RowProgress") -> None:
    from optassign.benchmarks.spark.sweep import list_rows, run_sweep
    from optassign.judging.explanation_text import pluralize

    solved = run_sweep(spark, storage, run, progress.tell)
    progress.say(f"{pluralize(solved, 'row')} solved, {len(list_rows(run)):,} are there")
    print(run.id)


def _write_report(spark: Any, storage: "Storage", run: "Run") -> None:
    """Write both forms and say where they are."""
    from optassign.benchmarks.spark.report.report import make_report

    report = make_report(spark, storage, run)
    for suffix, text in (("html", report.as_html()), ("md", report.as_markdown())):
        storage.write(text, f"report-{run.id}.{suffix}")
        print(storage.under(f"report-{run.id}.{suffix}").removeprefix("file:"))


@contextmanager
def _session(arguments: Namespace, folder: str | None = None) -> "Iterator[tuple[Any, Storage, RowProgress]]":
    """A session, the folder of the results, and what shows progress. UsageError where there can be none."""
    from optassign.benchmarks.spark.session import SparkFailedError, SparkMissingError, check_spark, open_session
    from optassign.cli.show.row_progress import RowProgress

    settings = {}
    for pair in arguments.conf:
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise _usage(f"--conf: found {pair!r}; allowed: NAME=VALUE with a name that begins with spark.")
        settings[name] = value
    try:
        check_spark()
        from optassign.benchmarks.spark.storage import Storage

        with RowProgress(arguments.command) as progress:
            progress.say(f"starting Spark ({arguments.master})")
            with open_session(arguments.master, settings, arguments.py_files) as spark:
                yield spark, Storage(spark, arguments.output if folder is None else folder), progress
    except (SparkMissingError, SparkFailedError) as error:
        raise _usage(str(error)) from None


def _sweep(arguments: Namespace) -> "Sweep":
    try:
        from optassign.benchmarks.spark.presets import PRESETS as SWEEPS
        from optassign.benchmarks.spark.presets import read_sweep
    except ImportError as error:
        raise _usage(f"found no {error.name}; needed: pip install 'optassign[spark]'") from None
    return SWEEPS[arguments.preset] if arguments.grid is None else read_sweep(Path(arguments.grid))


def _chosen(arguments: Namespace) -> tuple[str, ...]:
    from optassign.cli.commands.common import known

    if arguments.assignors is None:
        return ()
    return tuple(sorted({known(name.strip(), "--assignors") for name in arguments.assignors.split(",")}))


def _all_but_kafkas() -> tuple[str, ...]:
    from optassign.assignor import names_without_jdk

    return tuple(sorted(names_without_jdk()))


def _check_kafka(assignors: tuple[str, ...]) -> None:
    """UsageError if Kafka's own classes are asked for and cannot be run here."""
    from optassign.assignor import traits

    if any(traits(name).needs_jdk for name in assignors):
        from optassign.assignors.baselines.kafka import available

        reason = available()
        if reason is not None:
            raise _usage(reason)


def _registered(arguments: Namespace) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in arguments.register:
        name, equals, target = text.partition("=")
        if not equals or not name or ":" in name or target.count(":") != 1:
            raise _usage(f"--register: found {text!r}; allowed: NAME=MODULE:CLASS")
        pairs.append((name, target))
    _register(tuple(pairs))
    return tuple(pairs)


def _register(pairs: tuple[tuple[str, str], ...]) -> None:
    from optassign.assignor import names, register

    for name, target in pairs:
        if name in names():
            raise _usage(f"--register: found {name!r}, which there is already; allowed: a name of its own")
        register(name, target)


def _with_limits(arguments: Namespace, limits: "Limits") -> "Limits":
    from dataclasses import replace

    return replace(limits, **{name: value for name in _LIMITS if (value := getattr(arguments, name)) is not None})


def _usage(text: str) -> ValueError:
    from optassign.cli.commands.common import UsageError

    return UsageError(text)


def _assignors(command: ArgumentParser) -> None:
    command.add_argument("--assignors", metavar="A,B,…", help="names of assignors (default: all that need no JDK)")
    command.add_argument(
        "--register",
        action="append",
        default=[],
        metavar="NAME=MODULE:CLASS",
        help="an assignor of your own (repeatable); its module must be importable, or in --py-files",
    )


def _limits(command: ArgumentParser) -> None:
    limits = command.add_argument_group("limits of each answer")
    add = limits.add_argument
    add("--time-limit", type=_seconds, metavar="SECONDS", help="of solving, kept by the assignor (default: 10)")
    add("--answer-limit", type=_seconds, metavar="SECONDS", help="until it is given up: timeout (default: 60)")
    add("--convergence-limit", type=_seconds, metavar="SECONDS", help="until a convergence is given up (default: 60)")
    add("--memory-limit", type=_from_zero, metavar="MIB", help="of address space, 0 for none (default: 4096)")


def _spark(command: ArgumentParser) -> None:
    spark = command.add_argument_group("Spark")
    spark.add_argument(
        "--master", default="local[*]", metavar="URL", help="local[N], spark://…, yarn, … (default: %(default)s)"
    )
    spark.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark (repeatable)")
    spark.add_argument("--py-files", default="", metavar="A,B,…", help="modules that executors need besides optassign")


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"found {text}; allowed: seconds above 0")
    return value


def _from_one(text: str) -> int:
    return _at_least(text, 1)


def _from_zero(text: str) -> int:
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    value = int(text)
    if value < least:
        raise argparse.ArgumentTypeError(f"found {text}; allowed: {least} or more")
    return value


_seconds.__name__, _from_one.__name__, _from_zero.__name__ = "number", "integer", "integer"
