"""Tests of `optassign demo`: it fits a screen, gives the simulator's figures, and works from a wheel."""

import io
import json
import os
from pathlib import Path

import pytest
from command_line import run_here, run_process

from optassign.cli.commands.demo import SNAPSHOT
from optassign.cli.parser import make_parser
from optassign.cli.show.demo_page import NEXT

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
    assert "optassign inspect --bootstrap-server localhost:9092 --group orders" in out


def test_each_reader_has_one_next_command_that_exists() -> None:
    assert len(NEXT) == 4
    for _, line in NEXT:
        for command in line.split(" | "):
            program, *arguments = command.split()
            assert program == "optassign"
            make_parser().parse_args(arguments)


def test_the_command_without_kafka_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = NEXT[-1][1].split(" | ")
    _, out, _ = run_here(capsys, *first.split()[1:])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(out.encode())))
    code, out, _ = run_here(capsys, *second.split()[1:])
    assert code == 0
    assert out


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


def test_it_can_be_printed_without_colours_and_utf_8() -> None:
    done = run_process("demo", NO_COLOR="1", PYTHONIOENCODING="ascii", COLUMNS="100")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\033" not in done.stdout
    assert os.linesep in done.stdout
