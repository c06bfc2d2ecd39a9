"""`optassign replay --simulate`: the simulator begins with what a real application recorded."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from optassign.cli.commands.runs.simulated_runs import check_picture, play, write_runs
from optassign.cli.common import list_assignors
from optassign.cli.errors import DONE, UsageError
from optassign.cli.registering import register_listed_assignors

if TYPE_CHECKING:
    from optassign.recordings.recording import Recording

__all__ = ["add_simulate", "refuse_without_simulate", "simulate_recordings"]

_DEFAULT = "cp-sat,high-availability,sticky"
_OURS = ("application", "format", "events", "picture")
_OF_SPARK: dict[str, Any] = {
    "scale": 1,
    "converge": False,
    "failed": False,
    "master": "local[*]",
    "conf": [],
    "py_files": "",
    **dict.fromkeys(("time_limit", "answer_limit", "convergence_limit", "memory_limit")),
}
"""The options that --simulate ignores, and their defaults."""


def add_simulate(parser: ArgumentParser) -> None:
    """Add --simulate, and what it can be told."""
    add = parser.add_argument_group("the simulator (docs/reference/simulator.md)").add_argument
    add("--simulate", action="store_true", help="simulate one application from its first recording on, without Spark")
    add("--application", metavar="NAME", help="choose the application, where there are recordings of several")
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--format", choices=("table", "json", "markdown"), help="output (default: table; json to a file)")
    formats.add_argument("--json", action="store_const", dest="format", const="json", help="print JSON, as --format json does")
    add("--events", metavar="FILE", help="write every event and decision of every run as JSON lines")
    add("--picture", metavar="FILE", help="draw who has what over time, and the curves, as PNG, SVG or PDF")


def refuse_without_simulate(arguments: Namespace) -> None:
    """UsageError for an option that only --simulate obeys."""
    for name in _OURS:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name}: found it without --simulate; allowed: with it")


def simulate_recordings(arguments: Namespace) -> int:
    """Write the figures of each run."""
    from pathlib import Path

    from optassign.simulation.recorded import make_scenario, read_recordings

    given = next((name for name, default in _OF_SPARK.items() if getattr(arguments, name) != default), None)
    if given is not None:
        raise UsageError(f"--{given.replace('_', '-')}: found it with --simulate; allowed: without it")
    register_listed_assignors(arguments)
    chosen = list_assignors(arguments.assignors or _DEFAULT)
    check_picture(arguments)
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
