"""Tests of output to terminals, files and devices in any locale; of progress; and of closed readers and interrupts.
They test `optassign.printable`."""

import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import SlowAssignor, leave_out_progress, run_here, run_in_terminal, run_process

from optassign.cli.show.progress import ProgressLine, RowProgress
from optassign.formats.json_input import read_assignment
from optassign.generating import generate


def test_a_terminal_gets_a_table_with_colours(snapshot: str) -> None:
    code, shown = run_in_terminal("assign", snapshot, "--assignor", "greedy")
    assert code == 0
    assert "share" in shown
    assert "\033[" in shown
    code, shown = run_in_terminal("assign", snapshot, "--assignor", "greedy", "--format", "json")
    assert json.loads(shown.rpartition("\033[K")[2])["assignor"] == "greedy"  # a busy machine also shows and erases progress


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
        code, _, err = run_here(capsys, *arguments)
    assert code == 2
    assert "No space left on device" in err
    assert target.read_text(encoding="utf-8") == "before"
    assert run_here(capsys, *arguments)[0] == 0
    assert read_assignment(target).assignor == "keep"
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.json", "link.json", "steady.json"]


def test_output_may_be_a_device(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    assert run_here(capsys, "assign", snapshot, "--assignor", "keep", "--output", "/dev/null") == (0, "", "")


def test_json_is_utf8_and_tables_survive_whatever_the_locale(tmp_path: Path) -> None:
    state = generate("steady", 5, 1).model_dump()
    state["clients"][0]["process_id"] = "café"
    path = tmp_path / "named.json"
    path.write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")
    for form in ("json", "table"):
        result = run_process("assign", str(path), "--assignor", "greedy", "--format", form, PYTHONIOENCODING="ascii")
        assert (result.returncode, result.stderr) == (0, "")
        assert ("café" in result.stdout) == (form == "json")


def test_names_cannot_change_what_a_terminal_shows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A name cannot end a line either, though some programs take U+2028 or U+0085 for line breaks."""
    text = generate("scale-out", 6, 3, 1, seed=1).model_dump_json()
    name = json.loads(text)["clients"][0]["process_id"]
    path = tmp_path / "named.json"
    path.write_text(text.replace(name, "a\\u2028b\\u202ec\\u0085d\\u001be"), encoding="utf-8")
    message = {}
    for command, more in {"assign": (), "compare": ("--assignors", "greedy"), "explain": (), "converge": ()}.items():
        code, out, err = run_here(capsys, command, str(path), "--format", "table", *more)
        assert code == 0, err
        assert all(line.isprintable() for line in f"{out}{err}".split("\n"))
        message[command] = out
    assert "a\\u2028b\\u202ec\\x85d\\x1be" in message["assign"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="as Linux has it")
@pytest.mark.parametrize(
    ("options", "to", "unbuffered"),
    [
        ("validate --help", "> /dev/full", ""),
        ("--help", ">&-", ""),
        ("--version", "> /dev/full", "1"),
        ("assign SNAPSHOT --format table", "> /dev/full", ""),
        ("assign SNAPSHOT --format table", ">&-", "1"),
    ],
)
def test_an_unwritable_output_is_an_error_of_one_line(snapshot: str, options: str, to: str, unbuffered: str) -> None:
    command = f"exec {sys.executable} -m optassign.cli {options.replace('SNAPSHOT', snapshot)} {to}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert ended.returncode == 1
    (line,) = leave_out_progress(ended.stderr).splitlines()
    assert line.startswith("optassign: error: standard output: found that it cannot be written")


@pytest.mark.parametrize(("file", "code"), [("SNAPSHOT", 0), ("nowhere.json", 2)])
def test_closed_standard_error_changes_neither_result_nor_exit_code(snapshot: str, file: str, code: int) -> None:
    command = f"exec {sys.executable} -m optassign.cli assign {file.replace('SNAPSHOT', snapshot)} --json 2>&-"
    ended = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, bool(ended.stdout)) == (code, code == 0)


# Progress, closed readers and interrupts


def test_progress_is_shown_on_terminals_only(
    capsys: pytest.CaptureFixture[str], snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlowAssignor, "wait", lambda: time.sleep(0.2), raising=False)
    monkeypatch.setattr("optassign.cli.show.progress.SILENT_START_S", 0.01)
    code, out, err = run_here(capsys, "assign", snapshot, "--assignor", "slow", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["assignor"] == "keep"


def test_progress_on_a_terminal_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("optassign.cli.show.progress.SILENT_START_S", 0.01)
    with ProgressLine("thinking") as progress:
        while "thinking" not in shown.getvalue():
            time.sleep(0.01)
        progress.doing = "still thinking"
        while "still thinking" not in shown.getvalue():
            time.sleep(0.01)
    assert shown.getvalue().endswith("\r\033[K")


def test_rows_are_counted_once_a_second_on_a_terminal_and_lines_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for shown in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", shown)
        clock = iter((0.0, 0.0, 0.5, 1.5, 1.9, 4.0))
        with RowProgress("benchmark", clock.__next__) as progress:
            for done in (0, 1, 5, 6, 100):
                progress.show(done, 100, "snapshots")
            progress.say("done")
        counted = re.findall(r"optassign benchmark: (\d+) of 100 snapshots \((.*?)\)", shown.getvalue())
        told = [("0", "0%, 0 s"), ("5", "5%, 3.3 a second, 2 s, about 28 s left"), ("100", "100%, 25.0 a second, 4 s")]
        assert counted == (told if isinstance(shown, Terminal) else [])
        assert "optassign benchmark: done\n" in shown.getvalue()


@pytest.mark.parametrize("words", [["anonymise"], ["assign", "--assignor", "greedy"], ["compare", "--assignors", "sticky"]])
def test_a_closed_reader_is_no_error(snapshot: str, words: list[str]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "optassign.cli", *words, snapshot]
    result = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    assert (result.returncode, leave_out_progress(result.stderr)) == (141, "")


def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    fifo = tmp_path / "never.json"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "optassign.cli", "anonymise", str(fifo)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with open(fifo, "wb"):  # returns once the command has opened the other side
        process.send_signal(signal.SIGINT)
    # The end of the input ends a read that began just after Python had looked for signals.
    out, err = process.communicate()
    assert (process.returncode, out, leave_out_progress(err)) == (130, "", "")
