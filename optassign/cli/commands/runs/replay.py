"""`optassign replay`: recorded rebalances under every assignor, next to recorded answers, on Spark; or played on."""

from argparse import ArgumentParser, Namespace

from optassign.cli.arguments import accept_integers
from optassign.cli.commands.runs.recorded_runs import add_simulate, refuse_without_simulate, simulate_recordings
from optassign.cli.commands.runs.spark_runs import (
    add_assignors,
    add_failed,
    add_limits,
    add_spark,
    check_benchmarks,
    choose_assignors,
    forget_all_failures,
    override_limits,
    start_spark,
    write_report,
)
from optassign.cli.errors import DONE, UsageError
from optassign.cli.registering import register_listed_assignors

__all__ = ["ABOUT", "EXAMPLE", "add_arguments", "run"]

ABOUT = "Replay or simulate recorded rebalances under every assignor"
EXAMPLE = "replay recordings --output /tmp/replay\nreplay recordings --simulate --application orders"


def add_arguments(parser: ArgumentParser) -> None:
    """Tell the parser what `replay` takes."""
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
    add_limits(parser)
    add_spark(parser)


def run(arguments: Namespace) -> int:
    """Solve every recording that has no result yet and write the report. UsageError for a folder without recordings."""
    if arguments.simulate:
        return simulate_recordings(arguments)
    refuse_without_simulate(arguments)
    if arguments.output is None:
        raise UsageError("the following arguments are required: --output")
    check_benchmarks()
    from optassign.assignor import names_without_jdk
    from optassign.judging.explanation_text import pluralize
    from optassign_benchmarks.spark.jobs import Limits
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.storage import Storage

    registered = register_listed_assignors(arguments, elsewhere=True)
    assignors = choose_assignors(arguments) or tuple(sorted(names_without_jdk()))
    limits = override_limits(arguments, Limits())
    with start_spark(arguments, arguments.output) as (spark, storage, progress):
        # Only now, as it imports pyarrow: the session has said in one line what is missing.
        from optassign_benchmarks.spark.replay import count_recordings, run_replay
        from optassign_benchmarks.spark.runs import count_outcomes

        recordings = Storage(spark, arguments.recordings)
        total = count_recordings(spark, recordings) if recordings.exists() else 0
        if not total:
            raise UsageError(
                f"RECORDINGS: found no recording in {arguments.recordings}; allowed: a folder with *.json.gz files"
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
        replayed.save(storage)
        if arguments.failed:
            forget_all_failures(spark, storage, replayed, progress)
        try:
            done = run_replay(spark, storage, replayed, progress.show)
        except KeyboardInterrupt:
            progress.say("interrupted; to continue, repeat the command")
            raise
        tally = count_outcomes(spark, storage, replayed)
        write_report(spark, storage, replayed, progress)
        again = "; to solve the failures again, repeat the command with --failed" if tally.failures or tally.unreadable else ""
        progress.say(f"{pluralize(done.recordings, 'recording')} replayed, {total:,} are there, {tally.describe()}{again}")
    return DONE
