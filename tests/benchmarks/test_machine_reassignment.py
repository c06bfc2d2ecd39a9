"""Tests of ROADEF/EURO 2012 instances as snapshots, with a tiny instance; the challenge's are not in the repository."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from optassign.assignor import assign
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_state
from optassign.measuring.load import Loads
from optassign.measuring.placement import planned_placement
from optassign_benchmarks.machine_reassignment import ReassignmentInstance, main, make_snapshot, read_instance

# Two resources; two machines of capacity 20 and 10 (safety capacity 16 and 8, then 12 and 6); one service; four processes.
MODEL = """2
0 10
1 20
2
0 0 20 20 16 12 0 1
0 1 10 10 8 6 1 0
1
1 0
4
0 6 1 100
0 4 2 300
0 2 3 200
0 0 4 50
0
1 10 100
"""
INSTANCE = ReassignmentInstance((16, 8), (6, 4, 2, 0), (100, 300, 200, 50), (1, 1, 0, 1))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model, assignment = tmp_path / "model.txt", tmp_path / "assignment.txt"
    model.write_text(MODEL, encoding="ascii")
    assignment.write_text("1 1 0 1\n", encoding="ascii")
    return model, assignment


def test_an_instance_is_read(files: tuple[Path, Path]) -> None:
    assert read_instance(*files) == INSTANCE
    second = read_instance(*files, resource=1)
    assert (second.capacity, second.need) == ((12, 6), (1, 2, 3, 4))


def test_the_snapshot_has_loads_owners_and_state() -> None:
    state = make_snapshot(INSTANCE)
    assert [client.capacity for client in state.clients] == [16 / 12, 8 / 12]
    assert [client.previous_active for client in state.clients] == [("0_2",), ("0_0", "0_1", "0_3")]
    assert [task.weight for task in state.tasks] == [2.0, 1.333333, 0.666667, 1e-6]
    assert dict(state.full_lags) == {"0_0": 100, "0_1": 300, "0_2": 200, "0_3": 50}
    for name in ("cp-sat", "greedy"):
        answer = assign(state, name)
        assert planned_placement(state, answer).active["0_0"] == ("m0000",), "the cheapest move that evens out the load"
        assert Loads(state).find_greatest(planned_placement(state, answer)) == pytest.approx(1.0, abs=1e-5)


def test_a_machine_without_safety_capacity_drains() -> None:
    state = make_snapshot(ReassignmentInstance((16, 0, 8), (6, 4, 2, 1), (1, 1, 1, 1), (0, 1, 2, 2)))
    assert [client.draining for client in state.clients] == [False, True, False]
    planned = planned_placement(state, assign(state, "greedy"))
    assert all(clients != ("m0001",) for clients in planned.active.values())


def test_the_command_prints_values_beside_bounds_and_writes_the_snapshot(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "snapshot.json"
    monkeypatch.setattr(sys, "argv", ["", *map(str, files), "--snapshot", str(path)])
    assert main() == 0
    out = capsys.readouterr().out
    assert "4 processes on 2 machines, resource 0" in out
    assert "| cp-sat | 1.0000 | 1.0000 | 100 | 100 | 1 |" in out
    assert read_state(path) == make_snapshot(INSTANCE)


@pytest.mark.parametrize(
    ("model", "assignment", "said"),
    [
        (None, "1 1 0 1", "model.txt: found no such file; allowed: a model file of ROADEF/EURO 2012, which you download"),
        (MODEL, None, "assignment.txt: found no such file; allowed: its initial assignment, which you download"),
        (MODEL, "1 1 0 2", "assignment.txt: line 1: found 2; allowed: the machine of process 3, an integer from 0 to 1"),
        (MODEL, "1 1 0", "assignment.txt: the end: found no more numbers; allowed: the machine of process 3"),
        (
            MODEL,
            "1 1 0 1\n0",
            "assignment.txt: line 2: found 0; allowed: the end of the file, after the machines of 4 processes",
        ),
        (MODEL.replace("0 4 2 300", "0 x 2 300"), "1 1 0 1", "model.txt: line 11: found x; allowed: a need of a process"),
        (MODEL[:40], "1 1 0 1", "model.txt: the end: found no more numbers; allowed: "),
        ("", "1 1 0 1", "model.txt: the end: found no more numbers; allowed: the number of resources"),
        ("é", "1 1 0 1", "model.txt: found a file that is no text of numbers; allowed: a model file"),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, model: str | None, assignment: str | None, said: str) -> None:
    paths = tmp_path / "model.txt", tmp_path / "assignment.txt"
    for path, text in zip(paths, (model, assignment), strict=True):
        if text is not None:
            path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_instance(*paths)
    assert said in str(error.value)


def test_a_wrong_file_ends_with_2_and_one_line(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for more, said in (
        (["--resource", "2"], "found 2; allowed: 0 to 1, as the model has 2 resources"),
        (["--snapshot", "/"], "/"),
    ):
        monkeypatch.setattr(sys, "argv", ["", *map(str, files), *more])
        assert main() == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
