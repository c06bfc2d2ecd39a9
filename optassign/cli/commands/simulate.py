"""`optassign simulate`: simulate an application over hours, or random histories, under several assignors."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from optassign.cli.arguments import (
    accept_integers,
    accept_output,
    add_output,
    add_register,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.commands.benchmarks.spark_runs import add_spark, replicate_on_spark
from optassign.cli.common import blame_assignor, list_assignors, write_result
from optassign.cli.output import DONE, FAILED, UsageError
from optassign.cli.show.pictures import accept_picture, save_figure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.simulation.history_playing import Graded
    from optassign.simulation.timed.scenario import Scenario
    from optassign.simulation.timed.simulator import SimulatedRun
    from optassign.simulation.timed.snapshots import RecordedStart

Registered = tuple[tuple[str, str], ...]
"""Name and "module:class" of assignors of --register."""
Figures = Mapping[str, float | int | None]
"""Figure → value of one run."""

__all__ = ["ABOUT", "EXAMPLE", "add_arguments", "add_suite", "play", "play_suites", "run", "write_runs"]


ABOUT = "Simulate an application over hours under each assignor"
EXAMPLE = "simulate rolling-restart\nsimulate my-application.toml --assignors cp-sat,high-availability"
_DEFAULT = "cp-sat,high-availability,sticky"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `simulate`."""
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a scenario in TOML, or the name of one in optassign, such as scale-out or rolling-restart",
    )
    add_suite(parser)
    parser.add_argument(
        "--assignors", metavar="A,B,…", default=_DEFAULT, help=f"simulate these assignors (default: {_DEFAULT})"
    )
    add_register(parser)
    parser.add_argument(
        "--seed",
        type=accept_integers(0, 2**31),
        metavar="N",
        help="use this seed in place of the scenario's own; of a suite: seed of the first history (default: 1)",
    )
    parser.add_argument(
        "--replications",
        type=accept_integers(6),  # find_least_replications(CONFIDENCE), which is slow to import
        metavar="N",
        help="play the scenario under N seeds, 6 or more, with --master on Spark, and estimate the median of each figure "
        "with its interval",
    )
    parser.add_argument(
        "--events",
        type=accept_output,
        metavar="FILE",
        help="write every event and decision, or every graded history, as JSON lines",
    )
    parser.add_argument(
        "--picture",
        type=accept_picture,
        metavar="FILE",
        help="draw the clients of tasks over time, and the curves, of a single run, as PNG, SVG or PDF",
    )
    add_output(parser, "markdown")
    add_spark(parser, is_optional=True)


def run(arguments: Namespace) -> int:
    """Write the figures of each run, or the grades of a suite."""
    if (arguments.scenario is None) == (arguments.suite is None):
        found = "neither SCENARIO nor --suite" if arguments.suite is None else "both SCENARIO and --suite"
        raise UsageError(f"found {found}; allowed: one of them")
    if arguments.suite is not None and arguments.replications is not None:
        raise UsageError("--replications: found it with --suite; allowed: with a scenario")
    if arguments.suite is None and arguments.count is not None:
        raise UsageError("--count: found it with a scenario; allowed: with --suite")
    if arguments.replications is None and (arguments.master or arguments.conf or arguments.py_files):
        raise UsageError("--master, --conf or --py-files: found without --replications; allowed: with it")
    if arguments.master is None and (arguments.conf or arguments.py_files):
        raise UsageError("--conf or --py-files: found without --master; allowed: with it")
    registered = register_listed_assignors(arguments, elsewhere=arguments.master is not None)
    chosen = list_assignors(arguments.assignors)
    check_registered_are_chosen(registered, chosen, "--assignors")
    return _play_scenario(arguments, chosen, registered) if arguments.suite is None else play_suites(arguments, chosen)


def _play_scenario(arguments: Namespace, chosen: list[str], registered: "Registered") -> int:
    from optassign.simulation.timed.scenario import read_scenario

    scenario = read_scenario(arguments.scenario)
    if arguments.seed is not None:
        scenario = scenario.model_copy(update={"seed": arguments.seed})
    if arguments.replications is not None:
        _replicate(arguments, scenario, chosen, registered)
        return DONE
    write_runs(arguments, scenario, [play(scenario, name) for name in chosen])
    return DONE


def _replicate(arguments: Namespace, scenario: "Scenario", chosen: list[str], registered: "Registered") -> None:
    """Write the medians of all figures with their intervals. UsageError for options of a single run."""
    from dataclasses import asdict

    from optassign.cli.output import format_json
    from optassign.simulation.timed.replications import CONFIDENCE, METHOD, estimate_figures

    single = {"--events": arguments.events, "--picture": arguments.picture}
    for option in (name for name, value in single.items() if value is not None):
        raise UsageError(f"{option}: found it with --replications; allowed: with a single run")
    if arguments.format == "markdown":
        raise UsageError("--format: found markdown with --replications; allowed: table, json")
    number = arguments.replications
    figures: Mapping[str, list[Figures]]
    if arguments.master is None:
        figures = {name: _replicate_here(scenario, name, number) for name in chosen}
    else:
        figures = replicate_on_spark(arguments, scenario, chosen, registered)
    estimates = {name: estimate_figures(each) for name, each in figures.items()}

    def make_json() -> str:
        found = {name: {figure: asdict(each) for figure, each in own.items()} for name, own in estimates.items()}
        interval = {"confidence": CONFIDENCE, "method": METHOD}
        head = {"scenario": scenario.name, "seed": scenario.seed, "replications": number, "interval": interval}
        return format_json({**head, "assignors": found})

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.simulation_tables import render_replications

        return render_replications(scenario, number, estimates, width)

    write_result(arguments, make_json, make_tables)


def _replicate_here(scenario: "Scenario", name: str, number: int) -> "list[Figures]":
    from optassign.cli.show.progress import ProgressLine
    from optassign.simulation.timed.replications import replicate
    from optassign.simulation.timed.simulator import summarise

    with ProgressLine(f"{scenario.name} under {name}") as progress, blame_assignor(name):

        def show(done: int) -> None:
            progress.doing = f"{scenario.name} under {name}: {done:,} of {number:,} runs"

        return [summarise(played) for played in replicate(scenario, name, number, show)]


def play(scenario: "Scenario", name: str, beginning: "RecordedStart | None" = None) -> "SimulatedRun":
    """Simulate the scenario under one assignor; after a second, standard error shows the progress."""
    from optassign.cli.show.progress import ProgressLine
    from optassign.simulation.timed.simulator import simulate

    with ProgressLine(f"{scenario.name} under {name}") as progress, blame_assignor(name):

        def show_time(seconds: float) -> None:
            progress.doing = f"{scenario.name} under {name}: {seconds / 3600:.1f} of {scenario.duration_s / 3600:.1f} h"

        return simulate(scenario, name, show_time, beginning)


def write_runs(arguments: Namespace, scenario: "Scenario", runs: "list[SimulatedRun]") -> None:
    """Write the figures in the format of --format, the events to --events, and the plot to --picture."""
    from dataclasses import asdict

    from optassign.cli.output import format_json, write_text
    from optassign.simulation.timed.effects import measure_effects
    from optassign.simulation.timed.simulator import digest, summarise

    if arguments.events is not None:
        _write_events(runs, arguments.events)
    if arguments.picture is not None:
        from optassign.plots import plot_simulations

        save_figure(plot_simulations(runs), arguments.picture)

    def make_json() -> str:
        figures = {
            played.assignor: {
                **summarise(played),
                "events": [asdict(effect) for effect in measure_effects(played)],
                "digest": digest(played),
            }
            for played in runs
        }
        return format_json({"scenario": scenario.name, "seed": scenario.seed, "assignors": figures})

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.simulation_tables import render_runs

        return render_runs(scenario, runs, width)

    if arguments.format == "markdown":
        from optassign.cli.show.simulation_tables import format_runs_markdown

        write_text(format_runs_markdown(runs), arguments.output)
    else:
        write_result(arguments, make_json, make_tables)


def _write_events(runs: "list[SimulatedRun]", path: str) -> None:
    import json

    from optassign.cli.output import write_text

    events = ({"assignor": played.assignor, **event} for played in runs for event in played.events)
    write_text("".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events), path)


def add_suite(parser: ArgumentParser) -> None:
    """Add --suite and --count."""
    parser.add_argument("--suite", choices=("small", "large"), help="play and grade random histories in place of a scenario")
    parser.add_argument(
        "--count", type=accept_integers(1), metavar="K", help="--suite: how many histories (default: small 300, large 30)"
    )


def play_suites(arguments: Namespace, assignors: list[str]) -> int:
    """Write the grades of each assignor. FAILED if an assignor that promises the rules breaks one or does not converge."""
    from optassign.assignor import find_traits
    from optassign.cli.output import format_json, write_text
    from optassign.simulation.history_playing import count_histories

    if arguments.picture is not None:
        raise UsageError("--picture: found it with --suite; allowed: with a scenario")
    suite, seed = arguments.suite, 1 if arguments.seed is None else arguments.seed
    count = arguments.count or count_histories(suite)
    graded = [_play_suite(suite, seed, count, name) for name in assignors]
    promising = [name for name in assignors if find_traits(name).keeps_rules]
    if arguments.events is not None:
        _write_histories(graded, suite, arguments.events)

    def make_json() -> str:
        found = {each.assignor: each.as_json() for each in graded}
        return format_json({"suite": suite, "seed": seed, "count": count, "assignors": found})

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.simulation_tables import render_grades

        title = f"{count:,} {suite} {'history' if count == 1 else 'histories'}, seeds {seed:,} to {seed + count - 1:,}"
        return render_grades(title, graded, promising)

    if arguments.format == "markdown":
        from optassign.cli.show.simulation_tables import format_grades_markdown

        write_text(format_grades_markdown(graded, promising), arguments.output)
    else:
        write_result(arguments, make_json, make_tables)
    return FAILED if any(each.wrong for each in graded if each.assignor in promising) else DONE


def _play_suite(suite: str, seed: int, count: int, name: str) -> "Graded":
    from optassign.cli.show.progress import ProgressLine
    from optassign.simulation.history_playing import play_suite

    with ProgressLine(f"{suite} histories under {name}") as progress, blame_assignor(name):

        def show(played: int) -> None:
            progress.doing = f"{suite} histories under {name}: {played:,} of {count:,}"

        return play_suite(suite, seed, count, name, show)


def _write_histories(graded: "list[Graded]", suite: str, path: str) -> None:
    """Write a line for each history and assignor: the history, and its grades."""
    import json

    from optassign.cli.output import write_text
    from optassign.simulation.history import draw_history

    lines = (
        {"assignor": each.assignor, "seed": seed, "history": str(draw_history(suite, seed)), **grades.as_json()}
        for each in graded
        for seed, grades in each.by_seed.items()
    )
    write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), path)
