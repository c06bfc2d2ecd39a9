"""The plug-in's own tests, which are written in Java: run by Maven, and counted."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[2] / "java" / "plugin"


def maven(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Offline first: where everything is there already, no network is needed."""
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(MODULE / "pom.xml"), *arguments]
    done = subprocess.run([*command, "--offline"], capture_output=True, text=True, check=False)
    if done.returncode and "offline" in (done.stdout + done.stderr).lower():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done


@pytest.mark.slow
def test_the_plug_in_passes_its_own_tests() -> None:
    if shutil.which("mvn") is None:
        pytest.skip("the plug-in's tests need Maven: found no mvn on PATH")
    reports = MODULE / "target" / "surefire-reports"
    with (MODULE / "pom.xml").open("rb") as alone:  # the tests with a real broker build the same module
        fcntl.flock(alone, fcntl.LOCK_EX)
        shutil.rmtree(reports, ignore_errors=True)
        done = maven("package")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    suites = [ET.parse(path).getroot() for path in sorted(reports.glob("TEST-*.xml"))]
    count = {name: sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")}
    assert count["tests"] > 100
    assert (count["failures"], count["errors"], count["skipped"]) == (0, 0, 0)
