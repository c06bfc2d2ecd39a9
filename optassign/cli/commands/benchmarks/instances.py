"""`optassign benchmark instances`: score assignors on a fixed set of instances with best-known values."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import (
    add_output,
    add_register,
    add_time_limit,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.common import list_assignors, write_result
from optassign.cli.output import DONE, FAILED, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.state import ApplicationState
    from optassign_benchmarks.instances.catalogue import Instance
    from optassign_benchmarks.instances.scoring import Gap, Score
    from optassign_benchmarks.instances.table import BestKnown

SIZES = ("tiny", "small", "medium", "large", "huge")
FAMILIES = ("counts", "zones", "load", "limits", "weights")
"""Families, like SIZES, of `optassign_benchmarks.instances.catalogue`, which is too slow to import for a help text."""

_DEFAULT = ("cp-sat", "greedy")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `benchmark instances`."""
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="score on these instances, as --list names them (default: by size and family)")
    add("--assignors", metavar="A,B,…", help="score only these assignors (default: cp-sat, greedy and those of --register)")
    add_register(parser)
    add("--size", choices=SIZES, action="append", help="tiny: 12 tasks; huge: 10,000 (repeatable; default: all but huge)")
    add("--family", choices=FAMILIES, action="append", help="instances of this family only (repeatable)")
    add("--list", action="store_true", help="list the instances with their best-known values, and score no assignor")
    add("--export", metavar="FOLDER", help="write each snapshot as NAME.json into this folder, for programs of your own")
    add("--answers", metavar="FOLDER", help="score the assignments NAME.json in this folder in place of assignors")
    add_time_limit(parser)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write scores, or the output of --list and --export. FAILED if a target is refused."""
    from optassign_benchmarks.instances.table import read_best_known

    registered = register_listed_assignors(arguments)
    known = read_best_known()
    chosen = _choose(arguments)
    if arguments.export is not None:
        return _export(chosen, known, Path(arguments.export))
    if arguments.list:
        rows = [known[instance.name] for instance in chosen]
        write_result(arguments, lambda: _dump([row.model_dump() for row in rows]), lambda width: _render_known(rows))
        return DONE
    if arguments.answers is not None:
        scores = list(_score_answers(Path(arguments.answers), chosen, known))
    else:
        names = list_assignors(arguments.assignors or ",".join((*_DEFAULT, *(name for name, _ in registered))))
        check_registered_are_chosen(registered, names, "--assignors")
        scores = []
        try:
            scores.extend(_score(names, arguments.time_limit, chosen, known))
        except KeyboardInterrupt:  # the scores so far took time, and are written
            if scores:
                _write_scores(arguments, scores)
            print(f"interrupted: {len(scores):,} of {len(chosen) * len(names):,} scores are there", file=sys.stderr)
            raise
    _write_scores(arguments, scores)
    return FAILED if any(score.refused for score in scores) else DONE


def _write_scores(arguments: Namespace, scores: "Sequence[Score]") -> None:
    limit = arguments.time_limit if arguments.answers is None else None
    write_result(arguments, lambda: _dump(list(map(_to_json, scores))), lambda width: _render(scores, limit, width))


def _choose(arguments: Namespace) -> "list[Instance]":
    """Return the requested instances. UsageError for an unknown name, and for a size that a family lacks."""
    from optassign_benchmarks.instances.catalogue import list_instances

    by_name = {each.name: each for each in list_instances()}
    unknown = next((name for name in arguments.names if name not in by_name), None)
    if unknown is not None:
        raise UsageError(f"NAME: found {unknown!r}; allowed: a name of optassign benchmark instances --list")
    if arguments.names and (arguments.size or arguments.family):
        raise UsageError("--size or --family: found it with a NAME; allowed: one of them")
    if arguments.names:
        return [by_name[name] for name in arguments.names]
    sizes, families = arguments.size or SIZES[:-1], arguments.family or FAMILIES
    chosen = [each for each in by_name.values() if each.size in sizes and each.family in families]
    if not chosen:
        allowed = ", ".join(dict.fromkeys(each.size for each in by_name.values() if each.family in families))
        raise UsageError(f"--size: found no instance of this family; allowed: {allowed}")
    return chosen


def _make(instance: "Instance", known: "dict[str, BestKnown]") -> "ApplicationState":
    """Return the snapshot of an instance. UsageError if the snapshot is not that of its best-known values."""
    from optassign_benchmarks.instances.table import OtherGeneratorError, check_snapshot

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
    print(f"{len(chosen)} snapshot{'' if len(chosen) == 1 else 's'} in {folder}", file=sys.stderr)
    return DONE


def _score(
    names: "Sequence[str]", time_limit: float, chosen: "Sequence[Instance]", known: "dict[str, BestKnown]"
) -> "Iterator[Score]":
    from optassign.cli.show.progress import ProgressLine
    from optassign_benchmarks.instances.scoring import score_assignor

    with ProgressLine("scoring") as progress:
        for number, instance in enumerate(chosen, start=1):
            state = _make(instance, known)
            progress.doing = f"{instance.name}, {number:,} of {len(chosen):,} instances"
            for name in names:
                yield score_assignor(state, known[instance.name], name, time_limit)


def _score_answers(folder: Path, chosen: "Sequence[Instance]", known: "dict[str, BestKnown]") -> "Iterator[Score]":
    """Yield the scores of the answers in a folder. UsageError if the folder has no answer."""
    from optassign_benchmarks.instances.scoring import score_answer

    found = [(instance, folder / f"{instance.name}.json") for instance in chosen]
    there = [(instance, path) for instance, path in found if path.exists()]
    if not there:
        wanted = f"{found[0][1].name} or any other of the {len(found):,} chosen instances"
        raise UsageError(f"--answers: found no file of an instance in {folder}; allowed: {wanted}")
    if len(there) < len(found):
        print(f"{len(found) - len(there):,} instances without an answer are left out", file=sys.stderr)
    for instance, path in there:
        yield score_answer(_make(instance, known), known[instance.name], path)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _to_json(score: "Score") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(score)


def _render(scores: "Sequence[Score]", time_limit: float | None, width: int) -> "Iterable[RenderableType]":
    """Yield the table and its summary; `time_limit`: of each answer, seconds, or None for answers from files."""
    from optassign.cli.show.style import make_table, mark_wrong, wrap_lines
    from optassign_benchmarks.instances.leaderboard import describe_reason, summarise

    table = make_table()
    for name in ("instance", "assignor", "differs in"):
        table.add_column(name, no_wrap=True)
    table.add_column("gap", justify="right", no_wrap=True)  # `--json` has both values: 80 columns have no room
    for score in scores:
        if score.gap is None:
            table.add_row(score.instance, score.assignor, mark_wrong("refused", True), "")
        else:
            table.add_row(score.instance, score.assignor, score.gap.goal or "–", _describe_gap(score.gap))
    yield table
    reasons = Counter((score.assignor, describe_reason(score.refused)) for score in scores if score.refused)
    first = {(score.assignor, describe_reason(score.refused)): score for score in reversed(scores) if score.refused}
    yield from wrap_lines(
        (
            f"Refused: {assignor} on {number:,} of the instances, such as {first[assignor, reason].instance}: "
            f"{first[assignor, reason].refused}"
            for (assignor, reason), number in reasons.items()
        ),
        width,
    )
    summary = make_table("assignor")
    for name in ("best known", "refused", "better", "more work", "by", "s"):
        summary.add_column(name, justify="right", no_wrap=True)
    for assignor, number, out, best, better, work, median, seconds, _ in summarise(scores):
        cells = (f"{best} of {number}", *map(str, (out, better, work, median, seconds)))
        summary.add_row(str(assignor), *cells)
    limit = "" if time_limit is None else f" under a limit of {time_limit:g} s"
    summary.caption = f"more work: balanced, with a gap in restore_work; by: the median of these gaps; s: median{limit}"
    yield summary
    yield from wrap_lines(_describe_gaps(scores), width)
    best_ones = [score for score in scores if score.gap is not None and score.gap.is_better]
    if best_ones:
        which = ", ".join(f"{score.assignor} on {score.instance}" for score in best_ones[:3])
        yield from wrap_lines([f"Better than the table: {which}. Please report it with its assignment."], width)


def _describe_gaps(scores: "Sequence[Score]") -> "Iterator[str]":
    """Yield a line for each assignor with gaps: targets by goal, and their imbalance by family of shares, summed."""
    from optassign_benchmarks.instances.scoring import IMBALANCE

    goals: dict[str, Counter[str]] = {}
    families: dict[str, Counter[str]] = {}
    for score in scores:
        if score.gap is not None and score.gap.goal:
            goals.setdefault(score.assignor, Counter())[score.gap.goal] += 1
            parts = score.imbalance if score.gap.goal == IMBALANCE else {}
            families.setdefault(score.assignor, Counter()).update({name: value for name, value in parts.items() if value})
    for assignor, counted in goals.items():
        texts = {goal: f"{goal} {number:,}" for goal, number in counted.most_common()}
        if families[assignor]:
            texts[IMBALANCE] += (
                f" ({', '.join(f'{name} {value:,}' for name, value in families[assignor].most_common())} in all)"
            )
        yield f"Targets of {assignor} that differ: {', '.join(texts.values())}"


def _describe_gap(gap: "Gap") -> str:
    if not gap.goal:
        return "0%"
    if gap.share is None:
        return f"{gap.value:,.10g} for 0"
    return f"{gap.share:+.1%}" if abs(gap.share) < 1 else f"{gap.share:+.0%}"


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
    if any(value.name == "load" for row in rows for value in row.values):
        table.caption = "load: proven within 5% of its bound"
    yield table
