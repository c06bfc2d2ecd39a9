"""Sweeps on one and two workers of Spark: seconds of the same grid, and the estimated time of a sweep of 100,000 rows."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq

from optassign_benchmarks.repeated import RepeatedCase, RepeatedStudy, Run
from optassign_benchmarks.runner import PlayedRow

__all__ = ["WORKERS"]

GRID = """\
name = "workers"
shapes = ["scale-out", "scale-in", "partial"]
sizes = [[100, 10], [400, 40]]
standbys = [1]
seeds = {seeds}
assignors = ["cp-sat", "greedy"]
"""


_ROWS, _MACHINES, _CORES = 100_000, 50, 8
"""Rows of the estimated sweep, its machines, and the cores of each."""
_SEEDS, _QUICK_SEEDS = 4, 1
"""Seeds of the grid, with twelve rows each."""


def _list_cases(quick: bool) -> Iterator[RepeatedCase]:
    for workers in (1, 2):
        yield RepeatedCase({"workers": workers}, plan=_QUICK_SEEDS if quick else _SEEDS)


def _sweep(folder: Path, case: RepeatedCase) -> Run:
    """Run a sweep, and return its figures. CalledProcessError if the command fails."""
    grid, output = folder / "grid.toml", folder / "out"
    shutil.rmtree(output, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    grid.write_text(GRID.format(seeds=list(range(1, case.plan + 1))), encoding="utf-8")
    command = [sys.executable, "-m", "optassign.cli", "benchmark", "run", "--grid", str(grid), "--output", str(output)]
    start = time.time()
    master = f"local-cluster[{case.facts['workers']},1,1024]"
    subprocess.run([*command, "--master", master], check=True, capture_output=True)
    end = time.time()
    files = sorted(output.glob("table=results/run=*/*.parquet"))
    begun = [text for file in files for text in pq.read_table(file, columns=["started"]).column(0).to_pylist()]
    first = min(datetime.fromisoformat(text).timestamp() for text in begun)
    return {"rows": len(begun), "command_s": end - start, "solving_s": end - first}


def _summarise(played: Sequence[tuple[RepeatedCase, Sequence[Run]]]) -> Iterator[PlayedRow]:
    """Yield rows of medians. The estimate uses the seconds per row on one worker's core, without the start of Spark."""
    medians = {case.facts["workers"]: statistics.median(run["solving_s"] for run in runs) for case, runs in played}
    for case, runs in played:
        workers, rows = case.facts["workers"], runs[0]["rows"]
        solving = sorted(run["solving_s"] for run in runs)
        median = statistics.median(solving)
        core_hours = _ROWS * median * int(workers) / rows / 3600
        yield PlayedRow(
            {
                "workers": workers,
                "rows": rows,
                "runs": len(runs),
                "whole command, s": round(statistics.median(run["command_s"] for run in runs), 1),
                "solving, s": round(median, 1),
                "from – to": f"{solving[0]:.1f} – {solving[-1]:.1f}",
                "rows a second": round(rows / median, 2),
                "times one worker": round(medians[1] / median, 2) if 1 in medians else "–",
                "core-hours of 100,000 rows": round(core_hours, 1),
                "hours on 50 machines of 8 cores": round(core_hours / (_MACHINES * _CORES), 2),
            }
        )


WORKERS = RepeatedStudy(
    name="workers",
    cases=_list_cases,
    play=_sweep,
    open=nullcontext,
    summarise=_summarise,
    runs=3,
    caption="Sweeps of the same grid on workers of one core each; medians",
)
"""Two workers compared with one, and an estimate for 100,000 rows on 50 machines."""
