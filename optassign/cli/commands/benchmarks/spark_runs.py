"""The shared part of `optassign benchmark` and `optassign replay`: options, the Spark session, the report.

Spark starts only in a command that needs it, after all other checks.
"""

import math
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import accept_durations, accept_integers, add_register
from optassign.cli.common import list_assignors
from optassign.cli.output import FailedError, UsageError

if TYPE_CHECKING:
    from optassign.cli.show.progress import RowProgress
    from optassign.simulation.timed.scenario import Scenario
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.solver_process import SolverLimits
    from optassign_benchmarks.spark.storage import Storage

__all__ = [
    "add_assignors",
    "add_driver",
    "add_failed",
    "add_limits",
    "add_spark",
    "check_benchmarks",
    "choose_assignors",
    "forget_all_failures",
    "hold_folder",
    "override_limits",
    "repeat_spark",
    "replicate_on_spark",
    "start_session",
    "start_spark",
    "write_report",
]


_LIMITS = ("time_limit", "answer_limit", "convergence_limit", "memory_limit")
_MASTER = "local[*]"
_POSITIVE_SECONDS = accept_durations("seconds above 0", lambda seconds: 0 < seconds < math.inf)


def add_assignors(parser: ArgumentParser) -> None:
    """Add --assignors and --register."""
    parser.add_argument("--assignors", metavar="A,B,…", help="run these assignors (default: all that need no JDK)")
    add_register(parser, ", or in --py-files where NAME is given")


def add_limits(parser: ArgumentParser) -> None:
    """Add an option for each of the limits of an answer."""
    add = parser.add_argument_group("limits of each answer").add_argument
    add(
        "--time-limit",
        type=_POSITIVE_SECONDS,
        metavar="TIME",
        help="the assignor solves for at most this long (default: 10)",
    )
    add(
        "--answer-limit",
        type=_POSITIVE_SECONDS,
        metavar="TIME",
        help="give an assignment up after this long (default: 60)",
    )
    add(
        "--convergence-limit",
        type=_POSITIVE_SECONDS,
        metavar="TIME",
        help="give a convergence up after this long (default: 60)",
    )
    add(
        "--memory-limit",
        type=accept_integers(0),
        metavar="MIB",
        help="address space of an assignor, 0 for none (default: 4096)",
    )


def add_failed(parser: ArgumentParser, what: str) -> None:
    """Add --failed. `what`: the noun for repeated entries in the help, such as `rows`."""
    parser.add_argument("--failed", action="store_true", help=f"also solve failed {what} again (any status but ok)")


def add_spark(parser: ArgumentParser, *, is_optional: bool = False) -> None:
    """Add --master, --conf and --py-files. `is_optional`: without --master, Spark is not used."""
    add = parser.add_argument_group("Spark").add_argument
    default = "in this process, without Spark" if is_optional else _MASTER
    chosen = None if is_optional else _MASTER
    add("--master", default=chosen, metavar="URL", help=f"run on local[N], spark://…, yarn, … (default: {default})")
    add("--conf", action="append", default=[], metavar="NAME=VALUE", help="set a setting of Spark (repeatable)")
    add("--py-files", default="", metavar="A,B,…", help="send these modules to the executors")


def add_driver(parser: ArgumentParser) -> None:
    """Add --mix-commits and --unlock, for commands that write rows into a folder."""
    add = parser.add_argument
    add("--mix-commits", action="store_true", help="add rows of this commit to a run that another commit has begun")
    add("--unlock", action="store_true", help="take the folder over from a driver on another machine that has ended")


@contextmanager
def hold_folder(arguments: Namespace, storage: "Storage", run: "Run", progress: "RowProgress") -> Iterator[None]:
    """Hold the folder's lock in the context. UsageError if the folder is locked, or another commit began the run and
    --mix-commits is not stated.
    """
    from optassign_benchmarks.folder_lock import LockedError, lock_folder
    from optassign_benchmarks.pedigree import read_commit

    begun = run.find_other_commit(storage)
    if begun is not None and not arguments.mix_commits:
        raise UsageError(
            f"found that commit {begun} has begun run {run.id}, and this is {read_commit()}; "
            "allowed: the same commit, another folder, or --mix-commits (rows name theirs)"
        )
    try:
        with lock_folder(storage, progress.say, unlock=arguments.unlock):
            yield
    except LockedError as error:
        raise UsageError(str(error)) from None


def check_benchmarks() -> None:
    """Raise UsageError unless the distribution with sweeps and replays is installed."""
    try:
        import optassign_benchmarks  # noqa: F401 - checks that it is installed
    except ModuleNotFoundError:
        needed = "optassign-benchmarks, which is not installed: pip install 'optassign-benchmarks[spark]'"
        raise UsageError(f"it needs {needed}") from None


def repeat_spark(arguments: Namespace) -> str:
    """Return the stated options of `add_spark`, for another command that continues the run."""
    stated = [] if arguments.master == _MASTER else [("--master", arguments.master)]
    stated += [("--conf", setting) for setting in arguments.conf]
    if arguments.py_files:
        stated.append(("--py-files", arguments.py_files))
    return "".join(f" {option} {shlex.quote(value)}" for option, value in stated)


def choose_assignors(arguments: Namespace) -> tuple[str, ...]:
    """Return the assignors of --assignors, sorted, each once; empty if not given."""
    return () if arguments.assignors is None else tuple(sorted(set(list_assignors(arguments.assignors))))


def override_limits(arguments: Namespace, limits: "SolverLimits") -> "SolverLimits":
    """Return `limits` with the stated values of the command line."""
    from dataclasses import replace

    return replace(limits, **{name: value for name in _LIMITS if (value := getattr(arguments, name)) is not None})


@contextmanager
def start_spark(arguments: Namespace, folder: str) -> "Iterator[tuple[Any, Storage, RowProgress]]":
    """Open a Spark session; yield it, the storage in `folder`, and the progress. Errors are those of `start_session`."""
    with start_session(arguments) as (spark, progress):
        from optassign_benchmarks.spark.storage import Storage

        yield spark, Storage(spark, folder), progress


@contextmanager
def start_session(arguments: Namespace) -> "Iterator[tuple[Any, RowProgress]]":
    """Open a Spark session; yield it and the progress. UsageError if Spark is missing, FailedError if Spark fails."""
    from optassign.cli.show.progress import RowProgress
    from optassign_benchmarks.spark.session import SparkFailedError, SparkMissingError, check_spark, open_session

    settings = _parse_settings(arguments.conf)
    try:
        check_spark()
        with RowProgress(arguments.command) as progress:
            progress.say(f"starting Spark ({arguments.master})")
            with open_session(arguments.master, settings, arguments.py_files) as spark:
                yield spark, progress
    except SparkMissingError as error:
        raise UsageError(str(error)) from None
    except SparkFailedError as error:
        raise FailedError(str(error)) from None


def replicate_on_spark(
    arguments: Namespace, scenario: "Scenario", chosen: list[str], registered: "tuple[tuple[str, str], ...]"
) -> "Mapping[str, list[Mapping[str, float | int | None]]]":
    """Return the figures of each replication by assignor, each run as a task of Spark.

    UsageError without Spark; FailedError if Spark fails.
    """
    check_benchmarks()
    with start_session(arguments) as (spark, progress):
        from optassign_benchmarks.spark.replications import replicate_on_spark as replicate

        return replicate(spark, scenario, chosen, arguments.replications, registered, progress.show)


def forget_all_failures(spark: Any, storage: "Storage", run: "Run", progress: "RowProgress") -> None:
    """Delete failed rows from all tables of the run, so that they are missing, and report their number."""
    from optassign.judging.explanation_text import pluralize
    from optassign_benchmarks.spark.tables import TABLES, finish_rewriting, forget_failures

    finish_rewriting(storage, run.id)
    number = sum(forget_failures(spark, storage, name, run.id) for name in TABLES)
    progress.say(f"{pluralize(number, 'row')} failed before and will be solved again")


def write_report(spark: Any, storage: "Storage", run: "Run", progress: "RowProgress") -> None:
    """Write the report on a run as HTML and as Markdown, and print both paths."""
    from optassign_benchmarks.spark.reports.report import make_report, to_html, to_markdown

    report = make_report(spark, storage, run)
    progress.clear()
    for suffix, text in (("html", to_html(report)), ("md", to_markdown(report))):
        storage.write(text, f"report-{run.id}.{suffix}")
        print(storage.under(f"report-{run.id}.{suffix}").removeprefix("file:"), flush=True)


def _parse_settings(conf: list[str]) -> dict[str, str]:
    """Return the settings of --conf. UsageError for a setting that is not Spark's."""
    settings = {}
    for pair in conf:
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise UsageError(f"--conf: found {pair!r}; allowed: NAME=VALUE with a name that begins with spark.")
        settings[name] = value
    return settings
