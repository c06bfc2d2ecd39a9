"""`optassign benchmark run|continue|report`: run every assignor on a grid of snapshots, on Spark. `instances` needs no
Spark.
"""

import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import (
    accept_integers,
    add_command,
    check_registered_are_chosen,
    register_assignors,
    register_listed_assignors,
)
from optassign.cli.commands.benchmarks import instances
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
    repeat_spark,
    start_spark,
    write_report,
)
from optassign.cli.output import DONE, UsageError

if TYPE_CHECKING:
    from optassign.cli.show.progress import RowProgress
    from optassign_benchmarks.spark.presets import HistorySweep, Sweep
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.storage import Storage

ABOUT = "Score assignors on instances with best-known values, or run them on a grid, on Spark"
EXAMPLE = "benchmark instances --size small --assignors greedy,sticky\nbenchmark run --preset smoke --output /tmp/sweep"
PRESETS = ("smoke", "paper", "wide", "histories")
"""The presets of `optassign_benchmarks.spark.presets`, which is too slow to import for a help text."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the actions of `benchmark` and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    about = "Score assignors on a fixed set of instances with best-known values"
    fixed = add_command(actions, "instances", about, "benchmark instances --size small --assignors greedy,sticky")
    instances.add_arguments(fixed)
    begin = add_command(actions, "run", "Begin a sweep", "benchmark run --preset smoke --output /tmp/sweep")
    grid = begin.add_mutually_exclusive_group(required=True)
    presets_help = "smoke: a minute; paper: five minutes on two cores; wide: for a cluster; histories: random ones, graded"
    grid.add_argument("--preset", choices=PRESETS, help=presets_help)
    grid.add_argument("--grid", metavar="FILE", help="a grid of your own as TOML, see docs/how-to/spark.md")
    begin.add_argument("--seed", type=accept_integers(0, 2**31), metavar="N", help="histories: seed of the first (default: 1)")
    begin.add_argument(
        "--count", type=accept_integers(1, 10_000_000), metavar="K", help="histories: how many (default: 10,000)"
    )
    begin.add_argument(
        "--output", metavar="FOLDER", required=True, help="write results to this folder, on any file system that Spark knows"
    )
    add_assignors(begin)
    begin.add_argument("--kafka", action="store_true", help="Kafka's own classes too, which need a JDK and Maven")
    add_limits(begin)
    add_driver(begin)
    add_spark(begin)
    for name, about in (("continue", "Continue an interrupted sweep"), ("report", "Write tables and pictures of a run")):
        action = add_command(actions, name, about, f"benchmark {name} /tmp/sweep")
        action.add_argument("folder", metavar="FOLDER", help="the folder with its results")
        action.add_argument("--run", metavar="ID", help="choose a run by the beginning of its id, where there are several")
        if name == "continue":
            add_failed(action, "rows")
            add_driver(action)
        add_spark(action)


def run(arguments: Namespace) -> int:
    """Run the action: score instances; solve the missing rows of a sweep and print its id; or write a report and print its
    paths.
    """
    check_benchmarks()
    actions = {"instances": instances.run, "run": _begin, "continue": _continue, "report": _report}
    return actions[arguments.action](arguments)


def _begin(arguments: Namespace) -> int:
    from optassign_benchmarks.spark.runs import Run

    registered = register_listed_assignors(arguments, elsewhere=True)
    sweep = _load_sweep(arguments)
    chosen = choose_assignors(arguments)
    if chosen:
        sweep = sweep.model_copy(update={"assignors": chosen})
    limits = override_limits(arguments, sweep.limits.limits())
    sweep_run = Run("sweep", sweep.name, sweep.list_assignors(arguments.kafka), limits, sweep, registered=registered)
    check_registered_are_chosen(registered, sweep_run.assignors, "--assignors")
    _check_kafka(sweep_run.assignors)
    with start_spark(arguments, arguments.output) as (spark, storage, progress):
        if sweep_run.exists(storage):
            again = _repeat(arguments, storage, sweep_run)
            raise UsageError(f"--output: found run {sweep_run.id} in it; allowed: `{again}`")
        with hold_folder(arguments, storage, sweep_run, progress):
            sweep_run.save(storage)
            _solve_missing_rows(arguments, spark, storage, sweep_run, progress)
    return DONE


def _continue(arguments: Namespace) -> int:
    from optassign_benchmarks.spark.runs import find_run

    with start_spark(arguments, arguments.folder) as (spark, storage, progress):
        sweep_run = find_run(storage, arguments.run)
        if sweep_run.kind != "sweep":
            raise UsageError(f"FOLDER: found replay {sweep_run.id}; allowed: a sweep (a replay: repeat its command)")
        register_assignors(sweep_run.registered)
        _check_kafka(sweep_run.assignors)
        with hold_folder(arguments, storage, sweep_run, progress):
            if arguments.failed:
                forget_all_failures(spark, storage, sweep_run, progress)
            _solve_missing_rows(arguments, spark, storage, sweep_run, progress)
    return DONE


def _report(arguments: Namespace) -> int:
    from optassign_benchmarks.spark.runs import find_run

    with start_spark(arguments, arguments.folder) as (spark, storage, progress):
        reported = find_run(storage, arguments.run)
        progress.say(f"reporting on {reported.id}")
        write_report(spark, storage, reported, progress)
    return DONE


def _solve_missing_rows(
    arguments: Namespace, spark: Any, storage: "Storage", sweep_run: "Run", progress: "RowProgress"
) -> None:
    """Solve every row of the sweep without a result, print the run's id, and report the outcome in the last line."""
    from optassign.judging.explanation_text import pluralize
    from optassign_benchmarks.spark.presets import Sweep
    from optassign_benchmarks.spark.runs import count_outcomes
    from optassign_benchmarks.spark.sweep import run_sweep

    if isinstance(sweep_run.sweep, Sweep) and (unplayed := sweep_run.sweep.count_unplayed()):
        most = f"{sweep_run.sweep.converge_up_to:,} tasks (converge_up_to)"
        progress.say(f"{pluralize(unplayed, 'instance')} of more than {most}: answered once, not played on")
    again = _repeat(arguments, storage, sweep_run)
    try:
        solved = run_sweep(spark, storage, sweep_run, progress.show)
    except KeyboardInterrupt:
        progress.say(f"interrupted; to continue: `{again}`")
        raise
    tally = count_outcomes(spark, storage, sweep_run)
    progress.clear()
    print(sweep_run.id, flush=True)
    failed = f"; to solve the failures again: `{again} --failed`" if tally.failures else ""
    progress.say(f"{pluralize(solved, 'row')} solved, {sum(tally.statuses.values()):,} are there, {tally.describe()}{failed}")


def _repeat(arguments: Namespace, storage: "Storage", sweep_run: "Run") -> str:
    """Return the command that continues the run. It needs no --register: the run has stored these assignors."""
    mixed = " --mix-commits" if arguments.mix_commits else ""
    return f"optassign benchmark continue {shlex.quote(storage.given)} --run {sweep_run.id}{mixed}{repeat_spark(arguments)}"


def _load_sweep(arguments: Namespace) -> "Sweep | HistorySweep":
    """Return the sweep of --preset or --grid. InputError for an unreadable grid, UsageError for options of another preset."""
    from pathlib import Path

    from optassign_benchmarks.spark.presets import HISTORIES, read_sweep
    from optassign_benchmarks.spark.presets import PRESETS as SWEEPS

    asked = {name: value for name in ("seed", "count") if (value := getattr(arguments, name)) is not None}
    if arguments.preset == "histories":
        sweep = HISTORIES.model_copy(update=asked)
        if sweep.seed + sweep.count - 1 > 2**31:
            raise UsageError(f"--seed: found {sweep.seed} for {sweep.count} histories; allowed: seeds up to {2**31}")
        return sweep
    if asked:
        raise UsageError(f"--{min(asked)}: found it without --preset histories; allowed: with that preset only")
    return SWEEPS[arguments.preset] if arguments.grid is None else read_sweep(Path(arguments.grid))


def _check_kafka(assignors: tuple[str, ...]) -> None:
    """Raise UsageError if Kafka's own classes are requested and cannot run here."""
    from optassign.assignor import find_traits

    if any(find_traits(name).needs_jdk for name in assignors):
        from optassign.assignors.baselines.jvm import available

        reason = available()
        if reason is not None:
            raise UsageError(reason)
