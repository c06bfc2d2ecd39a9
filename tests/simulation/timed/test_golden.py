"""Tests of golden scenarios: each keeps its promises, and each figure is the one on file."""

from __future__ import annotations

from pathlib import Path

import pytest

from optassign_benchmarks.golden import check_golden, write_golden

FILES = sorted((Path(__file__).parents[2] / "golden").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_scenario_has_the_figures_on_file(path: Path) -> None:
    assert list(check_golden(path)) == []


def test_differences_are_reported_and_written(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text('scenario = "scale-out"\nassignors = ["sticky"]\n\n[assert.sticky]\nmost_down_task_s = 1\n')
    told = "\n".join(check_golden(path))
    assert "down_task_s is" in told
    assert "most 1" in told
    assert "moves is 4, expected None" in told
    write_golden(path)
    assert [line for line in check_golden(path) if "expected" in line] == []
