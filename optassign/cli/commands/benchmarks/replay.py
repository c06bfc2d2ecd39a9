"""`optassign replay`: recorded rebalances under every assignor, next to recorded answers, on Spark; or simulated."""

import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import accept_integers, accept_output, check_registered_are_chosen, register_listed_assignors
from optassign.cli.commands.benchmarks.spark_runs import (
    add_assignors,
    add_driver,
    add_failed,
    add_limits,
    add_spark,
    check_benchmarks,
    choose_assignors,
    forget_all_failures,
    hold_folder,
    override_limits,
    start_spark,
    write_report,
)
from optassign.cli.commands.simulate import play, write_runs
from optassign.cli.common import list_assignors
from optassign.cli.output import DONE, UsageError
from optassign.cli.show.pictures import accept_picture

if TYPE_CHECKING:
    from optassign.cli.show.progress import RowProgress
    from optassign.recordings.recording import Recording
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.storage import Storage

ABOUT = "Replay or simulate recorded rebalances under every assignor"
EXAMPLE = "replay recordings --output /tmp/replay\nreplay recordings --simulate --application orders"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `replay`."""
    parser.add_argument(
        "recordings", metavar="RECORDINGS", help="the service's folder of recordings, on any file system that Spark knows"
    )
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        help="write results to this folder, and continue with what is there (with --simulate: a file, optional)",
    )
    add_simulate(parser)
    add_assignors(parser)
    parser.add_argument(
        "--scale", type=accept_integers(1), default=1, metavar="N", help="enlarge each snapshot N times (default: 1)"
    )
    parser.add_argument(
        "--converge", action="store_true", help="also repeat the first rebalance of each episode until nothing changes"
    )
    add_failed(parser, "recordings")
    add_driver(parser)
    add_limits(parser)
    add_spark(parser)


def run(arguments: Namespace) -> int:
    """Solve every recording without a result and write the report. UsageError for a folder without recordings."""
    if arguments.simulate:
        return simulate_recordings(arguments)
    refuse_without_simulate(arguments)
    if arguments.output is None:
        raise UsageError("the following arguments are required: --output")
    check_benchmarks()
    from optassign.assignor import list_names_without_jdk
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.solver_process import SolverLimits
    from optassign_benchmarks.spark.storage import Storage

    registered = register_listed_assignors(arguments, elsewhere=True)
    assignors = choose_assignors(arguments) or tuple(sorted(list_names_without_jdk()))
    check_registered_are_chosen(registered, assignors, "--assignors")
    limits = override_limits(arguments, SolverLimits())
    with start_spark(arguments, arguments.output) as (spark, storage, progress):
        # Imported here, as it needs pyarrow: the session has already reported missing packages.
        from optassign_benchmarks.spark.replay import count_recordings

        recordings = Storage(spark, arguments.recordings)
        total = count_recordings(spark, recordings) if recordings.exists() else 0
        if not total:
            raise UsageError(
                f"RECORDINGS: found no recording in {arguments.recordings}; allowed: a folder with *.json.gz or *.json files"
            )
        replayed = Run(
            kind="replay",
            name="replay",
            assignors=assignors,
            limits=limits,
            recordings=recordings.folder,
            scale=arguments.scale,
            converge=arguments.converge,
            registered=registered,
        )
        with hold_folder(arguments, storage, replayed, progress):
            if not replayed.exists(storage):
                replayed.save(storage)
            _replay_missing(arguments, spark, storage, replayed, progress, total)
    return DONE


def _replay_missing(
    arguments: Namespace, spark: Any, storage: "Storage", replayed: "Run", progress: "RowProgress", total: int
) -> None:
    """Replay recordings without a result, write the report, and report the outcome. `total`: number of recordings."""
    from optassign.judging.explanation_text import pluralize
    from optassign_benchmarks.spark.replay import run_replay
    from optassign_benchmarks.spark.runs import count_outcomes

    again = shlex.join(["optassign", *(word for word in sys.argv[1:] if word != "--failed")])
    if arguments.failed:
        forget_all_failures(spark, storage, replayed, progress)
    try:
        done = run_replay(spark, storage, replayed, progress.show)
    except KeyboardInterrupt:
        progress.say(f"interrupted; to continue: `{again}`")
        raise
    tally = count_outcomes(spark, storage, replayed)
    write_report(spark, storage, replayed, progress)
    failed = f"; to solve the failures again: `{again} --failed`" if tally.failures or tally.unreadable else ""
    progress.say(f"{pluralize(done.recordings, 'recording')} replayed, {total:,} are there, {tally.describe()}{failed}")


_DEFAULT = "cp-sat,high-availability,sticky"
_SIMULATE_ONLY = ("application", "format", "events", "picture")
_OPTIONS_WITHOUT_SIMULATE: dict[str, Any] = {
    "scale": 1,
    "converge": False,
    "failed": False,
    "mix_commits": False,
    "unlock": False,
    "master": "local[*]",
    "conf": [],
    "py_files": "",
    **dict.fromkeys(("time_limit", "answer_limit", "convergence_limit", "memory_limit")),
}
"""The options that exclude --simulate, and their defaults."""


def add_simulate(parser: ArgumentParser) -> None:
    """Add --simulate and its options."""
    add = parser.add_argument_group("the simulator (docs/reference/simulator.md)").add_argument
    add("--simulate", action="store_true", help="simulate one application from its first recording on, without Spark")
    add("--application", metavar="NAME", help="choose the application, where there are recordings of several")
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--format", choices=("table", "json", "markdown"), help="output (default: table; json to a file)")
    formats.add_argument("--json", action="store_const", dest="format", const="json", help="print JSON, as --format json does")
    add("--events", type=accept_output, metavar="FILE", help="write every event and decision of every run as JSON lines")
    add(
        "--picture",
        type=accept_picture,
        metavar="FILE",
        help="draw the clients of tasks over time, and the curves, as PNG, SVG or PDF",
    )


def refuse_without_simulate(arguments: Namespace) -> None:
    """Raise UsageError for an option that needs --simulate."""
    for name in _SIMULATE_ONLY:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name}: found it without --simulate; allowed: with it")


def simulate_recordings(arguments: Namespace) -> int:
    """Simulate an application from its first recording on, and write the figures of each assignor."""
    from pathlib import Path

    from optassign.simulation.recorded import make_scenario, read_recordings

    given = next((name for name, default in _OPTIONS_WITHOUT_SIMULATE.items() if getattr(arguments, name) != default), None)
    if given is not None:
        raise UsageError(f"--{given.replace('_', '-')}: found it with --simulate; allowed: without it")
    registered = register_listed_assignors(arguments)
    chosen = list_assignors(arguments.assignors or _DEFAULT)
    check_registered_are_chosen(registered, chosen, "--assignors")
    if arguments.output is not None:
        try:
            accept_output(arguments.output)
        except ArgumentTypeError as error:
            raise UsageError(f"--output: {error}") from None
    found, refused = read_recordings(Path(arguments.recordings))
    for line in refused:
        print(f"optassign replay: left out: {line}", file=sys.stderr)
    scenario, beginning = make_scenario(_choose_application(arguments, found))
    write_runs(arguments, scenario, [play(scenario, name, beginning) for name in chosen])
    return DONE


def _choose_application(arguments: Namespace, found: "dict[str, list[Recording]]") -> "list[Recording]":
    names = ", ".join(name or "''" for name in found)
    if arguments.application is None:
        if len(found) > 1:
            raise UsageError(f"RECORDINGS: found {len(found)} applications; allowed: --application with one of {names}")
        return next(iter(found.values()))
    if arguments.application not in found:
        raise UsageError(f"--application: found {arguments.application!r}; allowed: {names}")
    return found[arguments.application]
