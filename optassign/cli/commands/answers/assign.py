"""`optassign assign`: answer one rebalance."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import add_assignor, add_output, add_snapshot, add_solver, register_listed_assignors
from optassign.cli.common import ask_assignor, check_assignor, choose_solver, load_snapshot, write_result
from optassign.cli.output import DONE

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["ABOUT", "EXAMPLE", "add_arguments", "run"]

ABOUT = "Assign the tasks of one rebalance"
EXAMPLE = "assign snapshot.json\nassign snapshot.json --json | optassign validate snapshot.json -"


def add_arguments(parser: ArgumentParser) -> None:
    """Tell the parser what `assign` takes."""
    add_snapshot(parser)
    add_assignor(parser)
    add_solver(parser)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the answer of one assignor. AssignorError if it is one that Kafka would refuse."""
    register_listed_assignors(arguments)
    check_assignor(arguments.assignor)
    state = choose_solver(load_snapshot(arguments), arguments)
    answer = ask_assignor(state, arguments)

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.answer_tables import render_assignment

        return render_assignment(state, answer, width)

    write_result(arguments, lambda: answer.model_dump_json() + "\n", make_tables)
    return DONE
