"""A copy of the project for faults to be put into, and processes that run tests there."""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
"""The copy."""
_MOST_MEMORY = 4 << 30
_ALARMS = {signal.SIGALRM, signal.SIGPROF}
_PAGE = os.sysconf("SC_PAGE_SIZE")


def copy_project() -> str:
    """Copy the files of the project anew; return what tells these sources and tests from others."""
    shutil.rmtree(TREE, ignore_errors=True)
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    content = hashlib.sha256()
    for name in sorted(filter(None, listing.stdout.decode().split("\0"))):
        source, target = ROOT / name, TREE / name
        if not os.path.lexists(source):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        if name.startswith(("models", "optassign", "benchmarks", "tests")) and not name.startswith("tests/mutants"):
            content.update(name.encode() + (b"" if source.is_dir() else source.read_bytes()))
    for folder in ("models", "benchmarks", "optassign"):  # known by their hash: a fault may come and go within a second
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(TREE / folder, quiet=1, invalidation_mode=mode)
    return content.hexdigest()


def ask_pytest(arguments: Iterable[str], plugin: object) -> int:
    """Run pytest in this process; return its exit code."""
    options = ["-q", "-p", "no:cacheprovider", "-n", "0", "--tb=line", "--disable-warnings"]
    return int(pytest.main([*options, *arguments], plugins=[plugin]))


def run_apart(work: Callable[[], int], log: Path) -> tuple[str, int]:
    """Fork a process in the copy; return how it ended and its exit code: "exit", "time-out", "memory", "killed"."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            _settle_in(log)
            code = work()
        finally:
            os._exit(code)
    ended = "killed"
    while (done := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if _measure_memory(pid) > _MOST_MEMORY:
            ended = "memory"
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)  # what the tests left behind
    if os.WIFEXITED(done[1]):
        return "exit", os.WEXITSTATUS(done[1])
    return ("time-out" if os.WTERMSIG(done[1]) in _ALARMS else ended), 1


def _settle_in(log: Path) -> None:
    os.setsid()
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(TREE)
    places = [str(TREE), str(TREE / "models"), str(TREE / "benchmarks")]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)  # for processes that tests start
    os.environ.pop("CI", None)
    sys.path[:1] = places


def _measure_memory(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]) * _PAGE
    except (OSError, IndexError):  # it has just ended
        return 0
