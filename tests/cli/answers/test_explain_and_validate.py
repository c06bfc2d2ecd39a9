"""Tests of `explain` and `validate`: the reasons for an assignment, and the rules that an answer breaks.
They test `optassign.cli.commands.answers.explain`, `optassign.cli.commands.answers.validate` and
`optassign.analysis.limit_prices`."""

import json
from pathlib import Path

import pytest
from command_line import run_here, run_process

from optassign.formats.json_input import read_state
from optassign.generating import generate

# explain


def test_explain_describes_the_group_tasks_and_clients(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    state = read_state(scale_out)
    task, client = state.tasks[0].id, state.clients[0].process_id
    common = ("explain", scale_out, "--assignor", "greedy", "--format", "table")
    code, out, err = run_here(capsys, *common)
    assert (code, err) == (0, "")
    assert "active tasks: " in out
    assert "waits for" in out
    _, out, _ = run_here(capsys, *common, "--task", task, "--client", client[:8])
    assert f"task {task} (" in out
    assert f"client {client} (" in out
    _, out, _ = run_here(capsys, *common[:-2], "--task", task, "--task", "0_1", "--client", client, "--json")
    found = json.loads(out)
    assert [e["task"] for e in found["tasks"]] == [task, "0_1"]
    assert [e["process_id"] for e in found["clients"]] == [client]
    _, out, _ = run_here(capsys, *common[:-2], "--json")
    assert set(json.loads(out)["waiting"][0]) == {"task", "process_id", "role", "lag", "slot"}


def test_explain_takes_an_answer(capsys: pytest.CaptureFixture[str], scale_out: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    run_here(capsys, "assign", scale_out, "--assignor", "keep", "--output", str(path))
    code, out, _ = run_here(capsys, "explain", scale_out, "--assignment", str(path), "--format", "table")
    assert code == 0
    assert "active tasks: 0 move, 20 stay, 0 had no client" in out


def test_a_unique_prefix_names_a_client(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    state = generate("steady", 4, 3).model_dump()
    for client, name in zip(state["clients"], ("ab", "abc", "b"), strict=True):
        client["process_id"] = name
    path = tmp_path / "short.json"
    path.write_text(json.dumps(state), encoding="utf-8")
    common = ("explain", str(path), "--assignor", "keep", "--format", "table", "--client")
    assert "client ab (" in run_here(capsys, *common, "ab")[1]
    code, _, err = run_here(capsys, *common, "a")
    assert code == 2
    assert "found 'a', which 2 clients go by; allowed: one of ab, abc\n" in err


# validate


def test_validate_lists_broken_rules(capsys: pytest.CaptureFixture[str], scale_out: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    run_here(capsys, "assign", scale_out, "--assignor", "keep", "--output", str(good))
    run_here(capsys, "assign", scale_out, "--assignor", "cold", "--output", str(bad))
    assert run_here(capsys, "validate", scale_out, str(good), "--json") == (0, '{"valid":true,"violations":[]}\n', "")
    code, out, err = run_here(capsys, "validate", scale_out, str(bad), "--json")
    found = json.loads(out)
    assert (code, err, found["valid"]) == (1, "", False)
    assert set(found["violations"][0]) == {"rule", "task", "process_id", "message"}
    code, out, _ = run_here(capsys, "validate", scale_out, str(good), "--format", "table")
    assert (code, out) == (0, "keep: keeps every rule\n")
    code, out, _ = run_here(capsys, "validate", scale_out, str(bad), "--format", "table")
    assert code == 1
    assert out.startswith("cold: breaks R3 (active on the most caught-up) ×")
    assert run_process("validate", "-", str(good), stdin=Path(scale_out).read_text(encoding="utf-8")).returncode == 0
    assert run_process("validate", scale_out, "-", stdin=bad.read_text(encoding="utf-8")).returncode == 1


def test_explain_prices_each_limit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A client without any copy costs the state that other clients restore; a limit that always holds costs nothing."""
    state = generate("steady", 20, 4, seed=1)
    limits = [
        {"kind": "forbid", "name": "empty", "subtopologies": ["0"], "clients": [state.clients[0].process_id]},
        {"kind": "most_copies", "name": "wide", "most": 1000, "clients": [state.clients[1].process_id]},
    ]
    path = tmp_path / "limited.json"
    path.write_text(json.dumps({**json.loads(state.model_dump_json()), "options": {"limits": limits}}))
    code, out, _ = run_here(capsys, "explain", str(path), "--json")
    assert code == 0
    empty, wide = json.loads(out)["limit_prices"]
    assert (empty["limit"], wide["limit"]) == ("empty", "wide")
    assert empty["restored"] > 0
    assert (wide["restored"], wide["moves"]) == (0, 0)
    _, out, _ = run_here(capsys, "explain", str(path), "--format", "table")
    assert "price of limit empty: the target restores +" in out
    assert "price of limit wide: nothing" in out
