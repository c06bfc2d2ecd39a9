"""Tests of `optassign simulate --suite`: the grade table as JSON, table and Markdown; refused arguments.
They test `optassign.cli.show.simulation_tables`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run_here

from optassign.simulation.history_grades import COLUMNS

SMALL = ("simulate", "--suite", "small", "--count", "3", "--assignors", "greedy,sticky")


def test_grades_as_json_are_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, *SMALL, "--seed", "4", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["suite"], found["seed"], found["count"]) == ("small", 4, 3)
    greedy = found["assignors"]["greedy"]
    assert greedy.keys() == {column.key for column in COLUMNS} | {"wrong", "sums"}
    assert (greedy["violations"], greedy["unsettled"], greedy["wrong"]) == (0, 0, [])
    assert found["assignors"]["sticky"]["wrong"]
    assert run_here(capsys, *SMALL, "--seed", "4", "--format", "json")[1] == out


def test_the_best_of_each_row_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, *SMALL, "--format", "table")
    assert code == 0
    assert "3 small histories, seeds 1 to 3" in out
    assert "baselines do not promise" in out
    (broken,) = (line for line in out.splitlines() if line.startswith("rules broken"))
    assert broken.split()[2] == "0*"
    _, markdown, _ = run_here(capsys, *SMALL, "--format", "markdown")
    assert "| rules broken | **0** |" in markdown
    assert all(f"| {column.label} |" in markdown for column in COLUMNS if "tag" not in column.key and column.per == "changes")


def test_progress_names_each_history(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run_here(capsys, *SMALL, "--events", str(tmp_path / "each.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "each.jsonl").read_text().splitlines()]
    assert [(line["assignor"], line["seed"]) for line in lines] == [(a, n) for a in ("greedy", "sticky") for n in (1, 2, 3)]
    assert lines[0]["history"].startswith("small history 1: ")


def test_a_broken_promise_ends_with_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "from optassign.assignors.baselines.sticky import StickyAssignor\nclass Mine(StickyAssignor):\n    TRAITS = None\n"
    (tmp_path / "breaks_rules.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    given = ("simulate", "--suite", "small", "--count", "2", "--register", "mine=breaks_rules:Mine", "--assignors", "mine")
    code, out, _ = run_here(capsys, *given, "--format", "table")
    assert code == 1
    assert "mine broke a rule or did not converge with the seeds 1\n" in out
