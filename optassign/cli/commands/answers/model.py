"""`optassign model`: write the model of a snapshot's target for other solvers."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import accept_output, add_snapshot, add_time_limit
from optassign.cli.common import load_snapshot
from optassign.cli.output import DONE, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.analysis.export import ExportedModel

ABOUT = "Write the model of the target for a solver of your own"
_ARGUMENTS = {"path": "--output", "goal": "--goal", "state": "SNAPSHOT", "weights": "weights"}
EXAMPLE = "model snapshot.json --output target.mps\nmodel snapshot.json --goal active_migrations --output target.lp"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `model`."""
    add_snapshot(parser)
    parser.add_argument(
        "--goal", metavar="NAME", help="minimise this goal; rows keep earlier goals at their optima (default: the first)"
    )
    add_time_limit(parser)
    parser.add_argument(
        "--output",
        type=accept_output,
        required=True,
        metavar="FILE",
        help="write to this file: .mps, .lp, or .txt for the text of CP-SAT",
    )


def run(arguments: Namespace) -> int:
    """Write the file, and print the result that a solver should find. UsageError for an impossible goal or file."""
    from optassign.analysis.export import ExportError, export_model
    from optassign.cli.output import write_tables

    state = load_snapshot(arguments)
    try:
        written = export_model(state, arguments.output, arguments.goal, arguments.time_limit)
    except ExportError as error:
        where = _ARGUMENTS[error.where]
        raise UsageError(f"{where}: found {error.found}; allowed: {error.allowed}") from None
    except OSError as error:
        found = f"{arguments.output} ({error.strerror})"
        raise UsageError(f"--output: found {found}; allowed: a file that can be written") from None
    write_tables(lambda width: _describe(written, width), None)
    return DONE


def _describe(written: "ExportedModel", width: int) -> "Iterable[RenderableType]":
    from optassign.cli.show.style import wrap_lines

    kept = ", ".join(f"{name} ≤ {value}" for name, value in written.fixed.items())
    least = "not proven in the time limit" if written.optimum is None else str(written.optimum)
    size = f"{written.variables:,} variables, {written.rows:,} rows"
    lines = [
        f"{written.path} minimises {written.goal}: {size}",
        f"least value: {least}",
        *([f"kept by rows: {kept}"] if kept else []),
        "every pair of task and client is a variable: the optimum is that of the rules"
        if written.is_exact
        else "pooled copies are counted, not placed: the optimum is a bound of the rules' one",
    ]
    return wrap_lines(lines, width)
