"""What the commands do."""

import logging
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from optassign.assignor import AssignorError
from optassign.assignor import assign as assign_with
from optassign.cli.commands.benchmark import benchmark, replay
from optassign.cli.commands.common import BROKEN, DONE, USAGE, UsageError, give, known, size, snapshot
from optassign.cli.commands.compare import compare
from optassign.cli.commands.service import record, serve
from optassign.cli.show.output import as_json_text, write
from optassign.cli.show.progress import Progress
from optassign.formats.assignment import TaskAssignment
from optassign.formats.reading import InputError, read_assignment
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate as validate_answer

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Run the command and give its exit code; what is wrong with its input is one line on standard error."""
    logging.basicConfig(level=logging.WARNING, format="optassign: %(message)s", stream=sys.stderr)
    try:
        return _COMMANDS[arguments.command](arguments)
    except (InputError, UsageError) as error:
        return _error(arguments, error, USAGE)
    except AssignorError as error:
        return _error(arguments, error, BROKEN)


def _error(arguments: Namespace, error: Exception, code: int) -> int:
    print(f"optassign {arguments.command}: error: {error}", file=sys.stderr)
    return code


def _assign(arguments: Namespace) -> int:
    known(arguments.assignor)
    state = snapshot(arguments)
    answer = _answer(state, arguments)

    def tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.answer_tables import assignment_tables

        return assignment_tables(state, answer, width)

    give(arguments, lambda: answer.model_dump_json() + "\n", tables)
    return DONE


def _converge(arguments: Namespace) -> int:
    from optassign.simulation.convergence import Step, converge

    known(arguments.assignor)
    state = snapshot(arguments)
    with Progress(f"asking {arguments.assignor}: {size(state)}") as progress:

        def on_step(number: int, step: Step) -> None:
            progress.now = f"rebalance {number + 1}: {len(step.waiting):,} copies are waited for"

        result = converge(
            state,
            arguments.assignor,
            max_rebalances=arguments.max_rebalances,
            keep_state=arguments.keep_state,
            time_limit=arguments.time_limit,
            on_step=on_step,
        )

    def tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.convergence_tables import convergence_tables

        return convergence_tables(result, arguments.assignor, width)

    give(arguments, lambda: as_json_text(result.as_json()), tables)
    return DONE if result.stable and not result.violations else BROKEN


def _explain(arguments: Namespace) -> int:
    from optassign.judging.explain import explain_answer, explain_client, explain_task
    from optassign.judging.explanation_text import answer_to_lines, client_to_lines, task_to_lines

    known(arguments.assignor)
    if arguments.assignment is not None:
        _one_from_standard_input(arguments)
    state = snapshot(arguments)
    clients = [_client(state, given) for given in arguments.client]
    for task in arguments.task:
        if task not in state.all_tasks:
            raise UsageError(f"--task: found {task}; allowed: a task of the snapshot{_examples(state.all_tasks)}")
    if arguments.assignment is not None:
        answer = read_assignment(arguments.assignment)
    else:
        answer = _answer(state, arguments)
    of_tasks = [explain_task(state, answer, task) for task in arguments.task]
    of_clients = [explain_client(state, answer, client) for client in clients]
    of_all = None if of_tasks or of_clients else explain_answer(state, answer)

    def as_json() -> str:
        found: dict[str, Any] = {} if of_all is None else _plain(asdict(of_all))
        if of_all is None:
            found = {"tasks": [_plain(asdict(e)) for e in of_tasks], "clients": [_plain(asdict(e)) for e in of_clients]}
        return as_json_text(found)

    def tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.style import text_lines

        lines = [line for e in of_tasks for line in task_to_lines(e)]
        lines += [line for e in of_clients for line in client_to_lines(e)]
        return text_lines(lines if of_all is None else answer_to_lines(of_all))

    give(arguments, as_json, tables)
    return DONE


def _validate(arguments: Namespace) -> int:
    _one_from_standard_input(arguments)
    state, answer = snapshot(arguments), read_assignment(arguments.assignment)
    violations = validate_answer(state, answer)

    def as_json() -> str:
        return as_json_text({"valid": not violations, "violations": [asdict(violation) for violation in violations]})

    def tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.answer_tables import violation_tables

        return violation_tables(state, answer, violations)

    give(arguments, as_json, tables)
    return BROKEN if violations else DONE


def _generate(arguments: Namespace) -> int:
    from optassign.generate import generate
    from optassign.generate.dealing import NotBalancedError

    given = {name: value for name, value in vars(arguments).items() if name not in ("command", "output")}
    try:
        with Progress("generating"):
            state = generate(**given)
    except (ValueError, NotBalancedError) as error:
        raise UsageError(str(error)) from None
    write(state.model_dump_json(exclude_defaults=True) + "\n", arguments.output)
    return DONE


def _anonymise(arguments: Namespace) -> int:
    from optassign.recordings.anonymise import anonymise

    write(anonymise(snapshot(arguments)).model_dump_json() + "\n", arguments.output)
    return DONE


_COMMANDS: dict[str, Callable[[Namespace], int]] = {
    "assign": _assign,
    "compare": compare,
    "converge": _converge,
    "explain": _explain,
    "validate": _validate,
    "generate": _generate,
    "anonymise": _anonymise,
    "serve": serve,
    "record": record,
    "benchmark": benchmark,
    "replay": replay,
}


def _answer(state: ApplicationState, arguments: Namespace) -> TaskAssignment:
    with Progress(f"asking {arguments.assignor}: {size(state)}"):
        return assign_with(state, arguments.assignor, arguments.time_limit)


def _client(state: ApplicationState, given: str) -> str:
    known = state.kafka_streams_states
    found = [given] if given in known else [process_id for process_id in known if given and process_id.startswith(given)]
    if len(found) == 1:
        return found[0]
    why = f"; allowed: one of {', '.join(found[:3])}, …" if found else "; allowed: a client of the snapshot"
    raise UsageError(f"--client: found {given!r}{why}{'' if found else _examples(known)}")


def _examples(known: Iterable[str]) -> str:
    some = list(known)[:3]
    return f", such as {', '.join(some)}" if some else " (which has none)"


def _one_from_standard_input(arguments: Namespace) -> None:
    if arguments.snapshot == "-" and arguments.assignment == "-":
        raise UsageError("found - for both SNAPSHOT and ASSIGNMENT; allowed: one of them from standard input")


def _plain(value: Any) -> Any:
    """Models inside dataclasses as JSON has them."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.model_dump() if hasattr(value, "model_dump") else value
