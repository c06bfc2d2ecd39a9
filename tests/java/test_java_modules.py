"""The tests that are written in Java, of all modules: run by Maven, and counted."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

JAVA = Path(__file__).parents[2] / "java"
MODULES = ("planner", "client", "plugin", "broker", "watch")


def maven(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Offline first: where everything is there already, no network is needed."""
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(JAVA / "pom.xml"), "-pl", ",".join(MODULES), "-am", *arguments]
    done = subprocess.run([*command, "--offline"], capture_output=True, text=True, check=False)
    if done.returncode and "offline" in (done.stdout + done.stderr).lower():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done


def count(module: str) -> dict[str, int]:
    """How many tests of a module have run, and what became of them."""
    suites = [ET.parse(path).getroot() for path in (JAVA / module / "target" / "surefire-reports").glob("TEST-*.xml")]
    return {name: sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")}


@pytest.mark.slow
def test_java_modules_pass_their_own_tests() -> None:
    if shutil.which("mvn") is None:
        pytest.skip("tests in Java need Maven: found no mvn on PATH")
    with (JAVA / "pom.xml").open("rb") as alone:  # the tests with a real broker build the same modules
        fcntl.flock(alone, fcntl.LOCK_EX)
        for module in MODULES:
            shutil.rmtree(JAVA / module / "target" / "surefire-reports", ignore_errors=True)
        done = maven("package", "-Dcases.times=5")
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        for module in MODULES:
            found = count(module)
            assert found.pop("tests") > 0, f"no test of {module} has run"
            assert not any(found.values()), f"{module}: {found}"


def test_every_module_that_has_tests_is_run() -> None:
    assert {path.parents[2].name for path in JAVA.glob("*/src/test/java")} - {"shared"} == set(MODULES)
