"""`optassign generate`: a seeded snapshot of any size and shape."""

from argparse import ArgumentParser, Namespace

from optassign.cli.arguments import accept_integers, add_output_file
from optassign.cli.output import DONE, UsageError

ABOUT = "Generate a snapshot of any size and shape, as JSON"
EXAMPLE = "generate --shape scale-out --tasks 60 --output snapshot.json"
SHAPES = ("cold", "steady", "scale-out", "scale-in", "restart", "partial")
"""The shapes of `optassign.generating`, which is too slow to import for a help text."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `generate`: an option for each parameter of `optassign.generating.generate`."""
    add = parser.add_argument
    add("--shape", choices=SHAPES, default="steady", metavar="SHAPE", help=f"{', '.join(SHAPES)} (default: %(default)s)")
    add("--tasks", type=accept_integers(0), default=100, metavar="N", help="number of tasks (default: %(default)s)")
    add("--clients", type=accept_integers(1), default=10, metavar="N", help="number of clients (default: %(default)s)")
    add("--standbys", type=accept_integers(0), default=1, metavar="N", help="num_standby_replicas (default: %(default)s)")
    add("--warmups", type=accept_integers(1), default=2, metavar="N", help="max_warmup_replicas (default: %(default)s)")
    add(
        "--threads",
        type=_parse_integer_range,
        default=1,
        metavar="N[-M]",
        help="threads per client, N or N to M (default: %(default)s)",
    )
    add("--seed", type=accept_integers(0), default=0, metavar="N", help="draw by this seed (default: %(default)s)")
    add("--stateless", type=float, default=0.2, metavar="SHARE", help="share of the tasks without state (default: %(default)s)")
    add(
        "--unlogged",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of tasks with state but no changelog (default: 0)",
    )
    add(
        "--subtopologies",
        type=accept_integers(1),
        metavar="N",
        help="subtopologies (default: by the number of tasks)",
    )
    add(
        "--tiny",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the logged tasks whose changelog is within the acceptable lag (default: 0)",
    )
    add("--unknown", type=float, default=0.0, metavar="SHARE", help="share of the lags that are unknown (default: 0)")
    add(
        "--acceptable-recovery-lag",
        type=accept_integers(0),
        default=10_000,
        metavar="N",
        help="acceptable_recovery_lag, in offsets (default: %(default)s)",
    )
    add("--capacity", type=_parse_range, default=1.0, metavar="X[-Y]", help="capacity of a thread, X or X to Y (default: 1)")
    add("--weights", type=float, default=0.0, metavar="SIGMA", help="spread of the tasks' weights (default: 0)")
    add("--states", type=float, default=1.2, metavar="SIGMA", help="spread of the lengths of changelogs (default: 1.2)")
    add("--racks", type=accept_integers(0), default=0, metavar="N", help="number of racks (default: none)")
    add(
        "--clusters",
        type=accept_integers(0),
        default=0,
        metavar="N",
        help="number of values of a tag across racks (default: none)",
    )
    add("--memory", action="store_true", help="remember the last assignment")
    add("--dense", action="store_true", help="list the lags of all clients for all tasks, as Kafka reports them")
    add("--consumers", action="store_true", help="list previous active tasks per consumer, too")
    add_output_file(parser)


def run(arguments: Namespace) -> int:
    """Write the snapshot. UsageError for impossible arguments, or if no balanced group is found."""
    from optassign.cli.output import write_text
    from optassign.cli.show.progress import ProgressLine
    from optassign.generating import generate
    from optassign.generating.dealing import NotBalancedError

    options = {name: value for name, value in vars(arguments).items() if name not in ("command", "output", "parser")}
    try:
        with ProgressLine("generating"):
            state = generate(**options)
    except (ValueError, NotBalancedError) as error:
        raise UsageError(str(error)) from None
    write_text(state.model_dump_json(exclude_defaults=True) + "\n", arguments.output)
    return DONE


def _parse_integer_range(text: str) -> int | tuple[int, int]:
    low, dash, high = text.partition("-")
    return (int(low), int(high)) if dash else int(low)


def _parse_range(text: str) -> float | tuple[float, float]:
    low, dash, high = text.partition("-")
    return (float(low), float(high)) if dash else float(low)


# argparse's message: invalid integer or N-M value
_parse_integer_range.__name__, _parse_range.__name__ = "integer or N-M", "number or X-Y"
