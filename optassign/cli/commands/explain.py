"""`optassign explain`: why an answer is as it is."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import add_assignor, add_output, add_snapshot
from optassign.cli.common import ask_assignor, check_assignor, check_standard_input, load_snapshot, write_result
from optassign.cli.errors import DONE, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.state import ApplicationState

__all__ = ["ABOUT", "add_arguments", "run"]

ABOUT = "why: what changes, where a task is, what a client gets"


def add_arguments(parser: ArgumentParser) -> None:
    """Tell the parser what `explain` takes."""
    add_snapshot(parser)
    parser.add_argument("--task", action="append", default=[], metavar="ID", help="explain this task (repeatable)")
    parser.add_argument(
        "--client", action="append", default=[], metavar="ID", help="explain this client; a unique prefix will do (repeatable)"
    )
    parser.add_argument("--assignment", metavar="FILE", help="explain this answer (default: what --assignor answers)")
    add_assignor(parser)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write why the tasks and clients that are asked for get what they get; without any, what the whole answer changes."""
    from dataclasses import asdict

    from optassign.cli.output import format_json
    from optassign.formats.reading import read_assignment
    from optassign.judging.explain import explain_answer, explain_client, explain_task
    from optassign.judging.explanation_text import answer_to_lines, client_to_lines, task_to_lines

    check_assignor(arguments.assignor)
    if arguments.assignment is not None:
        check_standard_input(arguments)
    state = load_snapshot(arguments)
    clients = [_find_client(state, prefix) for prefix in arguments.client]
    for task in arguments.task:
        if task not in state.all_tasks:
            raise UsageError(f"--task: found {task}; allowed: a task of the snapshot{_give_examples(state.all_tasks)}")
    if arguments.assignment is not None:
        answer = read_assignment(arguments.assignment)
    else:
        answer = ask_assignor(state, arguments)
    of_tasks = [explain_task(state, answer, task) for task in arguments.task]
    of_clients = [explain_client(state, answer, client) for client in clients]
    of_all = None if of_tasks or of_clients else explain_answer(state, answer)

    def make_json() -> str:
        if of_all is not None:
            return format_json(_dump_models(asdict(of_all)))
        return format_json(
            {
                "tasks": [_dump_models(asdict(explanation)) for explanation in of_tasks],
                "clients": [_dump_models(asdict(explanation)) for explanation in of_clients],
            }
        )

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.style import style_lines

        lines = [line for explanation in of_tasks for line in task_to_lines(explanation)]
        lines += [line for explanation in of_clients for line in client_to_lines(explanation)]
        return style_lines(lines if of_all is None else answer_to_lines(of_all))

    write_result(arguments, make_json, make_tables)
    return DONE


def _find_client(state: "ApplicationState", prefix: str) -> str:
    """The process id that is `prefix`, or the only one that begins with it. UsageError if there is none, or are several."""
    process_ids = state.kafka_streams_states
    if prefix in process_ids:
        return prefix
    found = [process_id for process_id in process_ids if prefix and process_id.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"--client: found {prefix!r}; allowed: one of {', '.join(found[:3])}, …")
    raise UsageError(f"--client: found {prefix!r}; allowed: a client of the snapshot{_give_examples(process_ids)}")


def _give_examples(names: Iterable[str]) -> str:
    some = list(names)[:3]
    return f", such as {', '.join(some)}" if some else " (which has none)"


def _dump_models(value: Any) -> Any:
    """`value` with every model of pydantic in its lists and dictionaries replaced by a dictionary, as JSON needs it."""
    if isinstance(value, dict):
        return {key: _dump_models(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_dump_models(inner) for inner in value]
    return value.model_dump() if hasattr(value, "model_dump") else value
