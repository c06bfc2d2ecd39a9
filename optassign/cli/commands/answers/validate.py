"""`optassign validate`: check an answer against the rules."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import add_not_applied, add_output, add_snapshot
from optassign.cli.common import check_standard_input, choose_answer, load_rebalance, write_result
from optassign.cli.output import DONE, FAILED, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

ABOUT = "Check an assignment against the rules"
EXAMPLE = "validate snapshot.json assignment.json"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `validate`."""
    add_snapshot(parser)
    answers = parser.add_mutually_exclusive_group()
    answers.add_argument(
        "assignment",
        metavar="ASSIGNMENT",
        nargs="?",
        help="the assignment as JSON, - for standard input (default: the recorded one)",
    )
    add_not_applied(answers)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the violations of the answer. FAILED if there are any."""
    from dataclasses import asdict

    from optassign.cli.output import format_json
    from optassign.formats.json_input import read_assignment
    from optassign.judging.validation import validate

    check_standard_input(arguments)
    state, recording = load_rebalance(arguments)
    if arguments.assignment is not None:
        answer = read_assignment(arguments.assignment)
    elif recording is not None or arguments.not_applied:
        answer = choose_answer(recording, arguments.not_applied)
    else:
        raise UsageError("ASSIGNMENT: found none for a snapshot; allowed: an assignment as JSON (a recording has its own)")
    violations = validate(state, answer)

    def make_json() -> str:
        return format_json({"valid": not violations, "violations": [asdict(violation) for violation in violations]})

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.answer_tables import render_violations

        return render_violations(answer, violations)

    write_result(arguments, make_json, make_tables)
    return FAILED if violations else DONE
