"""`optassign demo`: what it shows, how much of it, and that it argues for what is measured. On the wheel, too."""

import json
import os
from pathlib import Path

import pytest
from command_line import run_here, run_process

from optassign.cli.commands.demo import SNAPSHOT

RECORDED = Path(__file__).parents[1] / "data" / "kafka-4.3.1" / SNAPSHOT


@pytest.mark.parametrize("width", ["80", "100"])
def test_it_fits_a_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    code, out, err = run_here(capsys, "demo")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= int(width)
    assert "!" not in out, "nothing that needs an explanation first"
    assert "would leave C with 4 active tasks (lower bound 5)" in out
    assert "optassign what-if snapshot.json" in out


def test_its_figures_are_those_of_the_simulator(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run_here(capsys, "demo", "--json")[1])
    kafka, ours = found["high-availability"], found["cp-sat"]
    assert ours["moves"] < kafka["moves"] / 2
    assert ours["balanced_at_s"] < kafka["balanced_at_s"]
    assert ours["last_change_at"] < kafka["last_change_at"]
    assert ours["restored"] == kafka["restored"]


def test_its_snapshot_is_the_recorded_one_and_can_be_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run_here(capsys, "demo", "--snapshot")
    assert code == 0
    assert out == RECORDED.read_text(encoding="utf-8")
    path = tmp_path / "snapshot.json"
    path.write_text(out, encoding="utf-8")
    assert run_here(capsys, "assign", str(path), "--assignor", "greedy")[0] == 0


def test_without_colours_and_elsewhere_than_in_utf_8_it_can_still_be_printed() -> None:
    done = run_process("demo", NO_COLOR="1", PYTHONIOENCODING="ascii", COLUMNS="100")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\033" not in done.stdout
    assert os.linesep in done.stdout
