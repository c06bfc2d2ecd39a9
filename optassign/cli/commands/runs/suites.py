"""`optassign simulate --suite`: random histories under several assignors, graded."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import accept_integers
from optassign.cli.common import blame_assignor, write_result
from optassign.cli.errors import DONE, FAILED, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.simulation.histories.playing import Graded

__all__ = ["add_suite", "play_suites"]


def add_suite(parser: ArgumentParser) -> None:
    """Add --suite and --count."""
    parser.add_argument("--suite", choices=("small", "large"), help="play and grade random histories in place of a scenario")
    parser.add_argument(
        "--count", type=accept_integers(1), metavar="K", help="--suite: how many histories (default: small 300, large 30)"
    )


def play_suites(arguments: Namespace, assignors: list[str]) -> int:
    """Write the grades of each assignor. FAILED if one that promises to keep the rules breaks one, or does not settle."""
    from optassign.assignor import traits
    from optassign.cli.output import format_json, write_text
    from optassign.simulation.histories.playing import count_histories

    if arguments.picture is not None:
        raise UsageError("--picture: found it with --suite; allowed: with a scenario")
    suite, seed = arguments.suite, 1 if arguments.seed is None else arguments.seed
    count = arguments.count or count_histories(suite)
    graded = [_play(suite, seed, count, name) for name in assignors]
    ours = [name for name in assignors if traits(name).keeps_rules]
    if arguments.events is not None:
        _write_histories(graded, suite, arguments.events)

    def make_json() -> str:
        found = {each.assignor: each.as_json() for each in graded}
        return format_json({"suite": suite, "seed": seed, "count": count, "assignors": found})

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.grade_tables import render_grades

        title = f"{count:,} {suite} {'history' if count == 1 else 'histories'}, seeds {seed:,} to {seed + count - 1:,}"
        return render_grades(title, graded, ours)

    if arguments.format == "markdown":
        from optassign.cli.show.grade_tables import format_grades_markdown

        write_text(format_grades_markdown(graded, ours), arguments.output)
    else:
        write_result(arguments, make_json, make_tables)
    return FAILED if any(each.wrong for each in graded if each.assignor in ours) else DONE


def _play(suite: str, seed: int, count: int, name: str) -> "Graded":
    from optassign.cli.show.progress import Progress
    from optassign.simulation.histories.playing import play_suite

    with Progress(f"{suite} histories under {name}") as progress, blame_assignor(name):

        def show(played: int) -> None:
            progress.doing = f"{suite} histories under {name}: {played:,} of {count:,}"

        return play_suite(suite, seed, count, name, show)


def _write_histories(graded: "list[Graded]", suite: str, path: str) -> None:
    """A line for each history and assignor: what it was, and its grades."""
    import json

    from optassign.cli.output import write_text
    from optassign.simulation.histories.drawing import draw_history

    lines = (
        {"assignor": each.assignor, "seed": seed, "history": str(draw_history(suite, seed)), **grades.as_json()}
        for each in graded
        for seed, grades in each.by_seed.items()
    )
    write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), path)
