"""The shared part of `optassign simulate` and `optassign replay --simulate`: play a scenario, and write its results."""

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.common import blame_assignor, write_result

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.simulation.timed.scenario import Scenario
    from optassign.simulation.timed.simulator import Played
    from optassign.simulation.timed.snapshots import Beginning

__all__ = ["check_picture", "play", "write_runs"]


def check_picture(arguments: Namespace) -> None:
    """UsageError if --picture is asked for and cannot be drawn here."""
    if arguments.picture is not None:
        from optassign.cli.show.pictures import check_matplotlib

        check_matplotlib()


def play(scenario: "Scenario", name: str, beginning: "Beginning | None" = None) -> "Played":
    """The scenario under one assignor; after a second, standard error says how far it is."""
    from optassign.cli.show.progress import Progress
    from optassign.simulation.timed.simulator import simulate

    with Progress(f"{scenario.name} under {name}") as progress, blame_assignor(name):

        def show_time(seconds: float) -> None:
            progress.doing = f"{scenario.name} under {name}: {seconds / 3600:.1f} of {scenario.duration_s / 3600:.1f} h"

        return simulate(scenario, name, show_time, beginning)


def write_runs(arguments: Namespace, scenario: "Scenario", runs: "list[Played]") -> None:
    """Figures in the format of --format, and what --events and --picture ask for."""
    from optassign.cli.output import format_json, write_text
    from optassign.simulation.timed.simulator import digest, summarise

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


def _write_events(runs: "list[Played]", path: str) -> None:
    import json

    from optassign.cli.output import write_text

    events = ({"assignor": played.assignor, **event} for played in runs for event in played.events)
    write_text("".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events), path)
