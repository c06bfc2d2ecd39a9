"""Tests of the texts in tables: clients' names, the outlook of the plan, and remarks on odd input."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run_here

from optassign.generating import generate

COMMANDS = {
    "assign": ["--assignor", "cp-sat"],
    "explain": ["--assignor", "cp-sat"],
    "compare": ["--assignors", "greedy"],
    "converge": ["--assignor", "greedy"],
}


@pytest.fixture
def data() -> dict[str, Any]:
    """Return a snapshot of 20 tasks to which the last client has just joined; all clients have names, hosts and tags."""
    snapshot: dict[str, Any] = json.loads(generate("scale-out", 20, 4, 1, warmups=1, seed=1).model_dump_json())
    for number, client in enumerate(snapshot["clients"]):
        client |= {"client_id": f"orders-{number}", "host": f"box-{number}:8080", "tags": {"zone": f"eu-{number}"}}
    return snapshot


def show(command: str, data: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    path = folder / "snapshot.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    code, out, err = run_here(capsys, command, str(path), *COMMANDS[command], *more, "--format", "table")
    assert (code, err) == (0, "")
    return out


@pytest.mark.parametrize("width", ["80", "200"])
def test_tables_show_names_of_clients(
    width: str, data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    out = show("assign", data, tmp_path, capsys)
    for number, client in enumerate(data["clients"]):
        shown = client["process_id"] if width == "200" else client["process_id"][:8]
        assert any(line.startswith(f"{shown} (orders-{number})") for line in out.splitlines()), shown
    assert f"requested by {data['clients'][0]['process_id']} (orders-0)" in " ".join(out.split())


@pytest.mark.parametrize(("width", "length"), [("80", 9), ("100", 11), ("130", 28)])
def test_a_long_name_is_cut_at_its_beginning(
    width: str,
    length: int,
    data: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of a long name stays, because instances differ there."""
    monkeypatch.setenv("COLUMNS", width)
    for number, client in enumerate(data["clients"]):
        client["client_id"] = f"a-very-long-name-of-an-application-of-some-team-{number}"
    out = show("assign", data, tmp_path, capsys)
    for client in data["clients"]:
        assert f"{client['process_id'][:8]} (…{client['client_id'][1 - length :]}) " in out, "in one line"
    assert "a-very-long-name" not in out.partition("follow-up")[0]


@pytest.mark.parametrize("text", ["orders-3", "box-3", "box-3:8080", "zone=eu-3", "eu-3"])
def test_explain_takes_any_name_of_a_client(
    text: str, data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = " ".join(show("explain", data, tmp_path, capsys, "--client", text).split())
    assert out.startswith(
        f"client {data['clients'][3]['process_id']} (client.id orders-3, host box-3:8080, zone=eu-3, 1 thread)"
    )


def test_an_ambiguous_name_is_an_error(data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    code, out, err = run_here(capsys, "explain", str(path), "--client", "orders-")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--client: found 'orders-', which 4 clients go by; allowed: one of " in err
    assert "(orders-0)" in err
    code, _, err = run_here(capsys, "explain", str(path), "--client", "nobody")
    assert code == 2
    assert f"such as {data['clients'][0]['process_id']} (orders-0), " in err


@pytest.mark.parametrize("command", ["assign", "explain"])
def test_tables_show_the_outlook_of_the_plan(
    command: str, data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is one slot, so one copy warms up in ten minutes."""
    out = " ".join(show(command, data, tmp_path, capsys).split())
    copies = int(out.partition(" copies to warm up, 1 at a time (max.warmup.replicas)")[0].rpartition(" ")[2])
    assert copies > 3
    assert f"about {copies} follow-ups, {copies * 10} minutes" in out
    assert "every 10 minutes (probing.rebalance.interval.ms)" in out


def test_converge_says_how_long_it_took(data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = show("converge", data, tmp_path, capsys)
    rebalances = int(out.partition(" rebalances")[0].rpartition(" ")[2])
    minutes = (rebalances - 1) * 10
    assert rebalances > 5
    assert f"{rebalances - 1} follow-ups, at most {minutes} minutes" in out
    assert "with max.warmup.replicas 1, probing.rebalance.interval.ms 600000" in " ".join(out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_remarks_on_odd_input_name_clients(
    command: str, data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot has an unknown previous task, and a task that two clients claim."""
    monkeypatch.setenv("COLUMNS", "300")
    first, second = data["clients"][1:3]
    twice = first["previous_active"][0]
    second["previous_active"].append(twice)
    second["previous_standby"] = [task for task in second["previous_standby"] if task != twice] + ["77_7"]
    out = show(command, data, tmp_path, capsys)
    named = [f"{client['process_id']} (orders-{number})" for number, client in enumerate((first, second), start=1)]
    out = " ".join(out.split())  # remarks wrap at 120 characters
    assert f"unknown task 77_7 in previous_standby of {named[1]}" in out
    assert f"2 clients claim task {twice} as active: {named[0]}, {named[1]}; {named[0]} is believed" in out
    assert out.count("77_7") == 1


def test_compare_has_odd_input_in_json_too(data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data["clients"][0]["previous_active"].append("77_7")
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    _, out, _ = run_here(capsys, "compare", str(path), "--assignors", "greedy", "--json")
    assert any("77_7" in remark for remark in json.loads(out)["remarks"])


def test_options_do_not_replace_options_that_have_changed_tasks(
    data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The weights of the snapshot would stay, though the file has none."""
    data["options"] = {"task_weights": {"0": 5.0}}
    path, options = tmp_path / "snapshot.json", tmp_path / "options.toml"
    path.write_text(json.dumps(data), encoding="utf-8")
    options.write_text('preset = "weighted"', encoding="utf-8")
    code, _, err = run_here(capsys, "assign", str(path), "--options", str(options))
    assert (code, err.count("\n")) == (2, 1)
    assert "--options: task_weights: found a change of {'0': 5.0}" in err


@pytest.mark.parametrize(("options", "noted"), [("[weights]\ninstance = 3.0", True), ("balance_factor = 2", False)])
def test_weights_under_ordered_are_noted_in_the_table(
    options: str, noted: bool, data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "options.toml").write_text(options, encoding="utf-8")
    out = " ".join(show("assign", data, tmp_path, capsys, "--options", str(tmp_path / "options.toml")).split())
    assert ("note: weights not used: preset lexicographic has none, preset weighted has" in out) is noted
