"""`optassign benchmark instances`: score assignors on a fixed set of instances with best-known values."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import add_output, add_register, add_time_limit, register_listed_assignors
from optassign.cli.common import list_assignors, write_result
from optassign.cli.output import DONE, FAILED, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.state import ApplicationState
    from optassign_benchmarks.instances.best_known import BestKnown
    from optassign_benchmarks.instances.catalogue import Instance
    from optassign_benchmarks.instances.scoring import Score

SIZES = ("tiny", "small", "medium", "large", "huge")
FAMILIES = ("counts", "zones", "load", "limits", "weights")
"""As SIZES, those of `optassign_benchmarks.instances.catalogue`, which is too slow to import for a help text."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `benchmark instances`."""
    add = parser.add_argument
    add("--assignors", metavar="A,B,…", default="cp-sat,greedy", help="score these assignors (default: cp-sat,greedy)")
    add_register(parser)
    add("--size", choices=SIZES, action="append", help="tiny: 12 tasks; huge: 10,000 (repeatable; default: all but huge)")
    add("--family", choices=FAMILIES, action="append", help="instances of this family only (repeatable)")
    add("--list", action="store_true", help="list the instances with their best-known values, and score no assignor")
    add("--export", metavar="FOLDER", help="write each snapshot as NAME.json into this folder, for programs of your own")
    add("--answers", metavar="FOLDER", help="score the assignments NAME.json in this folder in place of assignors")
    add_time_limit(parser)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write scores, or the output of --list and --export. FAILED if a target is refused or an answer is missing."""
    from optassign_benchmarks.instances.best_known import read_best_known

    register_listed_assignors(arguments)
    known = read_best_known()
    chosen = [instance for instance in _choose(arguments) if instance.name in known]
    if not chosen:
        raise UsageError("--family: found no instance of this size; allowed: a size that the family has")
    if arguments.export is not None:
        return _export(chosen, known, Path(arguments.export))
    if arguments.list:
        rows = [known[instance.name] for instance in chosen]
        write_result(arguments, lambda: _dump([row.model_dump() for row in rows]), lambda width: _render_known(rows))
        return DONE
    scores = list(_score(arguments, chosen, known))
    write_result(arguments, lambda: _dump(list(map(_to_json, scores))), lambda width: _render(scores, width))
    return FAILED if any(score.refused for score in scores) else DONE


def _choose(arguments: Namespace) -> "list[Instance]":
    from optassign_benchmarks.instances.catalogue import list_instances

    sizes, families = arguments.size or SIZES[:-1], arguments.family or FAMILIES
    return [each for each in list_instances() if each.size in sizes and each.family in families]


def _make(instance: "Instance", known: "dict[str, BestKnown]") -> "ApplicationState":
    """Return the snapshot of an instance. UsageError if this generator makes another one."""
    from optassign_benchmarks.instances.best_known import OtherGeneratorError, check_snapshot

    state = instance.make()
    try:
        check_snapshot(state, known[instance.name])
    except OtherGeneratorError as error:
        raise UsageError(str(error)) from None
    return state


def _export(chosen: "Sequence[Instance]", known: "dict[str, BestKnown]", folder: Path) -> int:
    from optassign.cli.output import write_text

    folder.mkdir(parents=True, exist_ok=True)
    for instance in chosen:
        text = _make(instance, known).model_dump_json(exclude_defaults=True)
        write_text(text + "\n", str(folder / f"{instance.name}.json"))
    print(f"{len(chosen)} snapshots in {folder}", file=sys.stderr)
    return DONE


def _score(arguments: Namespace, chosen: "Sequence[Instance]", known: "dict[str, BestKnown]") -> "Iterator[Score]":
    from optassign.cli.show.progress import ProgressLine
    from optassign_benchmarks.instances.scoring import score_answer, score_assignor

    names = [] if arguments.answers is not None else list_assignors(arguments.assignors)
    folder = None if arguments.answers is None else Path(arguments.answers)
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--answers: found {folder}, which is no folder; allowed: a folder with an assignment NAME.json each")
    with ProgressLine("scoring") as progress:
        for number, instance in enumerate(chosen, start=1):
            state, best = _make(instance, known), known[instance.name].best
            progress.doing = f"{instance.name}, {number:,} of {len(chosen):,} instances"
            if folder is not None:
                yield score_answer(state, best, folder / f"{instance.name}.json")
            for name in names:
                yield score_assignor(state, best, name, arguments.time_limit)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _to_json(score: "Score") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(score)


def _render(scores: "Sequence[Score]", width: int) -> "Iterable[RenderableType]":
    from optassign.cli.show.style import make_table, mark_wrong, wrap_lines
    from optassign_benchmarks.instances.leaderboard import summarise

    table = make_table()
    for name in ("instance", "assignor", "differs in"):
        table.add_column(name, no_wrap=True)
    table.add_column("gap", justify="right", no_wrap=True)  # `--json` has both values: 80 columns have no room
    for score in scores:
        if score.gap is None:
            table.add_row(score.instance, score.assignor, mark_wrong("refused", True), "")
            continue
        share = score.gap.share
        gap = "0%" if not score.gap.goal else f"{share:+.1%}" if abs(share) < 1 else f"{share:+.0%}"
        table.add_row(score.instance, score.assignor, score.gap.goal or "–", gap)
    yield table
    refused = [score for score in scores if score.gap is None]
    yield from wrap_lines([f"Refused: {score.assignor} on {score.instance}: {score.refused}" for score in refused], width)
    summary = make_table("assignor")
    for name in ("best known", "refused", "better", "gap, median", "s, median"):
        summary.add_column(name, justify="right", no_wrap=True)
    for assignor, number, out, best, better, _, median, seconds, _ in summarise(scores):
        summary.add_row(str(assignor), f"{best} of {number}", str(out), str(better), str(median), str(seconds))
    yield summary
    best_ones = [score for score in scores if score.gap is not None and score.gap.share < 0]
    if best_ones:
        which = ", ".join(f"{score.assignor} on {score.instance}" for score in best_ones[:3])
        yield from wrap_lines([f"Better than the table: {which}. Please report it with its assignment."], width)


def _render_known(rows: "Sequence[BestKnown]") -> "Iterable[RenderableType]":
    from optassign.cli.show.style import make_table

    table = make_table("instance", "goal")
    for name in ("best known", "bound", "proven", "by HiGHS"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        for number, value in enumerate(row.values):
            bound = "none" if value.bound is None else f"{value.bound:,.10g}"
            shown = f"{value.value:,.10g}", bound, "yes" if value.proven else "no", "yes" if value.checked else "no"
            table.add_row("" if number else row.instance, value.name, *shown)
    yield table
