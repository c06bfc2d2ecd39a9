"""The tests of plug-in and planner that are written in Java: run by Maven, and counted."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

JAVA = Path(__file__).parents[2] / "java"
MODULES = (JAVA / "planner", JAVA / "plugin")


def maven(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Offline first: where everything is there already, no network is needed."""
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(JAVA / "pom.xml"), "-pl", "plugin", "-am", *arguments]
    done = subprocess.run([*command, "--offline"], capture_output=True, text=True, check=False)
    if done.returncode and "offline" in (done.stdout + done.stderr).lower():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done


@pytest.mark.long
def test_plug_in_and_planner_pass_their_own_tests() -> None:
    if shutil.which("mvn") is None:
        pytest.skip("the plug-in's tests need Maven: found no mvn on PATH")
    reports = [module / "target" / "surefire-reports" for module in MODULES]
    with (JAVA / "plugin" / "pom.xml").open("rb") as alone:  # the tests with a real broker build the same module
        fcntl.flock(alone, fcntl.LOCK_EX)
        for folder in reports:
            shutil.rmtree(folder, ignore_errors=True)
        done = maven("package")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    suites = [ET.parse(path).getroot() for folder in reports for path in sorted(folder.glob("TEST-*.xml"))]
    assert {suite.get("name", "").rpartition(".")[2] for suite in suites} >= {"WithoutKafkaTest", "RebalancePlannerTest"}
    count = {name: sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")}
    assert count["tests"] > 100
    assert (count["failures"], count["errors"], count["skipped"]) == (0, 0, 0)
