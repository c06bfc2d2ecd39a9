"""The leaderboard: scores of assignors, summed up by assignor and size.

`python -m optassign_benchmarks.instances.leaderboard SCORES.json … --write` writes docs/data/instances.json from the scores of
`optassign benchmark instances --json`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optassign_benchmarks.instances.catalogue import SIZES, list_instances
from optassign_benchmarks.instances.scoring import Gap, Score
from optassign_benchmarks.instances.table import BestKnown, read_best_known
from optassign_benchmarks.results import Cell, describe_machine, make_table, write_study

__all__ = ["COLUMNS", "REFUSED", "describe_reason", "list_refused", "summarise"]

COLUMNS = (
    "assignor",
    "instances",
    "refused",
    "best known",
    "better",
    "balanced, more work",
    "median of the gap",
    "seconds, median",
    "most",
)

REFUSED = ("assignor", "size", "family", "instances", "reason")


def summarise(scores: Sequence[Score]) -> list[tuple[Cell, ...]]:
    """Return a row of `COLUMNS` for each assignor, sorted by the number of best-known targets."""
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(score.assignor for score in scores):
        own = [score for score in scores if score.assignor == name]
        gaps = [score.gap for score in own if score.gap is not None]
        best = sum(not gap.goal for gap in gaps)
        work = [gap for gap in gaps if gap.goal == "restore_work"]
        shares = [gap.share for gap in work if gap.share is not None]
        seconds = [score.seconds for score in own if score.gap is not None]
        rows.append(
            (
                name,
                len(own),
                sum(bool(score.refused) for score in own),
                best,
                sum(gap.is_better for gap in gaps),
                len(work),
                f"{statistics.median(shares):+.1%}" if shares else "–",
                f"{statistics.median(seconds):.3f}" if seconds else "–",
                f"{max(seconds):.1f}" if seconds else "–",
            )
        )
    return sorted(rows, key=lambda row: (-int(row[3]), str(row[0])))


def list_refused(scores: Sequence[Score]) -> list[tuple[Cell, ...]]:
    """Return a row of `REFUSED` for each assignor, size and family with refused targets, with the reasons."""
    kinds = {instance.name: (instance.size, instance.family) for instance in list_instances()}
    found: dict[tuple[str, str, str], list[str]] = {}
    for score in scores:
        if score.refused:
            found.setdefault((score.assignor, *kinds[score.instance]), []).append(describe_reason(score.refused))
    return [(*key, len(reasons), "; ".join(sorted(set(reasons)))) for key, reasons in sorted(found.items())]


def describe_reason(refused: str) -> str:
    """Return the broken rule or limit, or the reason for a missing answer, without the names of task and client."""
    reason = refused if refused.startswith("no answer") else refused.partition(":")[0]
    return re.sub(r" \(number \d+\)", "", reason)


def describe_best_known(known: dict[str, BestKnown]) -> list[tuple[Cell, ...]]:
    """Return a row for each size: the numbers of instances, values, proofs, and values that HiGHS confirmed, then the median
    and the greatest seconds of an instance.
    """
    rows: list[tuple[Cell, ...]] = []
    for size in SIZES:
        own = [known[instance.name] for instance in list_instances() if instance.size == size and instance.name in known]
        values = [value for row in own for value in row.values]
        proven, checked = sum(value.proven for value in values), sum(value.checked for value in values)
        seconds = [row.seconds for row in own]
        rows.append((size, len(own), len(values), proven, checked, statistics.median(seconds), max(seconds)))
    return rows


def _read_scores(path: Path) -> list[Score]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [Score(**{**row, "gap": None if row["gap"] is None else Gap(**row["gap"])}) for row in found]


def main() -> int:
    """Print the tables, and write them with --write."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.instances.leaderboard")
    parser.add_argument("scores", nargs="+", type=Path, metavar="SCORES.json")
    parser.add_argument("--write", action="store_true", help="write docs/data/instances.json")
    parser.add_argument(
        "--left-out",
        action="append",
        default=[],
        metavar="ASSIGNOR:SIZE:REASON",
        help="name a size that an assignor was not scored on, and why (repeatable)",
    )
    given = parser.parse_args()
    scores = {(score.instance, score.assignor): score for path in given.scores for score in _read_scores(path)}
    known = read_best_known()
    head = ("size", "instances", "values", "proven", "found by HiGHS too", "seconds, median", "most")
    tables = [make_table(head, describe_best_known(known), "Best-known values")]
    sizes = {instance.name: instance.size for instance in list_instances()}
    for size in SIZES:
        own = [score for score in scores.values() if sizes[score.instance] == size]
        if own:
            tables.append(make_table(COLUMNS, summarise(own), f"Instances of size {size}"))
    tables.append(make_table(REFUSED, list_refused(list(scores.values())), "Refused targets"))
    if given.left_out:
        rows = [text.split(":", 2) for text in given.left_out]
        tables.append(make_table(("assignor", "size", "reason"), rows, "Sizes that assignors were not scored on"))
    for table in tables:
        print(table.to_markdown(), end="\n\n")
    if given.write:
        planner = "--register optassign_benchmarks.jvm_planner:JvmPlanner"
        command = f"optassign benchmark instances --size SIZE {planner} --assignors A,B,… --json --output SCORES.json"
        write_study("instances", tables, (), command, describe_machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
