"""Tests of `generate` and `anonymise`, the commands that write snapshots.
They test `optassign.cli.commands.answers.generate` and `optassign.cli.commands.answers.anonymise`."""

from pathlib import Path

import pytest
from command_line import run_here

from optassign.formats.json_input import read_state
from optassign.generating import generate


def test_generate_writes_what_the_function_makes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "generated.json"
    options = "--shape partial --tasks 30 --clients 5 --standbys 2 --warmups 3 --threads 1-3 --seed 7 --stateless 0.1"
    options += " --unlogged 0.1 --subtopologies 6 --tiny 0.2 --unknown 0.1 --capacity 0.5-2"
    options += " --weights 0.3 --states 0.4 --racks 2 --clusters 2"
    assert run_here(capsys, "generate", *options.split(), "--memory", "--dense", "--consumers", "--output", str(path)) == (
        0, "", "",
    )  # fmt: skip
    assert read_state(path) == generate(
        "partial", 30, 5, 2, 3, (1, 3), 7, stateless=0.1, unlogged=0.1, subtopologies=6, tiny=0.2, unknown=0.1,
        capacity=(0.5, 2.0), weights=0.3, states=0.4, racks=2, clusters=2, memory=True, dense=True, consumers=True,
    )  # fmt: skip
    code, out, _ = run_here(capsys, "generate")
    assert code == 0
    assert read_state(out.encode()) == generate("steady", 100, 10)


def test_anonymise_leaves_no_names(capsys: pytest.CaptureFixture[str], snapshot: str) -> None:
    code, out, err = run_here(capsys, "anonymise", snapshot)
    assert (code, err) == (0, "")
    state = read_state(out.encode())
    assert len(state.tasks) == 20
    assert not any(client.process_id in out for client in read_state(snapshot).clients)
