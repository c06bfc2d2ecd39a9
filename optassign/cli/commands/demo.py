"""`optassign demo`: a recorded scale-out under Kafka's default assignor and under optassign."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import add_output
from optassign.cli.output import DONE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.state import ApplicationState
    from optassign.simulation.timed.simulator import SimulatedRun

DEMO_RATE = 100.0
"""Offsets per second that an instance restores: a changelog of 1,000 offsets takes ten seconds."""
DEMO_DURATION_S = 360.0
"""Simulated time; both assignors are done by then."""
EXPLANATION_S = 10.0
"""Time limit of the explained answer, for which a reader waits."""


ABOUT = "Play a recorded scale-out under Kafka's default and optassign"
EXAMPLE = "demo\ndemo --snapshot > snapshot.json"
ASSIGNORS = ("high-availability", "cp-sat")
"""Kafka's default assignor, and optassign's."""
SNAPSHOT = "third-instance-joins.json"
"""A rebalance of Kafka Streams 4.3.1 in this package, the same file as in tests/data/kafka-4.3.1."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `demo`."""
    parser.add_argument("--snapshot", action="store_true", help="print the recorded snapshot, to try other commands with it")
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Simulate the scale-out and write the comparison, or write the snapshot."""
    from importlib.resources import files

    from optassign.assignor import assign
    from optassign.cli.common import write_result
    from optassign.cli.output import format_json, write_text
    from optassign.cli.show.progress import ProgressLine
    from optassign.formats.json_input import read_state
    from optassign.simulation.timed.simulator import summarise

    path = files("optassign.cli") / SNAPSHOT
    if arguments.snapshot:
        write_text(path.read_text(encoding="utf-8"), arguments.output)
        return DONE
    state = read_state(str(path))
    with ProgressLine("playing a recorded scale-out"):
        runs = _play(state)
        answer = assign(state, ASSIGNORS[-1], EXPLANATION_S)

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.demo_page import render_demo

        return render_demo(state, runs, answer, width)

    write_result(arguments, lambda: format_json({run.assignor: summarise(run) for run in runs}), make_tables)
    return DONE


def _play(state: "ApplicationState") -> "list[SimulatedRun]":
    from optassign.simulation.recorded import make_snapshot_scenario
    from optassign.simulation.timed.simulator import simulate

    scenario, beginning = make_snapshot_scenario(state, DEMO_RATE, DEMO_DURATION_S)
    return [simulate(scenario, name, None, beginning) for name in ASSIGNORS]
