"""`optassign pareto`: the price of balance in restore work."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.analysis import FRONT_POINTS
from optassign.cli.arguments import accept_integers, add_output, add_snapshot, add_time_limit
from optassign.cli.common import describe_size, load_snapshot, write_result
from optassign.cli.output import DONE, UsageError
from optassign.cli.show.pictures import accept_picture, save_figure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.analysis.front import ParetoFront

ABOUT = "Show what balance costs in restore work"
EXAMPLE = "pareto snapshot.json\npareto snapshot.json --points 8 --picture front.png"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `pareto`."""
    add_snapshot(parser)
    parser.add_argument(
        "--points",
        type=accept_integers(2, 1_000),
        default=FRONT_POINTS,
        metavar="N",
        help=f"at most N targets (default: {FRONT_POINTS})",
    )
    parser.add_argument("--picture", type=accept_picture, metavar="FILE", help="draw the front, as PNG, SVG or PDF")
    add_time_limit(parser)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the front. UsageError for a snapshot without a front."""
    from dataclasses import asdict

    from optassign.analysis.export import ExportError
    from optassign.analysis.front import trace_pareto_front
    from optassign.cli.output import format_json
    from optassign.cli.show.progress import ProgressLine

    state = load_snapshot(arguments)
    try:
        with ProgressLine(f"tracing the front: {describe_size(state)}"):
            front = trace_pareto_front(state, arguments.points, arguments.time_limit)
    except ExportError as error:
        raise UsageError(f"SNAPSHOT: found {error.found}; allowed: {error.allowed}") from None
    if arguments.picture is not None:
        from optassign.plots import plot_front

        save_figure(plot_front(front, state.application or "snapshot"), arguments.picture)
    write_result(arguments, lambda: format_json(asdict(front)), lambda width: _render(front, width))
    return DONE


def _render(front: "ParetoFront", width: int) -> "Iterable[RenderableType]":
    from optassign.cli.show.style import make_table, wrap_lines

    table = make_table("imbalance")
    for name in ("restore work", "active migrations", "proven"):
        table.add_column(name, justify="right", no_wrap=True)
    for point in front.points:
        cells = f"{point.restore_work:,}", f"{point.active_migrations:,}", "yes" if point.proven else "no"
        table.add_row(f"{point.imbalance:,}", *cells)
    yield table
    more = "" if front.complete else " There are more between these."
    yield from wrap_lines([f"Each target is best at some price of imbalance.{more}"], width)
