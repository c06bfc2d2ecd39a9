"""`optassign simulate`: an application over hours, or random histories, under several assignors."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import accept_integers, add_output
from optassign.cli.common import blame_assignor, list_assignors, write_result
from optassign.cli.errors import DONE, UsageError
from optassign.cli.registering import add_register, register_listed_assignors
from optassign.cli.suites import add_suite, play_suites

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.simulation.timed.scenario import Scenario
    from optassign.simulation.timed.simulator import Played

__all__ = ["ABOUT", "add_arguments", "run"]

ABOUT = "an application over hours: what its users feel under each assignor"
_DEFAULT = "cp-sat,high-availability,sticky"


def add_arguments(parser: ArgumentParser) -> None:
    """Tell the parser what `simulate` takes."""
    parser.add_argument(
        "scenario", metavar="SCENARIO", nargs="?", help="a scenario in TOML, or the name of one that comes with optassign"
    )
    add_suite(parser)
    parser.add_argument("--assignors", metavar="A,B,…", default=_DEFAULT, help=f"names of assignors (default: {_DEFAULT})")
    add_register(parser)
    parser.add_argument(
        "--seed",
        type=accept_integers(0, 2**31),
        metavar="N",
        help="in place of the scenario's own; of a suite's first history (default: 1)",
    )
    parser.add_argument(
        "--events", metavar="FILE", help="every event and decision of every run, or every history graded, as JSON lines"
    )
    parser.add_argument("--picture", metavar="FILE", help="who has what over time, and the curves, as PNG, SVG or PDF")
    add_output(parser, "markdown")


def run(arguments: Namespace) -> int:
    """Write the figures of each run, or the grades of a suite."""
    if (arguments.scenario is None) == (arguments.suite is None):
        found = "neither SCENARIO nor --suite" if arguments.suite is None else "both SCENARIO and --suite"
        raise UsageError(f"found {found}; allowed: one of them")
    if arguments.suite is None and arguments.count is not None:
        raise UsageError("--count: found it with a scenario; allowed: with --suite")
    register_listed_assignors(arguments)
    chosen = list_assignors(arguments.assignors)
    return _play_scenario(arguments, chosen) if arguments.suite is None else play_suites(arguments, chosen)


def _play_scenario(arguments: Namespace, chosen: list[str]) -> int:
    from optassign.cli.output import format_json, write_text
    from optassign.simulation.timed.reading import read_scenario
    from optassign.simulation.timed.summary import digest, summarise

    if arguments.picture is not None:
        from optassign.cli.show.pictures import check_matplotlib

        check_matplotlib()
    scenario = read_scenario(arguments.scenario)
    if arguments.seed is not None:
        scenario = scenario.model_copy(update={"seed": arguments.seed})
    runs = [_play(scenario, name) for name in chosen]
    if arguments.events is not None:
        _write_events(runs, arguments.events)
    if arguments.picture is not None:
        from optassign.cli.show.timelines import draw_timelines

        draw_timelines(runs, arguments.picture)

    def make_json() -> str:
        figures = {played.assignor: {**summarise(played), "digest": digest(played)} for played in runs}
        return format_json({"scenario": scenario.name, "seed": scenario.seed, "assignors": figures})

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.simulation_tables import render_runs

        return render_runs(scenario, runs, width)

    if arguments.format == "markdown":
        from optassign.cli.show.simulation_tables import format_runs_markdown

        write_text(format_runs_markdown(runs), arguments.output)
    else:
        write_result(arguments, make_json, make_tables)
    return DONE


def _play(scenario: "Scenario", name: str) -> "Played":
    from optassign.cli.show.progress import Progress
    from optassign.simulation.timed.simulator import simulate

    with Progress(f"{scenario.name} under {name}") as progress, blame_assignor(name):

        def show_time(seconds: float) -> None:
            progress.doing = f"{scenario.name} under {name}: {seconds / 3600:.1f} of {scenario.duration_s / 3600:.1f} h"

        return simulate(scenario, name, show_time)


def _write_events(runs: "list[Played]", path: str) -> None:
    import json

    from optassign.cli.output import write_text

    events = ({"assignor": played.assignor, **event} for played in runs for event in played.events)
    write_text("".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events), path)
