"""Has tests of the client module write what it did, for tests that hold it against ours."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[3] / "java" / "client"
_MAVEN = ("mvn", "--batch-mode", "--quiet", "--file", str(MODULE.parent / "pom.xml"), "--projects", "client", "--also-make")


def write_cases(test: str, name: str) -> Path:
    """Run a test that writes cases; the file in its folder `target`. Offline, if everything is there."""
    if shutil.which("mvn") is None:
        pytest.skip("tests in Java need Maven: found no mvn on PATH")
    # The planner, which is built first, has no such test.
    command = [*_MAVEN, "-Dstyle.skip", "-Dcases.times=5", f"-Dtest={test}", "-Dsurefire.failIfNoSpecifiedTests=false"]
    cases = MODULE / "target" / name
    with (MODULE.parent / "pom.xml").open("rb") as alone:  # other tests build the same modules
        fcntl.flock(alone, fcntl.LOCK_EX)
        cases.unlink(missing_ok=True)
        done = subprocess.run([*command, "test", "--offline"], capture_output=True, text=True, check=False)
        if done.returncode and "offline" in (done.stdout + done.stderr).lower():
            done = subprocess.run([*command, "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return cases
