"""`optassign simulate`: an application over hours, or random histories, under several assignors."""

from argparse import ArgumentParser, Namespace

from optassign.cli.arguments import accept_integers, add_output
from optassign.cli.commands.runs.simulated_runs import check_picture, play, write_runs
from optassign.cli.commands.runs.suites import add_suite, play_suites
from optassign.cli.common import list_assignors
from optassign.cli.errors import DONE, UsageError
from optassign.cli.registering import add_register, register_listed_assignors

__all__ = ["ABOUT", "EXAMPLE", "add_arguments", "run"]

ABOUT = "Simulate an application over hours under each assignor"
EXAMPLE = "simulate rolling-restart\nsimulate my-application.toml --assignors cp-sat,high-availability"
_DEFAULT = "cp-sat,high-availability,sticky"


def add_arguments(parser: ArgumentParser) -> None:
    """Tell the parser what `simulate` takes."""
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
        "--events", metavar="FILE", help="write every event and decision, or every graded history, as JSON lines"
    )
    parser.add_argument("--picture", metavar="FILE", help="draw who has what over time, and the curves, as PNG, SVG or PDF")
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
    from optassign.simulation.timed.scenario import read_scenario

    check_picture(arguments)
    scenario = read_scenario(arguments.scenario)
    if arguments.seed is not None:
        scenario = scenario.model_copy(update={"seed": arguments.seed})
    write_runs(arguments, scenario, [play(scenario, name) for name in chosen])
    return DONE
