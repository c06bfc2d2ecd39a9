"""`make mutants`: measure the share of small faults in the sources that the tests catch.

The command runs the tests that execute the line of a mutant, the fastest first, until one fails. It maps lines to tests once
for a set of tests and sources, and keeps the map in build/mutants. The same mutants can be tried against other tests:

    python tests/mutants/run.py --draw 230 --mutants FILE     draws mutants of lines that the present tests execute
    python tests/mutants/run.py --mutants FILE --results FILE tries them; continues an interrupted run
    ... --before FILE                                         and lists mutants that those results caught and these do not
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from copying import TREE, WORK
from mapping import TREES, Map, read_map
from mutating import Mutant, draw_sample, list_lines
from trying import CAUGHT, run_tests, try_mutant

PRELOADED = ("numpy", "pandas", "pydantic", "hypothesis", "ortools.sat.python.cp_model", "fastapi", "httpx", "jsonschema")
"""Modules imported before the processes that run tests are forked, to save their import time."""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; empty without the file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def read_mutants(path: Path) -> list[Mutant]:
    return [Mutant(**row) for row in read_rows(path)]


def read_results(path: Path) -> dict[Mutant, dict[str, Any]]:
    names = [field.name for field in fields(Mutant)]
    return {Mutant(**{name: row[name] for name in names}): row for row in read_rows(path)}


def draw_mutants(known: Map, path: Path, number: int, seed: int) -> None:
    """Draw mutants of lines that tests execute, and write them as JSON lines."""
    sources = {file: (TREE / file).read_text(encoding="utf-8") for file in known.lines}
    weights = {file: sum(bits != 0 for bits in lines.values()) for file, lines in known.lines.items()}

    def is_tried(mutant: Mutant) -> bool:
        return bool(known.list_tests(mutant.file, *list_lines(sources[mutant.file], mutant.line)))

    rows = [json.dumps(asdict(mutant)) + "\n" for mutant in draw_sample(sources, weights, is_tried, number, seed)]
    path.write_text("".join(rows), encoding="utf-8")
    print(f"{len(rows)} mutants in {path}")


def try_all(known: Map, mutants: Path, results: Path, most: int, most_seconds: float) -> None:
    """Try all mutants without a result, and report catching tests that fail without a mutant too."""
    done = read_results(results)
    left = [mutant for mutant in read_mutants(mutants) if mutant not in done]
    with results.open("a", encoding="utf-8") as file:
        for number, mutant in enumerate(left, start=1):
            row = {**asdict(mutant), **try_mutant(mutant, known, most, most_seconds)}
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{number}/{len(left)} {row['result']}: {mutant.file}:{mutant.line} {mutant.operator}", flush=True)
    by = {row["by"] for row in read_results(results).values() if row.get("by") in known.seconds}
    if left and by:
        for test in run_tests(sorted(by), known)[1]:
            print(f"fails without a mutant, so its catches do not count: {test}")


def sum_up(results: dict[Mutant, dict[str, Any]]) -> None:
    for tree in ("", *TREES):
        of_tree = [row for mutant, row in results.items() if mutant.file.startswith(tree)]
        counts = Counter(row["result"] for row in of_tree)
        print(f"{tree or 'all'}: {len(of_tree)}; " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    print(f"{sum(row.get('seconds', 0.0) for row in results.values()):.0f} s")


def compare(before: dict[Mutant, dict[str, Any]], after: dict[Mutant, dict[str, Any]]) -> int:
    """Print the mutants that were caught before and are not caught now; return their number."""
    lost = [mutant for mutant, row in after.items() if row["result"] not in CAUGHT and before[mutant]["result"] in CAUGHT]
    for mutant in lost:
        was = before[mutant]["by"]
        print(f"no longer caught: {mutant.file}:{mutant.line} {mutant.original!r} -> {mutant.replacement!r}; before by {was}")
    return len(lost)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=Path, default=Path(__file__).with_name("mutants.jsonl"))
    parser.add_argument("--results", type=Path, help="file to add results to")
    parser.add_argument("--before", type=Path, help="results to compare with")
    parser.add_argument("--draw", type=int, metavar="NUMBER", help="number of mutants to draw instead of trying them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=150, help="most tests for each mutant")
    parser.add_argument("--most-seconds", type=float, default=90.0, help="most CPU seconds of tests for each mutant")
    parser.add_argument("tests", nargs="*", help="tests as pytest's arguments; default: all")
    given = parser.parse_args()
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    WORK.mkdir(parents=True, exist_ok=True)
    known = read_map(given.tests)
    if given.draw:
        draw_mutants(known, given.mutants, given.draw, given.seed)
    if not given.results:
        return 0
    try_all(known, given.mutants, given.results, given.most, given.most_seconds)
    after = read_results(given.results)
    sum_up(after)
    return 1 if given.before and compare(read_results(given.before), after) else 0


if __name__ == "__main__":
    sys.exit(main())
