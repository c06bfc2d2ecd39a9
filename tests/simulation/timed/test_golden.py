"""Tests of golden scenarios: each keeps its promises, and each figure is the one on file."""

from __future__ import annotations

from pathlib import Path

import pytest

from optassign.assignor import list_names
from optassign_benchmarks.golden import check_golden, write_golden

SLOW = {"thousand": [pytest.mark.long]}
FILES = sorted((Path(__file__).parents[2] / "golden").glob("*.toml"))
OURS = ("cp-sat", "greedy")


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem, marks=SLOW.get(path.stem, [])) for path in FILES])
def test_each_scenario_has_the_figures_on_file(path: Path) -> None:
    assert list(check_golden(path, OURS)) == []


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_baselines_have_the_figures_on_file(path: Path) -> None:
    assert list(check_golden(path, set(list_names()) - set(OURS))) == []


def test_a_group_with_work_left_at_the_end_is_reported(tmp_path: Path) -> None:
    short = tmp_path / "short.toml"
    short.write_text(
        'name = "short"\nduration_s = 65\n[[subtopologies]]\npartitions = 4\nstate = 10_000\n'
        '[[clients]]\ncount = 3\n[[events]]\nat = 60\ndo = "crash"\nclients = ["c1"]\n'
    )
    path = tmp_path / "one.toml"
    path.write_text(f'scenario = "{short}"\nassignors = ["sticky"]\n')
    assert "one.toml: sticky: at the end found Point(" in "\n".join(check_golden(path))


def test_differences_are_reported_and_written(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text('scenario = "scale-out"\nassignors = ["sticky"]\n\n[assert.sticky]\nmost_down_task_s = 1\n')
    told = "\n".join(check_golden(path))
    assert "down_task_s is" in told
    assert "most 1" in told
    assert "moves is 4, expected None" in told
    write_golden(path)
    assert [line for line in check_golden(path) if "expected" in line] == []
