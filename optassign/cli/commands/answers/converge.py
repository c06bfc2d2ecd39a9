"""`optassign converge`: repeat the rebalance under one assignor until the group is stable."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import (
    accept_numbers,
    add_assignor,
    add_output,
    add_play,
    add_snapshot,
    add_solver,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.common import blame_assignor, check_assignor, choose_solver, describe_size, load_snapshot, write_result
from optassign.cli.output import DONE, FAILED

if TYPE_CHECKING:
    from rich.console import RenderableType

ABOUT = "Repeat a rebalance until nothing changes"
EXAMPLE = "converge snapshot.json --assignor high-availability"

_LIMITS = (
    " It ignores measured rates: every copy is restored by the next rebalance. To try a change of settings or clients, use"
    " `optassign what-if`; for times by measured rates, `optassign replay --simulate`."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `converge`."""
    parser.description = f"{parser.description}{_LIMITS}"
    add_snapshot(parser)
    add_assignor(parser)
    add_solver(parser)
    add_play(parser)
    parser.add_argument(
        "--growth",
        type=accept_numbers("a share of what a copy restores"),
        default=0.0,
        metavar="SHARE",
        help="let each changelog grow between rebalances by up to this share of what a copy restores (default: 0)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draw the growth by this seed (default: 0)")
    parser.add_argument(
        "--without-memory",
        action="store_true",
        help="leave the remembered answer out of every snapshot",
    )
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the history of the convergence. FAILED if the group does not become stable, or if an answer breaks a rule."""
    from optassign.cli.output import format_json
    from optassign.cli.show.progress import ProgressLine
    from optassign.judging.convergences import PlayedRebalance
    from optassign.simulation.convergence import converge

    check_registered_are_chosen(register_listed_assignors(arguments), [arguments.assignor], "--assignor")
    check_assignor(arguments.assignor)
    state = choose_solver(load_snapshot(arguments), arguments)
    doing = f"asking {arguments.assignor}: {describe_size(state)}"
    with ProgressLine(doing) as progress, blame_assignor(arguments.assignor):

        def show_rebalance(number: int, played: PlayedRebalance) -> None:
            progress.doing = f"rebalance {number + 1}: {len(played.waiting):,} copies are waited for"

        result = converge(
            state,
            arguments.assignor,
            max_rebalances=arguments.max_rebalances,
            keep_state=arguments.keep_state,
            memory=not arguments.without_memory,
            growth=arguments.growth,
            seed=arguments.seed,
            time_limit=arguments.time_limit,
            on_rebalance=show_rebalance,
        )

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.simulation_tables import render_convergence

        return render_convergence(state, result, arguments.assignor, width)

    write_result(arguments, lambda: format_json(result.as_json()), make_tables)
    return DONE if result.stable and not result.violations else FAILED
