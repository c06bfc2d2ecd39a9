"""`optassign compare`: one rebalance under several assignors, and the convergence that follows."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import (
    accept_weights,
    add_output,
    add_play,
    add_register,
    add_snapshot,
    add_time_limit,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.common import list_assignors, load_rebalance, write_result
from optassign.cli.output import DONE, FAILED
from optassign.cli.show.pictures import accept_picture, save_figure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.state import ApplicationState
    from optassign.judging.comparison import Comparison
    from optassign.recordings.recording import Recording

ABOUT = "Compare the assignments of several assignors"
EXAMPLE = "compare snapshot.json --assignors cp-sat,high-availability"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `compare`."""
    add_snapshot(parser)
    parser.add_argument("--assignors", metavar="A,B,…", help="compare these assignors (default: all that need no JDK)")
    add_register(parser)
    parser.add_argument("--kafka", action="store_true", help="add Kafka's own classes, where there is a JDK")
    parser.add_argument(
        "--weights",
        type=accept_weights,
        action="append",
        default=[],
        metavar="I,S,T",
        help="add a column for cp-sat under preset weighted, with cost and bound (repeatable). I: cost of one unit of "
        "imbalance of an instance; S: the same in one subtopology; T: cost of one move, or of restoring a hundredth of the "
        "mean changelog (the preset's own: 1000,100,1)",
    )
    parser.add_argument("--converge", action="store_true", help="repeat the rebalance under each until nothing changes")
    add_play(parser)
    add_time_limit(parser)
    add_output(parser, "markdown")
    parser.add_argument(
        "--picture", type=accept_picture, metavar="FILE", help="draw the loads per client before and after, as PNG, SVG or PDF"
    )


def run(arguments: Namespace) -> int:
    """Write the comparison, and draw it for --picture. FAILED if an assignor gives no answer, breaks a promised rule or, unless
    a baseline, does not converge.
    """
    registered = register_listed_assignors(arguments)
    chosen = _choose_assignors(arguments.assignors, arguments.kafka)
    check_registered_are_chosen(registered, chosen, "--assignors")
    left_out = _find_unavailable(chosen) if arguments.kafka else {}
    state, recording = load_rebalance(arguments)
    comparison = _compare(state, [name for name in chosen if name not in left_out], left_out, recording, arguments)
    if arguments.picture is not None:
        from optassign.plots import plot_comparison

        save_figure(plot_comparison(state, comparison), arguments.picture)
    _write(comparison, arguments)
    return FAILED if comparison.broken else DONE


def _choose_assignors(listed: str | None, kafka: bool) -> list[str]:
    """Return the assignors to compare, each once; by default all that need no JDK. `kafka`: Kafka's own classes come first."""
    from optassign.assignor import find_traits, list_names, list_names_without_jdk

    if listed is not None:
        chosen = list_assignors(listed)
    else:
        chosen = list(list_names_without_jdk())
    in_a_jvm = [name for name in list_names() if find_traits(name).needs_jdk]
    return list(dict.fromkeys([*(in_a_jvm if kafka else ()), *chosen]))


def _find_unavailable(chosen: Iterable[str]) -> dict[str, str]:
    """Return name → reason for chosen assignors that cannot run (Kafka's own classes without a JDK); print the reason."""
    from optassign.assignor import find_traits
    from optassign.assignors.baselines.jvm import available

    reason = available()
    if reason is None:
        return {}
    print(f"optassign compare: Kafka's own classes are left out: {reason}", file=sys.stderr)
    return {name: reason for name in chosen if find_traits(name).needs_jdk}


def _compare(
    state: "ApplicationState",
    chosen: list[str],
    left_out: dict[str, str],
    recording: "Recording | None",
    arguments: Namespace,
) -> "Comparison":
    from dataclasses import replace

    from optassign.cli.show.progress import ProgressLine
    from optassign.formats.configs import Weights
    from optassign.library import ConvergenceSettings, compare

    with ProgressLine("comparing") as progress:

        def tell(step: str) -> None:
            progress.doing = step

        compared = compare(
            state,
            chosen,
            time_limit=arguments.time_limit,
            converge=ConvergenceSettings(arguments.max_rebalances, arguments.keep_state) if arguments.converge else False,
            weights=[Weights(instance=i, subtopology=s, stickiness=t) for i, s, t in arguments.weights],
            on_step=tell,
            given={}
            if recording is None
            else {"recorded": recording.assignment, "not_applied": recording.not_applied_assignment},
        )
    return replace(compared, left_out=left_out)


def _write(comparison: "Comparison", arguments: Namespace) -> None:
    from optassign.cli.output import format_json, write_text

    if arguments.format == "markdown":
        from optassign.cli.show.comparison_tables import format_comparison_markdown

        write_text(format_comparison_markdown(comparison), arguments.output)
        return

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.comparison_tables import render_comparison

        return render_comparison(comparison, width)

    write_result(arguments, lambda: format_json(comparison.as_json()), make_tables)
