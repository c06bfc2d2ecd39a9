"""Tests of `optassign simulate`: figures, events and pictures; errors are one line.
They test `optassign.cli.show.simulation_tables`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run_here

SCENARIO = """
name = "tiny"
duration_s = 300
configs = { num_standby_replicas = 1, probing_rebalance_interval_ms = 60000 }
subtopologies = [{ partitions = 4, state = 1000 }]
clients = [{ count = 2 }, { name = "new", joins = true }]
events = [{ at = 10, do = "join", clients = ["new1"] }]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SCENARIO)
    return path


def test_figures_for_each_assignor(capsys: pytest.CaptureFixture[str], scenario: Path) -> None:
    code, out, err = run_here(capsys, "simulate", str(scenario), "--assignors", "greedy,sticky", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["scenario"], found["seed"], list(found["assignors"])) == ("tiny", 0, ["greedy", "sticky"])
    assert found["assignors"]["greedy"]["moves"] == 1


def test_a_table_by_name_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "simulate", "crash", "--assignors", "greedy", "--format", "table")
    assert code == 0
    assert "downtime, task-seconds" in out
    assert "One of three instances is killed" in out


def test_events_and_a_picture(capsys: pytest.CaptureFixture[str], scenario: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    events, picture = tmp_path / "run.jsonl", tmp_path / "run.svg"
    arguments = ("--assignors", "greedy,sticky", "--events", str(events), "--picture", str(picture))
    code, _, err = run_here(capsys, "simulate", str(scenario), *arguments)
    assert code == 0, err
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["at"] for event in told if event["event"] == "join"] == [10, 10]
    assert {event["assignor"] for event in told} == {"greedy", "sticky"}
    assert picture.read_text().startswith("<?xml")
