"""Cases that tests of the client module in Java write, for comparison with Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from optassign.assignors.baselines import maven

MODULE = Path(__file__).parents[3] / "java" / "client"


def write_cases(test: str, name: str) -> Path:
    """Run a test that writes cases, and return their file in the folder `target`. Works offline if all dependencies are
    present."""
    if shutil.which("mvn") is None:
        pytest.skip("tests in Java need Maven: found no mvn on PATH")
    # The planner, which is built first, has no such test.
    part = ("--file", str(MODULE.parent / "pom.xml"), "--projects", "client", "--also-make", "-Dstyle.skip")
    cases = MODULE / "target" / name
    with maven.lock(MODULE.parent / "pom.xml"):  # other tests build the same modules
        cases.unlink(missing_ok=True)
        maven.run("mvn", *part, "-Dcases.times=10", f"-Dtest={test}", "-Dsurefire.failIfNoSpecifiedTests=false", "test")
    return cases
