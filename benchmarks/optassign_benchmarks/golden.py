"""Golden scenarios: each TOML file has a scenario, bounds on its figures, and the expected figures.

    python -m optassign_benchmarks.golden tests/golden           # print differences; the exit code is 1 if there are any
    python -m optassign_benchmarks.golden tests/golden --write   # renew the figures, for review as a diff

`scenario` names a scenario of the library, or a file; `assignors` the assignors that play it. `[assert.ASSIGNOR]` has bounds of
figures by name (`most_X`, `least_X`), and `[figures.ASSIGNOR]` the figures with the digest of the timeline. At the end each
task must run, without backlog and with all its standbys.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from optassign.formats.toml_input import read_toml
from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import FIGURES, SimulatedRun, digest, simulate, summarise

__all__ = ["check_golden", "main", "write_golden"]

_MARK = "# Figures, by `python -m optassign_benchmarks.golden FOLDER --write`.\n"


def check_golden(path: Path, assignors: Collection[str] | None = None) -> Iterator[str]:
    """Yield a line for each broken bound, each figure that differs from the file, and each group with work left at the end.

    `assignors`: those that play, of the file's (default: all).
    """
    golden = read_toml(path)
    for assignor, played in _play(golden, assignors).items():
        found, last = _list_figures(played), played.measures.curve[-1]
        if last.down or last.backlog or last.standbys_missing:
            yield f"{path.name}: {assignor}: at the end found {last}"
        for bound, limit in golden.get("assert", {}).get(assignor, {}).items():
            kind, _, name = bound.partition("_")
            value = found.get(name)
            is_kept = value is not None and (value <= limit if kind == "most" else value >= limit)
            if kind not in ("most", "least") or name not in FIGURES:
                yield f"{path.name}: {assignor}: {bound} is no bound of a figure"
            elif not is_kept:
                yield f"{path.name}: {assignor}: {name} is {value}, {kind} {limit}"
        expected = golden.get("figures", {}).get(assignor, {})
        for name in sorted({*found, *expected}):
            if found.get(name) != expected.get(name):
                yield f"{path.name}: {assignor}: {name} is {found.get(name)}, expected {expected.get(name)}"


def write_golden(path: Path) -> None:
    """Replace the figures of the file by those of a new run."""
    text = path.read_text(encoding="utf-8").partition(_MARK)[0].rstrip() + "\n\n" + _MARK
    for assignor, played in _play(read_toml(path)).items():
        text += f'\n[figures."{assignor}"]\n' if not assignor.isidentifier() else f"\n[figures.{assignor}]\n"
        text += "".join(f"{name} = {_to_toml(value)}\n" for name, value in _list_figures(played).items())
    path.write_text(text, encoding="utf-8")


def _play(golden: Mapping[str, Any], assignors: Collection[str] | None = None) -> dict[str, SimulatedRun]:
    scenario = read_scenario(golden["scenario"])
    return {name: simulate(scenario, name) for name in golden["assignors"] if assignors is None or name in assignors}


def _list_figures(played: SimulatedRun) -> dict[str, Any]:
    """Return name → figure, without unknown figures and with the digest of the timeline."""
    figures = {**summarise(played), "digest": digest(played)}
    return {name: value for name, value in figures.items() if value is not None}


def _to_toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def main() -> int:
    """Run the command. Return 1 if a figure differs, otherwise 0."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.golden", allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="renew the figures")
    arguments = parser.parse_args()
    wrong: list[str] = []
    for path in sorted(arguments.folder.glob("*.toml")):
        if arguments.write:
            write_golden(path)
        else:
            wrong += check_golden(path)
    print("\n".join(wrong) or "as expected", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
