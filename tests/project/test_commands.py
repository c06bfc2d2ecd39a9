"""Tests that each command of README, get-started and how-to is run by a test, or listed in commands.toml with a reason."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from released import copy_checkout

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "get-started").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
LISTED: dict[str, Any] = tomllib.loads((ROOT / "tests" / "project" / "commands.toml").read_text(encoding="utf-8"))
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(
    r"(?:INFO|WARN|ERROR) |limit gives way|FOLDER/|\[Service\]|ExecStart=|(?:FROM|COPY) |#|\w+…|5pRw1…|\S+\.(?:xml|properties)$"
)
"""Lines of blocks that are not commands: output, files of other programs, parts of files."""
_EXTRAS = {
    "service": ["optassign", "serve", "--help"],
    "inspect": ["optassign", "inspect", "--bootstrap-server", "127.0.0.1:1", "--group", "orders"],
    "plots": ["optassign", "simulate", "third-instance", "--assignors", "greedy", "--picture", "picture.svg"],
}
"""Extra of users → a command that needs it."""
RECORDED = "orders/2026-11-21/093632.780-0"
"""The recording that the pages name."""


def list_commands(text: str) -> list[str]:
    """List the commands of a page in order, each in one line and without its comment."""
    found = []
    for block in _FENCE.finditer(text):
        lines = re.sub(r" *\\\n\s*", " ", block[3]).splitlines() if block[2] in ("", "bash", "console", "sh") else ()
        for line in lines:
            command = re.sub(r"\s\s+#.*$", "", line).strip()
            if command and not _SHOWN.match(command):
                found.append(command)
    return found


def list_documented() -> set[str]:
    return {command for page in PAGES for command in list_commands(page.read_text(encoding="utf-8"))}


def list_pages_with_fresh_commands() -> list[str]:
    texts = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    return [name for name, text in texts.items() if set(list_commands(text)) & set(LISTED["fresh"])]


def test_each_command_is_run_or_has_a_reason_why_not() -> None:
    listed = [
        *LISTED["fresh"],
        *(command for part in ("tested", "not_run") for each in LISTED[part].values() for command in each),
    ]
    assert sorted(set(listed)) == sorted(listed)
    assert set(listed) == list_documented()


def test_tests_that_run_commands_exist() -> None:
    assert [name for name in LISTED["tested"] if not (ROOT / name).is_file()] == []


def test_each_extra_of_users_is_tried() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras) - {"dev", "docs", "fuzz", "release"} == set(_EXTRAS)


def test_comments_and_output_are_no_commands() -> None:
    text = "```python\nf()\n```\n\n```\nmake a  # why\nINFO optassign: b\n```\n\n1. c\n\n"
    text += "    ```bash\n    d \\\n      --e\n    ```\n"
    assert list_commands(text) == ["make a", "d --e"]


@dataclass(frozen=True)
class FreshEnvironment:
    """A virtual environment outside the checkout."""

    folder: Path

    def install(self, *arguments: str | Path, folder: Path) -> None:
        pinned = ("--quiet", "--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt"))
        self.run([str(self.folder / "bin" / "pip"), "install", *pinned, *map(str, arguments)], folder)

    def run(self, command: str | list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command (bash runs a string), and return it ended. Raise AssertionError with its output if it fails."""
        done = self.try_out(command, folder, **more)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done

    def try_out(self, command: str | list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
        words = ["bash", "-c", command] if isinstance(command, str) else command
        return subprocess.run(words, cwd=folder, env=self.make_variables(more), capture_output=True, text=True, check=False)

    def make_variables(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")}
        return {**kept, "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}", **more}


def make_environment(folder: Path) -> FreshEnvironment:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return FreshEnvironment(folder)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout's files, so that builds leave nothing in the checkout."""
    return copy_checkout(tmp_path_factory.mktemp("sources") / "optassign")


@pytest.mark.long
@pytest.mark.parametrize("extra", _EXTRAS)
def test_an_extra_is_installed_from_a_checkout(extra: str, sources: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "venv")
    environment.install(f".[{extra}]", folder=sources)
    done = environment.try_out(_EXTRAS[extra], tmp_path)
    assert "is not installed" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2 if extra == "inspect" else 0), done.stderr  # finds no broker


@pytest.fixture(scope="module")
def fresh(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    """Return an environment with the wheels and all extras of users."""
    folder = tmp_path_factory.mktemp("fresh")
    dist = folder / "dist"
    for project in (sources, sources / "benchmarks"):
        build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(dist), str(project)]
        subprocess.run(build, check=True, capture_output=True)
    environment = make_environment(folder / "venv")
    environment.install("--find-links", dist, "optassign[service,inspect,plots]", "optassign-benchmarks[spark]", folder=folder)
    return environment


@contextmanager
def serve(environment: FreshEnvironment, folder: Path) -> Iterator[str]:
    """Run `optassign serve` as documented on a free port, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    command = ["optassign", "serve", "--recordings", "recordings", "--port", url.rpartition(":")[2]]
    log = folder / "service.log"
    variables = environment.make_variables({})
    path = str(environment.folder / "bin" / "optassign")
    with log.open("wb") as stream, subprocess.Popen([path, *command[1:]], cwd=folder, env=variables, stderr=stream) as service:
        try:
            deadline = time.monotonic() + 120
            while "worker_ready" not in log.read_text(encoding="utf-8"):
                assert service.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
                time.sleep(0.1)
            yield url
        finally:
            service.terminate()


@pytest.fixture(scope="module")
def served(fresh: FreshEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """Yield a folder with a recording of application `orders`, the recording's id, and the address of its service."""
    folder = tmp_path_factory.mktemp("served")
    snapshot = json.loads(fresh.run("optassign demo --snapshot", folder).stdout) | {"application": "orders"}
    (folder / "orders.json").write_text(json.dumps(snapshot), encoding="utf-8")
    with serve(fresh, folder) as url:
        request = urllib.request.Request(
            f"{url}/v1/assign", json.dumps(snapshot).encode(), {"Content-Type": "application/json", "Optassign-Protocol": "1"}
        )
        urllib.request.urlopen(request, timeout=60).read()
        deadline = time.monotonic() + 60
        while not (recorded := sorted((folder / "recordings" / "orders").rglob("*.json.gz"))):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        (file,) = recorded
        shutil.copy(file, folder / "orders.json.gz")
        yield folder, file.relative_to(folder / "recordings").as_posix().removesuffix(".json.gz"), url


@pytest.mark.long
@pytest.mark.parametrize("page", list_pages_with_fresh_commands())
def test_commands_of_a_page_run(page: str, fresh: FreshEnvironment, served: tuple[Path, str, str], tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = [command for command in list_commands(text) if command in LISTED["fresh"]]
    recorded, recording, url = served
    for name in ("orders.json", "orders.json.gz"):
        shutil.copy(recorded / name, tmp_path)
    shutil.copytree(recorded / "recordings", tmp_path / "recordings")
    shutil.copy(tmp_path / "orders.json", tmp_path / "snapshot.json")
    shutil.copy(
        ROOT / "optassign" / "simulation" / "timed" / "library" / "rolling-restart.toml", tmp_path / "my-application.toml"
    )
    shutil.copy(ROOT / "docs" / "how-to" / "my_assignors.py", tmp_path)
    places = {
        RECORDED: recording,
        "http://assign:8924": url,
        "--recordings DIR": "--recordings recordings",
        "replay DIR": "replay recordings",
        "status APP": "status orders",
        "SNAPSHOT": "snapshot.json",
        ".venv/bin/": "",
        "$ ": "",
        "/tmp/": f"{tmp_path}/",
    }
    for command in commands:
        for name, value in places.items():
            command = command.replace(name, value)
        fresh.run(command, tmp_path, OPTASSIGN_URL=url)
