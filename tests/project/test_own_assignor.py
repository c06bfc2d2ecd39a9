"""The assignor of one's own in docs/how-to/extend.md: its file and its commands, in an empty folder."""

import json
import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "extend.md"


def find_blocks(language: str) -> list[str]:
    """The code blocks of that language in the section."""
    text = PAGE.read_text(encoding="utf-8").partition("\n## An assignor of your own\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(folder: Path, *command: str) -> str:
    """What a command prints in that folder."""
    environment = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout


def test_the_page_can_be_followed(tmp_path: Path) -> None:
    (code,) = find_blocks("python")
    assert code.count("\n") <= 30
    (tmp_path / "my_assignors.py").write_text(code, encoding="utf-8")
    (console,) = find_blocks("console")
    commands = [shlex.split(line.removeprefix("$ ")) for line in console.splitlines()]
    assert [command[1] for command in commands] == ["generate", "compare", "explain"]
    run(tmp_path, *commands[0])
    compared, explained = (run(tmp_path, *command, "--json") for command in commands[1:])
    found = json.loads(compared)
    assert list(found["assignors"]) == ["previous", "cp-sat", "fewest-tasks"]
    assert "R3" in found["assignors"]["fewest-tasks"]["violations"], "shown, and no error: its TRAITS say so"
    assert json.loads(explained)["moves"]
