"""The command line: what it prints where, its exit codes, and one clear line for whatever is wrong."""

import io
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from optassign import assignor as assignors
from optassign.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.cli import main
from optassign.cli.arguments import SHAPES
from optassign.cli.progress import Progress
from optassign.configs import AssignmentConfigs
from optassign.generate import SHAPES as GENERATED
from optassign.generate import generate
from optassign.reading import read_assignment, read_state
from optassign.state import ApplicationState
from optassign.utilities import AssignmentError, identity_assignment
from optassign.validation import validate


class Keep:
    """Everybody keeps what it lists; a little odd in the ways below, if asked for."""

    def __init__(self, time_limit: float = 10.0) -> None:
        self.time_limit = time_limit

    def configure(self, configs: AssignmentConfigs) -> None:
        pass

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(assignor="keep", clients=tuple(identity_assignment(state).values()))

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        pass


class Twice(Keep):
    """Every task active on every client, which Kafka refuses."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        all_tasks = tuple(state.all_tasks)
        clients = [KafkaStreamsAssignment(process_id=c.process_id, active=all_tasks) for c in state.clients]
        return TaskAssignment(assignor="twice", clients=tuple(clients))


class Cold(Keep):
    """Everything on the last client, where nothing is caught up: breaks R3."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        last = state.clients[-1].process_id
        return TaskAssignment(
            assignor="cold",
            clients=tuple(
                KafkaStreamsAssignment(process_id=c.process_id, active=tuple(state.all_tasks) if c.process_id == last else ())
                for c in state.clients
            ),
        )


class Slow(Keep):
    def assign(self, state: ApplicationState) -> TaskAssignment:
        time.sleep(1.3)
        return super().assign(state)


@pytest.fixture(autouse=True)
def known_assignors() -> Iterator[None]:
    before = dict(assignors._factories)
    for name, factory in {"keep": Keep, "twice": Twice, "cold": Cold, "slow": Slow}.items():
        assignors.register(name, factory, replace=True)
    yield
    assignors._factories.clear()
    assignors._factories.update(before)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """A steady group, in a file."""
    return written(tmp_path / "steady.json", generate("steady", 20, 4, seed=1))


@pytest.fixture
def scale_out(tmp_path: Path) -> str:
    return written(tmp_path / "scale-out.json", generate("scale-out", 20, 4, seed=1))


def written(path: Path, state: ApplicationState) -> str:
    path.write_text(state.model_dump_json(), encoding="utf-8")
    return str(path)


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The real thing, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "optassign.cli", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def given(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of a command in this process."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


# Help


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = given(capsys, "--help")
    assert (code, err) == (0, "")
    commands = ("assign", "compare", "converge", "explain", "validate", "generate", "anonymise", "serve", "record")
    for command in (*commands, "benchmark", "replay"):
        assert f"    {command} " in out
    assert "simulate" not in out  # nothing that does not work yet


@pytest.mark.parametrize("command", ["assign", "compare", "converge", "explain", "validate", "generate", "anonymise"])
def test_each_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, err = given(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: optassign {command} ")


def test_help_and_bad_usage_load_nothing_heavy() -> None:
    script = "import sys\nfrom optassign.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
    script += "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    for arguments in (["--help"], ["assign", "--help"], ["frobnicate"], ["assign"]):
        result = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
        loaded = set(result.stderr.rpartition("LOADED")[2].split())
        assert not loaded & {"pydantic", "numpy", "ortools", "rich", "pandas"}, arguments


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = given(capsys, "--version")
    assert code == 0
    assert out.startswith("optassign ")


def test_shapes_are_those_that_can_be_generated() -> None:
    assert SHAPES == GENERATED


# What is wrong is said in one line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["assign"], "the following arguments are required: SNAPSHOT"),
        (["assign", "S", "--frobnicate"], "unrecognized arguments: --frobnicate"),
        (["assign", "S", "--assign", "cp-sat"], "unrecognized arguments: --assign cp-sat"),
        (["assign", "S", "--time-limit", "-1"], "found -1; allowed: seconds, 0 or more"),
        (["assign", "S", "--time-limit", "nan"], "found nan; allowed: seconds, 0 or more"),
        (["assign", "S", "--time-limit", "inf"], "found inf; allowed: seconds, 0 or more"),
        (["assign", "S", "--time-limit", "soon"], "invalid number value: 'soon'"),
        (["assign", "S", "--format", "xml"], "invalid choice: 'xml'"),
        (["assign", "S", "--assignor", "best"], "found 'best'; allowed: cold, consumer-sticky, cp-sat, gap-sticky"),
        (["compare", "S", "--assignors", "keep,best"], "--assignors: found 'best'; allowed: cold, consumer-sticky, cp-sat"),
        (["compare", "S", "--assignors", ""], "--assignors: found ''; allowed: cold, consumer-sticky, cp-sat"),
        (["converge", "S", "--max-rebalances", "0"], "found 0; allowed: 1 or more"),
        (["converge", "S", "--max-rebalances", "x"], "invalid integer value: 'x'"),
        (["converge", "S", "--assignor", "best"], "found 'best'; allowed: cold, consumer-sticky, cp-sat"),
        (["explain", "S", "--assignor", "best"], "found 'best'; allowed: cold, consumer-sticky, cp-sat"),
        (["explain", "S", "--task", "9_9"], "--task: found 9_9; allowed: a task of the snapshot, such as 0_0, 0_1, 0_2"),
        (["explain", "S", "--client", "nobody"], "--client: found 'nobody'; allowed: a client of the snapshot, such as "),
        (["explain", "S", "--client", ""], "--client: found ''; allowed: a client of the snapshot, such as "),
        (["validate", "S"], "the following arguments are required: ASSIGNMENT"),
        (["validate", "-", "-"], "found - for both SNAPSHOT and ASSIGNMENT"),
        (["explain", "-", "--assignment", "-"], "found - for both SNAPSHOT and ASSIGNMENT"),
        (["validate", "S", "S"], "found"),
        (["assign", "no/such/file"], "no/such/file: found no such file; allowed: a file with JSON"),
        (["assign", "."], ".: found a folder"),
        (["assign", "S", "--assignor", "keep", "--output", "no/such/folder/a.json"], "found that it cannot be written"),
        (["assign", "S", "--assignor", "keep", "--output", "."], "found that it cannot be written"),
        (["generate", "--shape", "odd"], "invalid choice: 'odd'"),
        (["generate", "--tasks", "-1"], "found -1; allowed: 0 or more"),
        (["generate", "--clients", "0"], "found 0; allowed: 1 or more"),
        (["generate", "--threads", "0"], "threads: found 0"),
        (["generate", "--threads", "3-1"], "threads: found (3, 1)"),
        (["generate", "--threads", "many"], "invalid integer or N-M value: 'many'"),
        (["generate", "--stateless", "2"], "stateless: found 2.0; allowed: 0 to 1"),
        (["generate", "--subtopologies", "1"], "subtopologies: found 1"),
        (["anonymise"], "the following arguments are required: SNAPSHOT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage(
    capsys: pytest.CaptureFixture[str], snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code, out, err = given(capsys, *(snapshot if argument == "S" else argument for argument in arguments))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1, err
    assert err.startswith("optassign")
    assert said in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steady.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is empty"),
        ("{", "it is cut short"),
        ("[]", "found an empty list"),
        ('{"format": 2}', "format: found 2; allowed: 1"),
        ('{"format": 1, "configs": {}, "tasks": [], "clients": []}', "clients: found an empty list"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    for command in ("assign", "compare", "converge", "explain", "anonymise"):
        code, out, err = given(capsys, command, str(path))
        assert (code, out) == (2, ""), command
        assert err.startswith(f"optassign {command}: error: {path}")
        assert err.count("\n") == 1
        assert said in err


# assign


def test_assign_prints_json_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = given(capsys, "assign", snapshot, "--assignor", "keep")
    assert (code, err) == (0, "")
    assert out.endswith("}\n")
    answer = TaskAssignment.model_validate_json(out)
    assert validate(read_state(snapshot), answer) == []


def test_assign_reads_standard_input_and_writes_files(snapshot: str, tmp_path: Path) -> None:
    target = tmp_path / "answer.json"
    text = Path(snapshot).read_text(encoding="utf-8")
    result = run("assign", "-", "--assignor", "greedy", "--output", str(target), stdin=text)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert validate(read_state(snapshot), read_assignment(target)) == []
    printed = run("assign", "-", "--assignor", "greedy", "--output", "-", stdin=text)
    assert TaskAssignment.model_validate_json(printed.stdout).without_times() == read_assignment(target).without_times()


@pytest.mark.parametrize("assignor", ["greedy", "cp-sat"])
def test_assign_answers_with_each_assignor(capsys: pytest.CaptureFixture[str], scale_out: str, assignor: str) -> None:
    code, out, err = given(capsys, "assign", scale_out, "--assignor", assignor, "--time-limit", "5")
    assert (code, err) == (0, "")
    answer = TaskAssignment.model_validate_json(out)
    assert answer.assignor == assignor
    assert validate(read_state(scale_out), answer) == []


def test_assign_answers_without_time(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, _ = given(capsys, "assign", scale_out, "--time-limit", "0")
    assert code == 0
    assert validate(read_state(scale_out), TaskAssignment.model_validate_json(out)) == []


def test_an_answer_that_kafka_would_refuse_is_none(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = given(capsys, "assign", snapshot, "--assignor", "twice")
    assert (code, out) == (1, "")
    assert err == (
        "optassign assign: error: assignor 'twice' gave an answer that Kafka would refuse:"
        " ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES\n"
    )


def test_a_table_is_for_people(capsys: pytest.CaptureFixture[str], scale_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    code, out, err = given(capsys, "assign", scale_out, "--assignor", "greedy", "--format", "table")
    assert (code, err) == (0, "")
    state = read_state(scale_out)
    for client in state.clients:
        assert client.process_id in out
    for word in ("threads", "active", "window", "standby", "warm-ups", "goal", "bound", "proven", "follow-up", "→"):
        assert word in out
    assert "\033" not in out  # no colours where there is no terminal
    assert max(len(line) for line in out.splitlines()) <= 120


def test_a_narrow_table_still_says_who_gets_what(
    capsys: pytest.CaptureFixture[str], scale_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    _, out, _ = given(capsys, "assign", scale_out, "--assignor", "greedy", "--format", "table")
    table = out[: out.index("offsets to restore now")].splitlines()
    assert max(len(line) for line in table) <= 72
    for client in read_state(scale_out).clients:
        assert client.process_id[:8] in out


def test_a_large_group_is_cut_to_what_changes_most(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path / "large.json", generate("steady", 200, 80))
    _, out, _ = given(capsys, "assign", path, "--assignor", "keep", "--format", "table")
    assert "and 30 clients more, with less change" in out


def test_what_is_wrong_is_marked_without_colours(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    _, out, _ = given(capsys, "assign", scale_out, "--assignor", "cold", "--format", "table")
    assert "breaks R3" in out
    assert "not balanced" in out
    assert "→ 20!" in out


def in_a_terminal(*arguments: str) -> tuple[int, str]:
    """Exit code and what a terminal shows, standard error included."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "optassign.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "110"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(), shown.decode("utf-8")


def test_a_terminal_gets_a_table_with_colours(snapshot: str) -> None:
    code, shown = in_a_terminal("assign", snapshot, "--assignor", "greedy")
    assert code == 0
    assert "window" in shown
    assert "\033[" in shown
    code, shown = in_a_terminal("assign", snapshot, "--assignor", "greedy", "--format", "json")
    assert json.loads(shown)["assignor"] == "greedy"


def test_output_is_written_wholly_or_not_at_all(
    capsys: pytest.CaptureFixture[str], snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, link = tmp_path / "answer.json", tmp_path / "link.json"
    target.write_text("before", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    arguments = ("assign", snapshot, "--assignor", "keep", "--output", str(link))

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        code, _, err = given(capsys, *arguments)
    assert code == 2
    assert "No space left on device" in err
    assert target.read_text(encoding="utf-8") == "before"
    assert given(capsys, *arguments)[0] == 0
    assert read_assignment(target).assignor == "keep"
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.json", "link.json", "steady.json"]


def test_output_may_be_a_device(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    assert given(capsys, "assign", snapshot, "--assignor", "keep", "--output", "/dev/null") == (0, "", "")


def test_json_is_utf8_and_tables_survive_whatever_the_locale(tmp_path: Path) -> None:
    state = generate("steady", 5, 1).model_dump()
    state["clients"][0]["process_id"] = "café"
    path = tmp_path / "named.json"
    path.write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")
    for form in ("json", "table"):
        result = run("assign", str(path), "--assignor", "greedy", "--format", form, PYTHONIOENCODING="ascii")
        assert (result.returncode, result.stderr) == (0, "")
        assert ("café" in result.stdout) == (form == "json")


# compare


def test_compare_shows_all_side_by_side(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, err = given(capsys, "compare", scale_out, "--assignors", "greedy,cp-sat", "--format", "table")
    assert (code, err) == (0, "")
    head = out.splitlines()[0].split()
    assert head == ["previous", "greedy", "cp-sat"]
    for row in ("rules broken", "excess: active tasks", "active tasks moved", "÷ proven minimum", "follow-up", "seconds"):
        assert row in out


def test_compare_as_json(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, _ = given(capsys, "compare", scale_out, "--assignors", "greedy, cp-sat,greedy")
    found = json.loads(out)
    assert code == 0
    assert list(found["assignors"]) == ["previous", "greedy", "cp-sat"]
    assert found["assignors"]["previous"]["seconds"] is None
    assert found["assignors"]["cp-sat"]["violations"] == {}
    assert found["restore_work_bound_by"] in ("greedy", "cp-sat")
    assert found["assignors"]["cp-sat"]["planned_work"] >= found["restore_work_bound"]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("keep", 0, "none"), ("cold", 1, "R3"), ("twice", 1, "twice has no answer")],
)
def test_compare_tells_who_broke_a_rule(
    capsys: pytest.CaptureFixture[str], scale_out: str, name: str, code: int, said: str
) -> None:
    found, out, err = given(capsys, "compare", scale_out, "--assignors", name, "--format", "table")
    assert (found, err) == (code, "")
    assert said in out


# converge


def test_converge_plays_until_the_group_rests(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, err = given(capsys, "converge", scale_out, "--assignor", "greedy")
    found = json.loads(out)
    assert (code, err, found["stable"]) == (0, "", True)
    assert len(found["history"]) == found["rebalances"]
    code, out, _ = given(capsys, "converge", scale_out, "--assignor", "greedy", "--keep-state", "--format", "table")
    assert code == 0
    assert "settled · rests" in out
    assert "offsets restored" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--assignor", "cold"), "R3"), (("--assignor", "greedy", "--max-rebalances", "1"), "did not settle!")],
)
def test_converge_tells_what_did_not_settle_or_broke_a_rule(
    capsys: pytest.CaptureFixture[str], scale_out: str, arguments: tuple[str, ...], said: str
) -> None:
    code, out, _ = given(capsys, "converge", scale_out, *arguments, "--format", "table")
    assert code == 1
    assert said in out


# explain


def test_explain_tells_of_all_of_tasks_and_of_clients(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    state = read_state(scale_out)
    task, client = state.tasks[0].id, state.clients[0].process_id
    common = ("explain", scale_out, "--assignor", "greedy", "--format", "table")
    code, out, err = given(capsys, *common)
    assert (code, err) == (0, "")
    assert "active tasks: " in out
    assert "waits for" in out
    _, out, _ = given(capsys, *common, "--task", task, "--client", client[:8])
    assert f"task {task} (" in out
    assert f"client {client} (" in out
    _, out, _ = given(capsys, *common[:-2], "--task", task, "--task", "0_1", "--client", client)
    found = json.loads(out)
    assert [e["task"] for e in found["tasks"]] == [task, "0_1"]
    assert [e["process_id"] for e in found["clients"]] == [client]
    _, out, _ = given(capsys, *common[:-2])
    assert set(json.loads(out)["waiting"][0]) == {"task", "process_id", "role", "lag", "slot"}


def test_explain_takes_an_answer(capsys: pytest.CaptureFixture[str], scale_out: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    given(capsys, "assign", scale_out, "--assignor", "keep", "--output", str(path))
    code, out, _ = given(capsys, "explain", scale_out, "--assignment", str(path), "--format", "table")
    assert code == 0
    assert "active tasks: 0 move, 20 stay, 0 had no client" in out


def test_a_client_may_be_named_by_its_beginning_if_that_is_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    state = generate("steady", 4, 3).model_dump()
    for client, name in zip(state["clients"], ("ab", "abc", "b"), strict=True):
        client["process_id"] = name
    path = tmp_path / "short.json"
    path.write_text(json.dumps(state), encoding="utf-8")
    common = ("explain", str(path), "--assignor", "keep", "--format", "table", "--client")
    assert "client ab (" in given(capsys, *common, "ab")[1]
    code, _, err = given(capsys, *common, "a")
    assert code == 2
    assert "found 'a'; allowed: one of ab, abc" in err


# validate


def test_validate_tells_what_is_broken(capsys: pytest.CaptureFixture[str], scale_out: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    given(capsys, "assign", scale_out, "--assignor", "keep", "--output", str(good))
    given(capsys, "assign", scale_out, "--assignor", "cold", "--output", str(bad))
    assert given(capsys, "validate", scale_out, str(good)) == (0, '{"valid":true,"violations":[]}\n', "")
    code, out, err = given(capsys, "validate", scale_out, str(bad))
    found = json.loads(out)
    assert (code, err, found["valid"]) == (1, "", False)
    assert set(found["violations"][0]) == {"rule", "task", "process_id", "message"}
    code, out, _ = given(capsys, "validate", scale_out, str(good), "--format", "table")
    assert (code, out) == (0, "keep: keeps every rule\n")
    code, out, _ = given(capsys, "validate", scale_out, str(bad), "--format", "table")
    assert code == 1
    assert out.startswith("cold: breaks R3 ×")
    assert run("validate", "-", str(good), stdin=Path(scale_out).read_text(encoding="utf-8")).returncode == 0
    assert run("validate", scale_out, "-", stdin=bad.read_text(encoding="utf-8")).returncode == 1


# generate, anonymise


def test_generate_writes_what_the_function_makes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "generated.json"
    options = "--shape partial --tasks 30 --clients 5 --standbys 2 --warmups 3 --threads 1-3 --seed 7 --stateless 0.1"
    options += " --unlogged 0.1 --subtopologies 6 --tiny 0.2 --unknown 0.1 --capacity 0.5-2 --weights 0.3 --racks 2"
    assert given(capsys, "generate", *options.split(), "--memory", "--dense", "--consumers", "--output", str(path)) == (
        0, "", "",
    )  # fmt: skip
    assert read_state(path) == generate(
        "partial", 30, 5, 2, 3, (1, 3), 7, stateless=0.1, unlogged=0.1, subtopologies=6, tiny=0.2, unknown=0.1,
        capacity=(0.5, 2.0), weights=0.3, racks=2, memory=True, dense=True, consumers=True,
    )  # fmt: skip
    code, out, _ = given(capsys, "generate")
    assert code == 0
    assert read_state(out.encode()) == generate("steady", 100, 10)


def test_anonymise_leaves_no_names(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = given(capsys, "anonymise", snapshot)
    assert (code, err) == (0, "")
    state = read_state(out.encode())
    assert len(state.tasks) == 20
    assert not any(client.process_id in out for client in read_state(snapshot).clients)


# Progress and the ends that are nobody's fault


def test_what_takes_long_says_so_on_standard_error(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = given(capsys, "assign", snapshot, "--assignor", "slow")
    assert code == 0
    assert json.loads(out)["assignor"] == "keep"
    assert err == "optassign: asking slow: 20 tasks on 4 clients (1 s)\n"


def test_progress_on_a_terminal_is_wiped_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("optassign.cli.progress._PATIENCE", 0.01)
    with Progress("thinking") as progress:
        while "thinking" not in shown.getvalue():
            time.sleep(0.01)
        progress.now = "still thinking"
        while "still thinking" not in shown.getvalue():
            time.sleep(0.01)
    assert shown.getvalue().endswith("\r\033[K")


def test_a_reader_that_has_gone_is_no_error(snapshot: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "optassign.cli", "anonymise", snapshot]
    result = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (result.returncode, result.stderr) == (141, b"")


def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    fifo = tmp_path / "never.json"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-m", "optassign.cli", "anonymise", str(fifo)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with open(fifo, "wb"):  # opens once the other side does: the command is running and waits for more
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
