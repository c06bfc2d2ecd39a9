"""`optassign explain`: explain an answer."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import (
    add_assignor,
    add_not_applied,
    add_output,
    add_snapshot,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.common import (
    ask_assignor,
    check_assignor,
    check_standard_input,
    choose_answer,
    describe_size,
    load_rebalance,
    write_result,
)
from optassign.cli.output import DONE, UsageError
from optassign_models.policy.constants import TIME_LIMIT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.analysis.limit_prices import LimitPrice
    from optassign.formats.assignment import TaskAssignment
    from optassign.formats.state import ApplicationState
    from optassign.measuring.client_names import ClientNames
    from optassign.recordings.recording import Recording

ABOUT = "Explain what moves, why, and what a move elsewhere would cost"
EXAMPLE = "explain snapshot.json --task 0_3\nexplain orders --recordings /var/lib/optassign --client orders-7"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `explain`."""
    add_snapshot(parser)
    parser.add_argument("--task", action="append", default=[], metavar="ID", help="explain this task (repeatable)")
    parser.add_argument(
        "--client",
        action="append",
        default=[],
        metavar="ID",
        help="explain this client, by the beginning of its process id, client.id, host or tag (repeatable)",
    )
    answers = parser.add_mutually_exclusive_group()
    answers.add_argument(
        "--assignment",
        metavar="FILE",
        help="explain this assignment (default: the recorded one; for a snapshot the one that --assignor makes)",
    )
    answers.add_argument("--solve", action="store_true", help="explain what --assignor assigns to the recorded snapshot today")
    add_not_applied(answers)
    add_assignor(parser)
    parser.set_defaults(assignor=None, time_limit=None)  # None: not stated, see `_choose_answer`
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the explanations of the requested tasks and clients; without any, that of the whole answer."""
    from dataclasses import asdict

    from optassign.analysis.limit_prices import prices_to_lines
    from optassign.cli.output import format_json
    from optassign.judging.explain import explain_answer, explain_client, explain_task
    from optassign.judging.explanation_text import answer_to_lines, client_to_lines, remark_on_input, task_to_lines
    from optassign.measuring.client_names import ClientNames

    registered = register_listed_assignors(arguments)
    if arguments.assignor is not None:
        check_registered_are_chosen(registered, [arguments.assignor], "--assignor")
        check_assignor(arguments.assignor)
    check_standard_input(arguments)
    state, recording = load_rebalance(arguments)
    names = ClientNames(state)
    clients = [_find_client(names, state, text) for text in arguments.client]
    for task in arguments.task:
        if task not in state.all_tasks:
            raise UsageError(f"--task: found {task}; allowed: a task of the snapshot{_give_examples(state.all_tasks)}")
    answer, about = _choose_answer(state, recording, arguments)
    of_tasks = [explain_task(state, answer, task) for task in arguments.task]
    of_clients = [explain_client(state, answer, client) for client in clients]
    of_all = None if of_tasks or of_clients else explain_answer(state, answer)
    prices = () if of_all is None else _price_limits(state, answer, arguments)

    def make_json() -> str:
        if of_all is not None:
            priced = {"limit_prices": [asdict(price) for price in prices]} if prices else {}
            return format_json({**_dump_models(asdict(of_all)), **priced})
        return format_json(
            {
                "tasks": [_dump_models(asdict(explanation)) for explanation in of_tasks],
                "clients": [_dump_models(asdict(explanation)) for explanation in of_clients],
            }
        )

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.style import wrap_lines

        lines = [line for explanation in of_tasks for line in task_to_lines(explanation, names.label)]
        lines += [line for explanation in of_clients for line in client_to_lines(explanation, names.label)]
        if of_all is not None:
            lines += [*answer_to_lines(of_all, names.label), *prices_to_lines(prices), *remark_on_input(state)]
        return wrap_lines([*about, *lines], width, has_titles=True)

    write_result(arguments, make_json, make_tables)
    return DONE


def _choose_answer(
    state: "ApplicationState", recording: "Recording | None", arguments: Namespace
) -> "tuple[TaskAssignment, list[str]]":
    """Return the answer to explain, and a line on its origin if the answer is recorded or its snapshot is solved again.

    UsageError for options that would be ignored.
    """
    from optassign.formats.json_input import read_assignment

    if arguments.assignment is None and not arguments.not_applied and (recording is None or arguments.solve):
        arguments.assignor = arguments.assignor or "cp-sat"
        arguments.time_limit = TIME_LIMIT if arguments.time_limit is None else arguments.time_limit
        again = [] if recording is None else [f"solved again by {arguments.assignor}"]
        return ask_assignor(state, arguments), again
    for option, stated in (("--assignor", arguments.assignor), ("--time-limit", arguments.time_limit)):
        if stated is not None:
            found = f"{stated} for an assignment that is there already"
            raise UsageError(f"{option}: found {found}; allowed: with --solve, which assigns the recorded snapshot again")
    if arguments.assignment is not None:
        return read_assignment(arguments.assignment), []
    answer = choose_answer(recording, arguments.not_applied)
    assert recording is not None
    about = f"recorded at {recording.recorded_at}, assigned by {answer.assignor}"
    if arguments.not_applied:
        about += f", which was not applied; {recording.assignor} was"
    elif recording.not_applied is not None:
        about += (
            f", which was applied; --not-applied explains the service's own assignment, by {recording.not_applied.assignor}"
        )
    elif not recording.applied:
        about += ", which was not applied"
    return answer, [about]


def _price_limits(state: "ApplicationState", answer: "TaskAssignment", arguments: Namespace) -> "tuple[LimitPrice, ...]":
    """Return the price of each limit of the snapshot for the answer's target, by cp-sat."""
    from optassign.analysis.limit_prices import price_limits
    from optassign.cli.show.progress import ProgressLine

    with ProgressLine(f"pricing {len(state.options.limits)} limits: {describe_size(state)}"):
        return price_limits(state, answer, "cp-sat", arguments.time_limit or TIME_LIMIT)


def _find_client(names: "ClientNames", state: "ApplicationState", text: str) -> str:
    """Return the client named `text`, or the only one whose name begins with it. UsageError if none or several fit."""
    from optassign.judging.explanation_text import shorten_list
    from optassign.measuring.client_names import UnknownClientError

    try:
        return names.find(text)
    except UnknownClientError as error:
        if error.fits:
            found, which = f"{text!r}, which {len(error.fits)} clients go by", shorten_list(error.fits, 3)
            raise UsageError(f"--client: found {found}; allowed: one of {which}") from None
    examples = _give_examples(map(names.label, state.kafka_streams_states))
    raise UsageError(f"--client: found {text!r}; allowed: a client of the snapshot{examples}")


def _give_examples(names: Iterable[str]) -> str:
    some = list(names)[:3]
    return f", such as {', '.join(some)}" if some else " (which has none)"


def _dump_models(value: Any) -> Any:
    """Return `value` with every pydantic model in its lists and dictionaries replaced by a dictionary, for JSON."""
    if isinstance(value, dict):
        return {key: _dump_models(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_dump_models(inner) for inner in value]
    return value.model_dump() if hasattr(value, "model_dump") else value
