"""Tests of docs/how-to/spark.md: its commands run unchanged except for ports and the folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from spark_cluster import PATIENCE, kill, read_rows

from optassign_benchmarks.kafka.processes import find_free_ports
from optassign_benchmarks.spark.presets import PRESETS, Sweep, read_sweep

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "spark.md").read_text(encoding="utf-8")


def find_block(language: str, near: str) -> str:
    """Return the first block of the page in this language after the text."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE[PAGE.index(near) :], re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.long
def test_the_commands_of_the_page_start_and_use_a_cluster(java: None, tmp_path: Path) -> None:
    script = find_block("bash", "A cluster from pip's PySpark").replace("/tmp/", f"{tmp_path}/")
    others = dict(zip(("7077", "8080", "8081"), find_free_ports(3), strict=True))
    for port, other in others.items():
        assert re.search(rf"\b{port}\b", script)
        script = re.sub(rf"\b{port}\b", str(other), script)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with (tmp_path / "log").open("w") as log:
        # The shell is the parent of the cluster's processes, waits for them, and ends with them.
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", f"{script}wait $master || true; wait $worker || true"],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
        try:
            assert shell.wait(PATIENCE) == 0, (tmp_path / "log").read_text()[-3000:]
        finally:
            kill(shell)
    smoke = PRESETS["smoke"]
    expected = len(smoke.rows(smoke.list_assignors()))
    assert f"{expected} rows solved, {expected} are there, all ok" in (tmp_path / "log").read_text()
    assert len(read_rows(tmp_path / "sweep", "results")) == expected


def test_the_grid_of_the_page_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(find_block("toml", "A grid of your own"))
    grid = read_sweep(path)
    assert isinstance(grid, Sweep)
    assert len(grid.specs()) == 2 * 2 * 2 * 2 * 3
    default = Sweep(name="default", sizes=((10, 2),))
    assert grid.converge_up_to == default.converge_up_to
    assert grid.limits == default.limits


def test_by_default_small_snapshots_are_played_on_and_large_ones_counted() -> None:
    sweep = Sweep(name="default", sizes=((1_000, 10), (1_001, 10)), shapes=("cold", "steady"), seeds=(1, 2))
    assert sweep.count_unplayed() == 4
