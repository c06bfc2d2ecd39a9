"""A copy of the project in which mutants replace source lines, and processes that run tests there."""

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
"""The folder of the copy."""
_MOST_MEMORY = 4 << 30
_ALARMS = {signal.SIGALRM, signal.SIGPROF}
_PAGE = os.sysconf("SC_PAGE_SIZE")


def copy_project() -> str:
    """Replace the copy by the project's present files; return a hash of the sources and tests."""
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
    for folder in ("models", "benchmarks", "optassign"):  # by hash: a mutant may exist for less than a time stamp's unit
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(TREE / folder, quiet=1, invalidation_mode=mode)
    return content.hexdigest()


def run_pytest(arguments: Iterable[str], plugin: object) -> int:
    """Run pytest in this process; return its exit code."""
    options = ["-q", "-p", "no:cacheprovider", "-n", "0", "--tb=line", "--disable-warnings"]
    return int(pytest.main([*options, *arguments], plugins=[plugin]))


def run_in_fork(work: Callable[[], int], log: Path) -> tuple[str, int]:
    """Run `work` in a forked process in the copy; return its end ("exit", "time-out", "memory" or "killed") and exit code."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            _enter_copy(log)
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
        os.killpg(pid, signal.SIGKILL)  # processes that the tests left running
    if os.WIFEXITED(done[1]):
        return "exit", os.WEXITSTATUS(done[1])
    return ("time-out" if os.WTERMSIG(done[1]) in _ALARMS else ended), 1


def _enter_copy(log: Path) -> None:
    """Move this process into the copy, its output into the log, and its imports to the copy's packages."""
    os.setsid()
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(TREE)
    places = [str(TREE), str(TREE / "models"), str(TREE / "benchmarks")]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)  # for the processes that tests start
    os.environ.pop("CI", None)
    sys.path[:1] = places


def _measure_memory(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]) * _PAGE
    except (OSError, IndexError):  # the process has just ended
        return 0
