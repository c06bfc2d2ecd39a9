"""Tests that rows name their origin, that a folder has one driver, and that commits are mixed only on request."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import run_here
from spark_cluster import list_master_options, read_rows

from optassign_benchmarks.pedigree import read_commit
from optassign_benchmarks.spark.presets import Sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TINY = Sweep(name="tiny", shapes=("scale-out",), sizes=((12, 3),), assignors=("greedy", "sticky"), converge_up_to=0)


def start_sweep(spark: "SparkSession", folder: Path, commit: str) -> str:
    """Solve both rows of a sweep as begun by this commit; return the run's id."""
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.storage import Storage
    from optassign_benchmarks.spark.sweep import run_sweep

    storage = Storage(spark, str(folder))
    run = Run("sweep", "tiny", ("greedy", "sticky"), TINY.limits.limits(), TINY, commit=commit)
    run.save(storage)
    run_sweep(spark, storage, run)
    return run.id


def test_each_row_names_its_origin(spark: "SparkSession", tmp_path: Path) -> None:
    start_sweep(spark, tmp_path, read_commit())
    rows = read_rows(tmp_path, "results")
    assert len(rows) == 2
    for row in rows:
        assert row["commit"] == read_commit()
        assert row["python"] == ".".join(map(str, sys.version_info[:3]))
        assert row["spark"].startswith("4.")
        assert "core" in row["processor"]
        assert row["started"].endswith("+00:00")
        assert 10 < row["peak_memory"] < 4096
        assert row["solver"].startswith("ortools ")


def test_a_commit_with_changes_says_so(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c", *words], check=True)

    git("init", "-q")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("A = 1\n")
    git("add", ".")
    git("commit", "-qm", "first")
    clean = read_commit.__wrapped__(package)
    (package / "__init__.py").write_text("A = 2\n")
    dirty = read_commit.__wrapped__(package)
    (package / "__init__.py").write_text("A = 3\n")
    other = read_commit.__wrapped__(package)
    assert len(clean) == 12
    assert dirty.startswith(f"{clean}-dirty-")
    assert other.startswith(f"{clean}-dirty-")
    assert other != dirty
    (tmp_path / "installed").mkdir()
    assert read_commit.__wrapped__(tmp_path / "installed").startswith("version ")


def test_a_folder_has_one_driver(spark: "SparkSession", tmp_path: Path) -> None:
    from optassign_benchmarks.folder_lock import LockedError, lock_folder
    from optassign_benchmarks.spark.storage import Storage

    storage, events = Storage(spark, str(tmp_path)), list[str]()
    with lock_folder(storage, events.append):
        told = f"is locked by process {os.getpid()} on {socket.gethostname()} since "
        with pytest.raises(LockedError, match=told), lock_folder(storage, events.append):
            pytest.fail("a second driver has the folder")
        assert (tmp_path / "driver.lock").exists()
    assert not (tmp_path / "driver.lock").exists()
    assert events == []


def test_a_stale_lock_is_named_and_taken_over(spark: "SparkSession", tmp_path: Path) -> None:
    from optassign_benchmarks.folder_lock import LockedError, lock_folder
    from optassign_benchmarks.spark.storage import Storage

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale = {"host": socket.gethostname(), "pid": ended.pid, "began": "1", "since": "2026-11-26", "command": "optassign x"}
    elsewhere = {**stale, "host": "another-machine"}
    storage, events = Storage(spark, str(tmp_path)), list[str]()
    storage.write(json.dumps(stale), "driver.lock")
    with lock_folder(storage, events.append):
        assert events == [
            f"stale lock of process {ended.pid} on {socket.gethostname()} since 2026-11-26 (`optassign x`), which has ended"
        ]
    storage.write(json.dumps(elsewhere), "driver.lock")
    with pytest.raises(LockedError, match=r"on another-machine .*--unlock, if that one has ended"), lock_folder(storage, print):
        pytest.fail("the other driver may run")
    with lock_folder(storage, events.append, unlock=True):
        assert events[-1].startswith("took the lock of process")
    storage.write("{", "driver.lock")  # incomplete because of a full disk
    with pytest.raises(LockedError, match="a driver that could not write its name"), lock_folder(storage, print):
        pytest.fail("nothing is known of the other driver")


@pytest.mark.usefixtures("commands_here")
def test_commits_are_mixed_only_on_request(spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = start_sweep(spark, tmp_path, "0123456789ab")
    command = ("benchmark", "continue", str(tmp_path), *list_master_options("local[1]"))
    code, _, err = run_here(capsys, *command)
    told = f"commit 0123456789ab has begun run {run}, and this is {read_commit()}; allowed: the same commit"
    assert (code, told in err.splitlines()[-1]) == (2, True)
    code, _, err = run_here(capsys, *command, "--mix-commits")
    assert (code, "0 rows solved, 2 are there, all ok" in err.splitlines()[-1]) == (0, True)
