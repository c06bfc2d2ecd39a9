"""`optassign compare`: one rebalance under several assignors, and how each would go on from there."""

import statistics
import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.assignor import assign, create, names, names_without_jdk, traits
from optassign.cli.commands.common import BROKEN, DONE, give, known, size, snapshot
from optassign.cli.show.output import as_json_text, write
from optassign.cli.show.progress import Progress
from optassign.formats.assignment import TaskAssignment

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.state import ApplicationState
    from optassign.judging.comparison import Played

__all__ = ["compare"]

_SHORT, _WARM_UP, _TIMED = 5.0, 5, 3
"""Seconds of a call that may be repeated, calls that are not timed, calls that are."""


def compare(arguments: Namespace) -> int:
    """Run the command."""
    from optassign.judging.comparison import compare as compare_all

    chosen = _chosen(arguments.assignors, arguments.kafka)
    left_out = _without_a_jdk(chosen) if arguments.kafka else {}
    if arguments.picture is not None:
        from optassign.cli.show.pictures import check_matplotlib

        check_matplotlib()
    state = snapshot(arguments)
    with Progress("comparing") as progress:

        def ask(name: str) -> tuple[TaskAssignment, float]:
            progress.now = f"asking {name}: {size(state)}"
            assignor = create(name, time_limit=arguments.time_limit)  # loads the solver, which is not its time
            start = time.perf_counter()
            answer = assign(state, assignor)
            seconds = answer.seconds_elsewhere or time.perf_counter() - start
            return answer, _warm(assignor, state, seconds)

        def play(name: str) -> "Played":
            progress.now = f"{name} to the end: {size(state)}"
            return _played(state, name, arguments)

        comparison = compare_all(
            state,
            [name for name in chosen if name not in left_out],
            ask,
            play=play if arguments.converge else None,
            left_out=left_out,
        )
    if arguments.picture is not None:
        from optassign.cli.show.pictures import draw_comparison

        draw_comparison(state, comparison, arguments.picture)

    def tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.comparison_tables import comparison_tables

        return comparison_tables(comparison, width)

    if arguments.format == "markdown":
        from optassign.cli.show.comparison_tables import comparison_markdown

        write(comparison_markdown(comparison), arguments.output)
    else:
        give(arguments, lambda: as_json_text(comparison.as_json()), tables)
    return BROKEN if comparison.broken else DONE


def _chosen(given: str | None, kafka: bool) -> list[str]:
    """The assignors to compare, each once; by default all that need no JDK, the optimising one last."""
    if given is not None:
        chosen = [known(name.strip(), "--assignors") for name in given.split(",")]
    else:
        chosen = list(names_without_jdk())
    in_a_jvm = [name for name in names() if traits(name).needs_jdk]
    return list(dict.fromkeys([*(in_a_jvm if kafka else ()), *chosen]))


def _warm(assignor: object, state: "ApplicationState", seconds: float) -> float:
    """The seconds of a call in a warm JVM, where the assignor lives in one and a call is short: else Kafka's classes would
    be charged for being compiled."""
    timed = getattr(assignor, "timed", None)
    return statistics.median(timed(state, _WARM_UP, _TIMED)) if timed is not None and seconds < _SHORT else seconds


def _without_a_jdk(chosen: Iterable[str]) -> dict[str, str]:
    """Kafka's own classes, if they cannot be run here, and why not."""
    from optassign.assignors.baselines.kafka import available

    reason = available()
    if reason is None:
        return {}
    print(f"optassign compare: Kafka's own classes are left out: {reason}", file=sys.stderr)
    return {name: reason for name in chosen if traits(name).needs_jdk}


def _played(state: "ApplicationState", name: str, arguments: Namespace) -> "Played":
    from optassign.judging.comparison import Played
    from optassign.simulation.convergence import converge

    result = converge(
        state,
        name,
        max_rebalances=arguments.max_rebalances,
        keep_state=arguments.keep_state,
        time_limit=arguments.time_limit,
    )
    return Played(
        rebalances=result.rebalances,
        settled=result.settled,
        rests=result.rests,
        moved_active=result.moved_active,
        restored_offsets=result.restored_offsets,
        violations=result.violations,
        answers=result.answers,
        balanced=result.history[-1].measures.balanced,
        final=result.final,
        seconds=statistics.median(step.seconds for step in result.history),
    )
