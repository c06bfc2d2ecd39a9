"""Releases in folders, and environments and applications that install optassign from such a folder only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "deploy" / "examples"
VERSION, NEXT = "0.1.0", "0.1.1"
_VERSIONED = (
    "pyproject.toml",
    "benchmarks/pyproject.toml",
    "java/pom.xml",
    *(
        f"java/{name}/pom.xml"
        for name in ("baselines", "broker", "client", "members", "planner", "plugin", "server", "testapp", "watch")
    ),
)
_PAGE = ROOT / "docs" / "get-started" / "install.md"
_ADOPT = ROOT / "docs" / "how-to" / "adopt.md"


def run(*command: str | Path, folder: Path) -> str:
    """Run a command to its end, and return its output. AssertionError with the output if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def copy_checkout(folder: Path) -> Path:
    """Copy the files of the checkout, without build outputs."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, run(*command, folder=ROOT).split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def build_release(folder: Path, version: str = VERSION) -> Path:
    """Build a release into `folder/release`, from a copy of the checkout with this version.

    The environment needs the packages that `make release` installs.
    """
    copy = copy_checkout(folder / "copy")
    for name in _VERSIONED:
        text = (copy / name).read_text(encoding="utf-8")
        assert VERSION in text, name
        (copy / name).write_text(
            text.replace(f'"{VERSION}"', f'"{version}"').replace(f">{VERSION}<", f">{version}<"), encoding="utf-8"
        )
    run(sys.executable, copy / ".ci" / "build_release.py", folder / "release", folder=copy)
    shutil.rmtree(copy)
    return folder / "release"


def install_service(release: Path, folder: Path) -> Path:
    """Install the wheel with service and inspection from the release folder, as documented; return the command."""
    run(sys.executable, "-m", "venv", folder, folder=release)
    pinned = ("--constraint", "constraints.txt", "--disable-pip-version-check", "--quiet")
    run(folder / "bin" / "pip", "install", "--find-links", ".", "optassign[service,inspect,plots]", *pinned, folder=release)
    return folder / "bin" / "optassign"


def read_repositories(release: Path) -> str:
    """Return the repository's lines of docs/get-started/install.md for this release folder."""
    (found,) = re.findall(r"<repositories>.*?</repositories>", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(found).replace("file:///FOLDER", release.as_uri())


def build_application(release: Path, version: str, folder: Path, local: Path) -> Path:
    """Build the plain example in its own folder with the plug-in from the release; return its folder `target`.

    `local`: Maven's local repository, without any part of optassign.
    """
    shutil.rmtree(local / "io" / "github" / "optassign", ignore_errors=True)
    shutil.copytree(EXAMPLES / "plain", folder, ignore=shutil.ignore_patterns("target"))
    pom = folder / "pom.xml"
    text = pom.read_text(encoding="utf-8").replace(f"<version>{VERSION}</version>", f"<version>{version}</version>")
    pom.write_text(text.replace("  <dependencies>", f"{read_repositories(release)}\n  <dependencies>", 1), encoding="utf-8")
    source = folder / "src" / "main" / "java" / "example" / "OrdersApplication.java"
    source.write_text(_take_the_line_from_the_file(source.read_text(encoding="utf-8")), encoding="utf-8")
    run("mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={local}", "package", folder=folder)
    assert [jar.name for jar in (folder / "target" / "lib").glob("optassign*")] == [f"optassign-streams-{version}.jar"]
    return folder / "target"


def _take_the_line_from_the_file(source: str) -> str:
    """Return the application with the changes of docs/how-to/adopt.md: a file names the assignor, and `check` runs only if it
    does."""
    (guarded,) = re.findall(r"```java\n(if .*?)```", _ADOPT.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for line in source.splitlines() if "TASK_ASSIGNOR_CLASS_CONFIG" not in line]
    return "\n".join(lines).replace("OptassignTaskAssignor.check(properties);", guarded) + "\n"
