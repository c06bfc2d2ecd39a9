"""`optassign assign`: answer one rebalance."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import (
    add_assignor,
    add_output,
    add_snapshot,
    add_solver,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.common import ask_assignor, check_assignor, choose_solver, load_snapshot, write_result
from optassign.cli.output import DONE, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.assignment import TaskAssignment
    from optassign.formats.state import ApplicationState

ABOUT = "Assign the tasks of one rebalance"
EXAMPLE = "assign snapshot.json\nassign snapshot.json --json | optassign validate snapshot.json -"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `assign`."""
    add_snapshot(parser)
    add_assignor(parser)
    add_solver(parser)
    parser.add_argument(
        "--start", metavar="FILE", help="let cp-sat begin with the target of this assignment, and find no worse one"
    )
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the answer of one assignor. AssignorError if Kafka would refuse it."""
    check_registered_are_chosen(register_listed_assignors(arguments), [arguments.assignor], "--assignor")
    check_assignor(arguments.assignor)
    state = choose_solver(load_snapshot(arguments), arguments)
    answer = ask_assignor(state, arguments) if arguments.start is None else _assign_from(state, arguments)

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.answer_tables import render_assignment

        return render_assignment(state, answer, width)

    write_result(arguments, lambda: answer.model_dump_json() + "\n", make_tables)
    return DONE


def _assign_from(state: "ApplicationState", arguments: Namespace) -> "TaskAssignment":
    """Return cp-sat's answer, searched from the target of --start. UsageError if that target cannot be used."""
    from optassign.assignor import assign
    from optassign.assignors.cp_sat import CpSatAssignor
    from optassign.formats.json_input import read_assignment
    from optassign.measuring.load import balances_load
    from optassign.translating.snapshot import read_inventory, read_plan

    if arguments.assignor != "cp-sat":
        raise UsageError(f"--start: found {arguments.start} for {arguments.assignor}; allowed: for cp-sat")
    if balances_load(state):
        raise UsageError(f"--start: found {arguments.start} for tasks of unlike weight; allowed: where counts are balanced")
    start = read_assignment(arguments.start)
    if read_plan(start, read_inventory(state)) is None:
        raise UsageError(
            f"--start: found {arguments.start} with other tasks or clients, or without some copies; allowed: those of SNAPSHOT"
        )
    return assign(state, CpSatAssignor(arguments.time_limit, arguments.solver, start))
