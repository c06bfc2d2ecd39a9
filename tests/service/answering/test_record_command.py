"""Tests of `optassign record`: list, show and export. They test `optassign.cli.commands.service.record`."""

import gzip
import json
from pathlib import Path

import pytest
from command_line import run_here
from serving import Service, list_files, make_report, wait_until

from optassign import assign
from optassign.formats.json_input import read_assignment
from optassign.generating import generate
from optassign.recordings.files import name_folder
from optassign.recordings.recording import read_recording

NAME = "for the command line"


@pytest.fixture(scope="module")
def path(service: Service, recordings: Path) -> Path:
    """Return the path of a recording."""
    state = generate("scale-out", 24, 4, 1, seed=3).model_copy(update={"application": NAME})
    assert service.assign(state).status_code == 200
    folder = recordings / name_folder(NAME)
    wait_until(lambda: list_files(folder))
    return list_files(folder)[0]


def run_record(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return run_here(capsys, "record", *arguments)


def make_id(path: Path) -> str:
    return "/".join(path.parts[-3:]).removesuffix(".json.gz")


@pytest.mark.parametrize("columns", ["80", "200"])
def test_ls(
    capsys: pytest.CaptureFixture[str], path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    options = ("ls", "--recordings", str(recordings), "--application", NAME)
    code, out, err = run_record(capsys, *options, "--json")
    assert (code, err) == (0, "")
    (row,) = json.loads(out)
    assert (row["id"], row["application"], row["summary"]["tasks"]) == (make_id(path), NAME, 24)
    code, out, _ = run_record(capsys, *options, "--format", "table")
    assert code == 0
    assert make_id(path) in out, "an id is copied from here, so it must not wrap"
    assert max(map(len, out.splitlines())) <= int(columns)
    if columns == "200":
        assert "24 × 4" in out
        assert "moved, " in out
        assert "follow-up in 600 s" in out


def test_ls_lists_all_the_oldest_first_and_since(capsys: pytest.CaptureFixture[str], path: Path, recordings: Path) -> None:
    _, out, _ = run_record(capsys, "ls", "--recordings", str(recordings), "--json")
    rows = json.loads(out)
    assert make_id(path) in [row["id"] for row in rows]
    times = [row["recorded_at"] for row in rows]
    assert times == sorted(times)
    at = read_recording(path).recorded_at
    for since, there in (("1h", True), ("7d", True), ("2000-01-01", True), (at, True), ("2999-01-01", False)):
        _, out, _ = run_record(capsys, "ls", "--recordings", str(recordings), "--since", since, "--json")
        assert (make_id(path) in [row["id"] for row in json.loads(out)]) is there, since


def test_ls_skips_damaged_recordings(capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path) -> None:
    day = tmp_path / "a" / "2026-01-01"
    day.mkdir(parents=True)
    (day / "000000.000-0.json.gz").write_bytes(b"damaged")
    (day / "000001.000-0.json.gz").write_bytes(path.read_bytes())
    code, out, err = run_record(capsys, "ls", "--recordings", str(tmp_path), "--json")
    assert code == 0
    assert [row["id"] for row in json.loads(out)] == ["a/2026-01-01/000001.000-0"]
    assert err.count("\n") == 1
    assert "000000.000-0.json.gz: found no gzip" in err


def test_show_as_tables(
    capsys: pytest.CaptureFixture[str], path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPTASSIGN_RECORDINGS", str(recordings))
    for name in (str(path), make_id(path)):
        code, out, err = run_record(capsys, "show", name, "--format", "table")
        assert (code, err) == (0, "")
        assert out.startswith(f"{NAME} at 2")
        assert "cp-sat: 24 tasks on 4 clients" in out
    assert json.loads(run_record(capsys, "show", make_id(path), "--json")[1])["summary"]["clients"] == 4


def test_export_is_input_of_every_other_command(capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path) -> None:
    snapshot, answer = str(tmp_path / "snapshot.json"), str(tmp_path / "answer.json")
    assert run_record(capsys, "export", str(path), "--output", snapshot) == (0, "", "")
    assert run_record(capsys, "export", str(path), "--answer", "--output", answer) == (0, "", "")
    assert run_here(capsys, "validate", snapshot, answer)[0] == 0
    code, out, _ = run_here(capsys, "assign", snapshot, "--json")
    assert code == 0
    again = json.loads(out)
    given = json.loads(Path(answer).read_text(encoding="utf-8"))
    again["report"]["seconds"] = given["report"]["seconds"] = {}
    assert again == given
    assert read_recording(path).assignment.without_times() == assign(read_recording(path).snapshot).without_times()


@pytest.fixture(scope="module")
def reported(service: Service, recordings: Path) -> Path:
    """Return the path of a recording of a rebalance without the service."""
    state = generate("scale-out", 24, 4, 1, seed=3).model_copy(update={"application": "reported for the command line"})
    applied = assign(state, "sticky").model_copy(update={"assignor": "fallback"})
    assert service.report(make_report(state, applied, "no connection"), "r-1", 1).status_code == 200
    folder = recordings / name_folder(state.application)
    wait_until(lambda: list_files(folder))
    return list_files(folder)[0]


def test_the_applied_answer_is_shown_with_the_possible_savings(
    capsys: pytest.CaptureFixture[str], reported: Path, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    recording = read_recording(reported)
    assert recording.not_applied is not None
    code, out, _ = run_record(capsys, "show", str(reported), "--format", "table")
    assert code == 0
    assert "the plug-in reported that fallback was applied, and not the service's assignment: no connection" in out
    assert "fallback (applied)" in out
    assert "cp-sat (not applied)" in out
    then, instead = recording.summary, recording.not_applied.summary
    assert then.restored is not None
    assert instead.restored is not None
    assert then.restored > instead.restored
    numbers = [f"{number:,}" for number in (then.restored, instead.restored, then.restored - instead.restored)]
    (line,) = (line for line in out.splitlines() if line.startswith("offsets to restore"))
    assert line.split()[3:] == numbers
    _, out, _ = run_record(
        capsys, "ls", "--recordings", str(recordings), "--application", str(recording.application), "--format", "table"
    )
    assert "by fallback" in out
    assert "not by cp-sat" in out
    paths = [str(tmp_path / name) for name in ("snapshot", "applied", "not_applied")]
    for path, option in zip(paths, ([], ["--answer"], ["--not-applied"]), strict=True):
        assert run_record(capsys, "export", str(reported), *option, "--output", path)[0] == 0
    assert read_assignment(paths[1]) == recording.assignment
    assert read_assignment(paths[2]) == recording.not_applied_assignment
    assert run_here(capsys, "validate", paths[0], paths[2])[0] == 0


def test_explain_validate_and_compare_use_the_applied_answer_by_default(
    capsys: pytest.CaptureFixture[str], reported: Path
) -> None:
    _, applied, _ = run_here(capsys, "explain", str(reported), "--format", "table")
    message = "assigned by fallback, which was applied; --not-applied explains the service's own assignment, by cp-sat"
    assert message in " ".join(applied.split())
    _, not_applied, _ = run_here(capsys, "explain", str(reported), "--not-applied", "--format", "table")
    assert "assigned by cp-sat, which was not applied; fallback was" in " ".join(not_applied.split())
    assert run_here(capsys, "validate", str(reported), "--format", "table")[1].startswith("fallback: ")
    assert run_here(capsys, "validate", str(reported), "--not-applied", "--format", "table")[1] == "cp-sat: keeps every rule\n"
    _, out, _ = run_here(capsys, "compare", str(reported), "--assignors", "greedy", "--json")
    found = json.loads(out)["assignors"]
    assert list(found) == ["previous", "recorded", "not_applied", "greedy"]
    recording = read_recording(reported)
    assert recording.not_applied is not None
    moved = {name: found[name]["active_moves"] for name in ("recorded", "not_applied")}
    assert moved == {"recorded": recording.summary.moved_active, "not_applied": recording.not_applied.summary.moved_active}


def test_a_recording_may_have_one_answer_only(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    for command in (["record", "export"], ["explain"], ["validate"]):
        code, out, err = run_here(capsys, *command, str(path), "--not-applied")
        assert (code, out) == (2, "")
        assert "--not-applied: found a recording with one answer" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "--recordings", "no/such"], "--recordings: found no/such, which is no folder"),
        (["ls", "--recordings", ".", "--since", "soon"], "--since: found 'soon'; allowed: a time as in ISO 8601"),
        (["show", "a/b", "--recordings", "."], "a/b.json.gz: found no such file; allowed: a file with JSON"),
        (["show", "no.json.gz"], "no.json.gz: found no such file"),
        (["show", "text"], 'text: line 1, column 1: found "no JSON"; allowed: JSON'),
        (["show", "cut"], "cut: found truncated or damaged gzip"),
        (["show", "other"], "other: format: found nothing"),
        (["export", "other"], "other: format: found nothing"),
        (["export", "odd"], 'odd: mode: found "test"; allowed: "active", "shadow"'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    whole = gzip.decompress(path.read_bytes())
    Path("text").write_bytes(b"no JSON")
    Path("cut").write_bytes(path.read_bytes()[:-20])
    Path("other").write_bytes(gzip.compress(b"{}"))
    Path("odd").write_bytes(gzip.compress(whole.replace(b'"mode":"active"', b'"mode":"test"')))
    code, out, err = run_record(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("optassign record: error: ")
    assert err.count("\n") == 1
    assert message in err
