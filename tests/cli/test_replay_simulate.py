"""Tests of `optassign replay --simulate`: the simulation starts from real recordings and needs no Spark."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from command_line import run_here

FOLDER = Path(__file__).parents[1] / "data" / "recordings"
JOINING = ("replay", "--simulate", str(FOLDER), "--application", "joining", "--assignors", "greedy,sticky")


def test_figures_for_each_assignor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run_here(capsys, *JOINING, "--format", "json", "--events", str(tmp_path / "run.jsonl"))
    assert code == 0, err
    found = json.loads(out)
    assert (found["scenario"], list(found["assignors"])) == ("joining", ["greedy", "sticky"])
    assert found["assignors"]["greedy"]["balanced_at_s"] < 60
    events = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert {event["event"] for event in events} >= {"join", "rebalance", "restored"}
    _, table, _ = run_here(capsys, *JOINING, "--format", "table")
    assert "5 recordings, the first of 2026-11-21T10:17:50.726Z" in table


def test_a_file_that_is_no_recording_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(FOLDER / "at-rest.json.gz", tmp_path)
    (tmp_path / "other.json.gz").write_bytes(b"nothing")
    code, _, err = run_here(capsys, "replay", "--simulate", str(tmp_path), "--assignors", "greedy")
    assert code == 0
    assert "left out" in err
    assert "other.json.gz" in err


def test_recordings_without_tasks_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recorded = json.loads(gzip.decompress((FOLDER / "at-rest.json.gz").read_bytes()))
    recorded["snapshot"]["tasks"] = []
    recorded["snapshot"].pop("remembered", None)
    for client in recorded["snapshot"]["clients"]:
        client.update(previous_active=[], previous_standby=[], lags={})
    recorded["assignment"] = {**recorded["assignment"], "plan": None}
    for client in recorded["assignment"]["clients"]:
        client.update(active=[], standby=[], warmup=[])
    (tmp_path / "empty.json").write_text(json.dumps(recorded), encoding="utf-8")
    code, out, err = run_here(capsys, "replay", "--simulate", str(tmp_path))
    assert (code, out) == (2, "")
    assert "found no task in any recording; allowed: a recording with tasks" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("replay", "--simulate", str(FOLDER)), "joining, leaderless, rolled, shadow"),
        (("replay", "--simulate", str(FOLDER), "--application", "orders"), "found 'orders'"),
        ((*JOINING, "--converge"), "--converge: found it with --simulate"),
        ((*JOINING, "--scale", "3"), "--scale: found it with --simulate"),
        (("replay", str(FOLDER), "--output", "x", "--events", "y"), "--events: found it without --simulate"),
        (("replay", str(FOLDER)), "--output"),
        ((*JOINING, "--output", "."), "--output: found '.', a folder"),
        (("replay", "--simulate", str(FOLDER / "none")), "no recording"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run_here(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
