"""Tests that every command that takes a snapshot also takes a recording: a file, unpacked or not, standard input, or an id.
They test `optassign.cli.common`."""

import gzip
import io
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import run_here

from optassign.formats.assignment import TaskAssignment
from optassign.recordings.recording import read_recording

RECORDED = Path(__file__).parents[1] / "data" / "recordings" / "third-instance-joins.json.gz"
ID = "joining/2026-11-21/101807.135-0"
COMMANDS = {
    "assign": ["--assignor", "greedy", "--json"],
    "explain": ["--json"],
    "compare": ["--assignors", "greedy", "--json"],
    "converge": ["--assignor", "greedy", "--json"],
    "validate": ["--json"],
    "anonymise": [],
}
"""Each command → arguments that make it quick."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a service's folder with one recording."""
    path = tmp_path / "recordings" / f"{ID}.json.gz"
    path.parent.mkdir(parents=True)
    shutil.copy(RECORDED, path)
    return tmp_path / "recordings"


def without_seconds(text: str) -> object:
    """Return a result as JSON without times, which differ from run to run."""
    return _drop_seconds(json.loads(text))


def _drop_seconds(value: object) -> object:
    if isinstance(value, dict):
        return {key: _drop_seconds(inner) for key, inner in value.items() if "seconds" not in key}
    return [_drop_seconds(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("command", COMMANDS)
def test_file_gzip_id_and_standard_input_give_the_same_result(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = folder.parent / "unpacked.json"
    plain.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    ways = {
        "gzip": [str(RECORDED)],
        "unpacked": [str(plain)],
        "id": [ID, "--recordings", str(folder)],
    }
    outputs = {}
    for way, named in ways.items():
        code, out, err = run_here(capsys, command, *named, *COMMANDS[command])
        assert (code, err) == (0, ""), way
        outputs[way] = without_seconds(out)
    monkeypatch.setenv("OPTASSIGN_RECORDINGS", str(folder))
    outputs["id, and the folder by the environment"] = without_seconds(run_here(capsys, command, ID, *COMMANDS[command])[1])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(RECORDED.read_bytes())))
    outputs["standard input"] = without_seconds(run_here(capsys, command, "-", *COMMANDS[command])[1])
    assert all(found == outputs["gzip"] for found in outputs.values()), [
        way for way in outputs if outputs[way] != outputs["gzip"]
    ]


def test_the_folder_of_this_directory_needs_no_option(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    monkeypatch.delenv("OPTASSIGN_RECORDINGS", raising=False)
    assert run_here(capsys, "validate", ID, "--format", "table") == (0, "cp-sat: keeps every rule\n", "")


@pytest.fixture
def altered(tmp_path: Path) -> Path:
    """Return the path of the recording with an answer that no assignor gives: all tasks stay, and the new client gets none."""
    recording = read_recording(RECORDED)
    kept = [{"process_id": client.process_id, "active": client.previous_active} for client in recording.snapshot.clients]
    answer = TaskAssignment.model_validate({"assignor": "as-it-was", "clients": kept})
    path = tmp_path / "altered.json"
    path.write_text(recording.model_copy(update={"assignment": answer}).model_dump_json(), encoding="utf-8")
    return path


def test_explain_explains_the_recorded_answer(capsys: pytest.CaptureFixture[str], altered: Path) -> None:
    code, out, err = run_here(capsys, "explain", str(altered), "--format", "table")
    assert (code, err) == (0, "")
    assert out.startswith("recorded at 2026-11-21T10:18:07.135Z, assigned by as-it-was\n")
    assert "active tasks: 0 move, 36 stay" in out


def test_solving_again_is_another_flag(capsys: pytest.CaptureFixture[str], altered: Path) -> None:
    code, out, _ = run_here(capsys, "explain", str(altered), "--solve", "--format", "table")
    assert code == 0
    assert out.startswith("solved again by cp-sat\nactive tasks: 8 move, 28 stay")
    code, out, _ = run_here(capsys, "explain", str(altered), "--solve", "--assignor", "greedy", "--format", "table")
    assert out.startswith("solved again by greedy\n")
    for option in (["--assignor", "greedy"], ["--time-limit", "1"]):
        code, out, err = run_here(capsys, "explain", str(altered), *option)
        assert (code, out) == (2, "")
        assert f"{option[0]}: found {option[1]}" in err
        assert "allowed: with --solve" in err


def test_validate_and_compare_know_the_recorded_answer(capsys: pytest.CaptureFixture[str], altered: Path) -> None:
    code, out, _ = run_here(capsys, "validate", str(altered), "--json")
    assert code == 1
    assert {violation["rule"] for violation in json.loads(out)["violations"]} == {"R4"}
    code, out, _ = run_here(capsys, "compare", str(altered), "--assignors", "greedy", "--json")
    found = json.loads(out)["assignors"]
    assert list(found) == ["previous", "recorded", "greedy"]
    assert found["recorded"]["active_moves"] == 0
    assert found["greedy"]["active_moves"] == 8
    assert code == 0, "what was answered then is not judged"
    _, out, _ = run_here(capsys, "compare", str(altered), "--assignors", "greedy", "--format", "table")
    assert "recorded: the recorded assignment" in out


def test_assign_answers_the_recorded_snapshot_with_its_memory(capsys: pytest.CaptureFixture[str]) -> None:
    path = RECORDED.with_name("warmed-up.json.gz")
    recording = read_recording(path)
    assert recording.snapshot.remembered is not None
    _, out, _ = run_here(capsys, "assign", str(path), "--json")
    assert TaskAssignment.model_validate_json(out).without_times() == recording.assignment.without_times()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explain", "a/b", "--recordings", "F"],
            "SNAPSHOT: found 'a/b', which is no file, and no recording or application in F; allowed: ",
        ),
        (["explain", "a/2026-11-21/093632.780-0"], "an id together with the folder of its recordings: --recordings FOLDER"),
        (["explain", "a/b", "--recordings", "no"], "--recordings: found no, which is no folder; allowed: a folder"),
        (["explain", "a/b"], "a/b: found no such file; allowed: a file with JSON in UTF-8, also compressed by gzip"),
        (["assign", "cut"], "cut: found truncated or damaged gzip"),
        (["assign", "unanswered"], "unanswered: assignment: found nothing; allowed: "),
        (["assign", "odd"], 'odd: snapshot.tasks[0].id: found "x"; allowed: '),
        (["validate", "S"], "ASSIGNMENT: found none for a snapshot; allowed: "),
    ],
)
def test_bad_input(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    folder.rename("F")
    data = json.loads(gzip.decompress(RECORDED.read_bytes()))
    Path("cut").write_bytes(RECORDED.read_bytes()[:-50])
    Path("unanswered").write_text(json.dumps({key: value for key, value in data.items() if key != "assignment"}))
    Path("S").write_text(json.dumps(data["snapshot"]))
    data["snapshot"]["tasks"][0]["id"] = "x"
    Path("odd").write_text(json.dumps(data))
    code, out, err = run_here(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_snapshot_is_not_accepted_as_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(read_recording(RECORDED).snapshot.model_dump_json(), encoding="utf-8")
    for action in ("show", "export"):
        code, _, err = run_here(capsys, "record", action, str(path))
        assert code == 2
        assert f"{path}: found a snapshot without an answer; allowed: a recording, which has both" in err
