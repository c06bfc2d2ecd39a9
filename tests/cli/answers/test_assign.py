"""Tests of `assign`: an answer that Kafka accepts, as JSON or as a table.
They test `optassign.cli.commands.answers.assign`, `optassign.cli.show.answer_tables` and `optassign.cli.show.style`."""

from pathlib import Path

import pytest
from command_line import run_here, run_process, write_snapshot

from optassign.formats.assignment import TaskAssignment
from optassign.formats.json_input import read_assignment, read_state
from optassign.generating import generate
from optassign.judging.validation import validate


def test_assign_prints_json_outside_a_terminal(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = run_here(capsys, "assign", snapshot, "--assignor", "keep", "--json")
    assert (code, err) == (0, "")
    assert out.endswith("}\n")
    answer = TaskAssignment.model_validate_json(out)
    assert validate(read_state(snapshot), answer) == []


def test_assign_reads_standard_input_and_writes_files(snapshot: str, tmp_path: Path) -> None:
    target = tmp_path / "answer.json"
    text = Path(snapshot).read_text(encoding="utf-8")
    result = run_process("assign", "-", "--assignor", "greedy", "--output", str(target), stdin=text)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert validate(read_state(snapshot), read_assignment(target)) == []
    printed = run_process("assign", "-", "--assignor", "greedy", "--output", "-", "--json", stdin=text)
    assert TaskAssignment.model_validate_json(printed.stdout).without_times() == read_assignment(target).without_times()


@pytest.mark.parametrize("assignor", ["greedy", "cp-sat"])
def test_assign_answers_with_each_assignor(capsys: pytest.CaptureFixture[str], scale_out: str, assignor: str) -> None:
    code, out, err = run_here(capsys, "assign", scale_out, "--assignor", assignor, "--time-limit", "5", "--json")
    assert (code, err) == (0, "")
    answer = TaskAssignment.model_validate_json(out)
    assert answer.assignor == assignor
    assert validate(read_state(scale_out), answer) == []


def test_assign_answers_without_time(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, _ = run_here(capsys, "assign", scale_out, "--time-limit", "0", "--json")
    assert code == 0
    assert validate(read_state(scale_out), TaskAssignment.model_validate_json(out)) == []


def test_assign_fails_if_kafka_would_refuse_the_answer(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = run_here(capsys, "assign", snapshot, "--assignor", "twice")
    assert (code, out) == (1, "")
    assert err == (
        "optassign assign: error: assignor 'twice' returned an answer that Kafka would refuse:"
        " ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES\n"
    )


def test_a_table_is_for_people(capsys: pytest.CaptureFixture[str], scale_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    code, out, err = run_here(capsys, "assign", scale_out, "--assignor", "greedy", "--format", "table")
    assert (code, err) == (0, "")
    state = read_state(scale_out)
    for client in state.clients:
        assert client.process_id in out
    for word in ("threads", "active", "share", "standby", "warm-ups", "goal", "bound", "proven", "follow-up", "→"):
        assert word in out
    assert "\033" not in out  # no colours outside a terminal
    assert max(len(line) for line in out.splitlines()) <= 120


def test_a_narrow_table_still_shows_all_tasks(
    capsys: pytest.CaptureFixture[str], scale_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    _, out, _ = run_here(capsys, "assign", scale_out, "--assignor", "greedy", "--format", "table")
    table = out[: out.index("offsets to restore now")].splitlines()
    assert max(len(line) for line in table) <= 72
    for client in read_state(scale_out).clients:
        assert client.process_id[:8] in out


def test_a_large_group_is_cut_to_what_changes_most(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "large.json", generate("steady", 200, 80))
    _, out, _ = run_here(capsys, "assign", path, "--assignor", "keep", "--format", "table")
    assert "and 30 clients more, with less change" in out


def test_broken_rules_are_marked_without_colours(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    _, out, _ = run_here(capsys, "assign", scale_out, "--assignor", "cold", "--format", "table")
    assert "breaks R3" in out
    assert "not balanced" in out
    assert "→ 20!" in out


def test_assign_starts_from_a_plan_and_finds_no_worse_one(
    capsys: pytest.CaptureFixture[str], scale_out: str, tmp_path: Path
) -> None:
    """Without time for a solver, the best known plan is the given start."""
    start = tmp_path / "start.json"
    run_here(capsys, "assign", scale_out, "--output", str(start))
    code, out, _ = run_here(capsys, "assign", scale_out, "--start", str(start), "--json")
    assert code == 0
    assert read_assignment(start).plan == TaskAssignment.model_validate_json(out).plan
    code, _, err = run_here(capsys, "assign", scale_out, "--assignor", "greedy", "--start", str(start))
    assert (code, "--start: found" in err) == (2, True)
    without = read_assignment(start)
    bare = [each.model_copy(update={"standby": ()}) for each in without.plan or ()]
    start.write_text(without.model_copy(update={"plan": tuple(bare)}).model_dump_json(), encoding="utf-8")
    code, _, err = run_here(capsys, "assign", scale_out, "--start", str(start))
    assert (code, "without some copies" in err) == (2, True), "a target without standbys would beat the proven bound"
    run_here(capsys, "assign", scale_out, "--output", str(start))
    other = write_snapshot(tmp_path / "other.json", generate("scale-out", 12, 3, seed=5))
    code, _, err = run_here(capsys, "assign", str(other), "--start", str(start))
    assert (code, "other tasks or clients" in err) == (2, True)
