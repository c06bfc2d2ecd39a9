"""Tests that docs/how-to/my_assignors.py is on the page of the instances, and that the commands of the pages run with it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
FILE = HOW_TO / "my_assignors.py"


def find_block(page: str, language: str) -> str:
    """Return the first code block of the language on a page."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def run(folder: Path, *command: str) -> str:
    """Run a command in the folder and return its output; its exit code is 0, or 1 if a target is refused."""
    environment = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode in ((0, 1) if "instances" in command else (0,)), f"{command}: {result.stderr}"
    return result.stdout


def test_the_page_has_the_file() -> None:
    assert find_block("instances.md", "python") == FILE.read_text(encoding="utf-8")


def test_the_first_model_is_scored_and_restores_the_least(tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path)
    copied, scored = map(shlex.split, find_block("instances.md", "").splitlines())
    assert copied == ["cp", "docs/how-to/my_assignors.py", "."]
    tiny = [("tiny" if word == "small" else word) for word in scored]
    own = [score for score in json.loads(run(tmp_path, *tiny, "--json")) if score["assignor"] == "first-model"]
    counts = [score for score in own if score["instance"].startswith("counts-")]
    assert len(counts) == 12
    assert {score["gap"]["goal"] for score in counts} & {"imbalance", "restore_work"} == set()
    assert all(score["refused"] == "" for score in own)


def test_the_commands_of_an_assignor_of_ones_own_run(tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path)
    commands = [shlex.split(line.removeprefix("$ ")) for line in find_block("extend.md", "console").splitlines()]
    assert [command[1] for command in commands] == ["generate", "compare", "explain"]
    run(tmp_path, *commands[0])
    compared, explained = (run(tmp_path, *command, "--json") for command in commands[1:])
    found = json.loads(compared)
    assert list(found["assignors"]) == ["previous", "cp-sat", "first-model"]
    assert "R3" in found["assignors"]["first-model"]["violations"], "shown, and no error: its TRAITS say so"
    assert json.loads(explained)["moves"]
