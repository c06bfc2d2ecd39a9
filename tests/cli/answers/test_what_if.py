"""Tests of `optassign what-if`: a change compared with the present application, for a snapshot, recording or application.
They test `optassign.cli.commands.answers.what_if`."""

import json
import shutil
from pathlib import Path

import pytest
from command_line import run_here

RECORDED = Path(__file__).parents[2] / "data" / "recordings" / "third-instance-joins.json.gz"


@pytest.fixture
def recordings(tmp_path: Path) -> str:
    """Return a folder with two recordings of application `joining`."""
    folder = tmp_path / "recordings"
    for name, source in {"101800.000-0": "first-instance-starts", "101807.135-0": "third-instance-joins"}.items():
        (folder / "joining" / "2026-11-21").mkdir(parents=True, exist_ok=True)
        shutil.copy(RECORDED.with_name(f"{source}.json.gz"), folder / "joining" / "2026-11-21" / f"{name}.json.gz")
    return str(folder)


def test_a_change_of_a_snapshot(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = run_here(capsys, "what-if", snapshot, "--add", "2", "--standbys", "0", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["changes"] == ["num.standby.replicas = 0", "2 clients added"]
    assert found["changed"]["clients"] == found["as_it_is"]["clients"] + 2
    assert found["changed"]["standbys_wanted"] == 0


@pytest.mark.parametrize("width", ["80", "100", "120"])
def test_the_tables_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scale_out: str, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    code, out, _ = run_here(capsys, "what-if", scale_out, "--add", "1", "--assignor", "greedy")
    assert code == 0
    assert out.startswith("If 1 client added (greedy)\n")
    assert "time until the target is reached" in out
    assert max(map(len, out.splitlines())) <= int(width)


def test_an_application_stands_for_its_latest_recording(capsys: pytest.CaptureFixture[str], recordings: str) -> None:
    """Every command that takes a snapshot also takes an application's name."""
    where = ("--recordings", recordings)
    assert json.loads(run_here(capsys, "what-if", "joining", "--add", "1", "--json", *where)[1])["as_it_is"]["clients"] == 3
    _, out, _ = run_here(capsys, "explain", "joining", "--task", "0_3", *where)
    assert out.startswith("recorded at 2026-11-21T10:18:07.135Z, assigned by cp-sat")
    assert run_here(capsys, "record", "show", "joining", *where)[1].startswith("joining at 2026-11-21T10:18:07.135Z")
    code, _, err = run_here(capsys, "explain", "nothing-like-that", *where)
    assert (code, err.count("\n")) == (2, 1)
    assert "no recording or application" in err


def test_a_snapshot_without_tasks_can_be_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    client = {"process_id": "a", "threads": 1, "previous_active": [], "previous_standby": []}
    path = tmp_path / "no-tasks.json"
    path.write_text(json.dumps({"format": 1, "configs": {}, "tasks": [], "clients": [client]}), encoding="utf-8")
    code, out, err = run_here(capsys, "what-if", str(path), "--add", "1", "--json")
    assert code == 0, err
    assert json.loads(out)


@pytest.mark.parametrize("option", ["--assignor=greedy", "--time-limit=3", "--options=some.toml", "--recordings=here"])
def test_a_service_answers_by_its_own_settings(capsys: pytest.CaptureFixture[str], option: str) -> None:
    code, out, err = run_here(capsys, "what-if", "orders", "--add", "1", "--url", "http://localhost:1", option)
    assert (code, out) == (2, "")
    assert f"{option.partition('=')[0]}: found it for an application of a service" in err


def test_a_group_balanced_by_load_is_balanced_in_the_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One task of weight 3 and three of weight 1 are balanced as 1 and 3 tasks."""
    tasks = [{"id": f"0_{number}", "stateful": False, "logged": False} for number in range(4)]
    clients = [{"process_id": name, "threads": 1, "previous_active": [], "previous_standby": []} for name in "ab"]
    path = tmp_path / "load.json"
    path.write_text(json.dumps({"format": 1, "configs": {}, "tasks": tasks, "clients": clients}), encoding="utf-8")
    code, out, _ = run_here(capsys, "what-if", str(path), "--weights", "0_0:3", "--json")
    assert (code, json.loads(out)["changed"]["balanced_in_the_end"]) == (0, True)
