"""Tests that Maven runs and passes the Java tests of all modules."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from optassign.assignors.baselines import maven

JAVA = Path(__file__).parents[2] / "java"
MODULES = ("planner", "client", "plugin", "broker", "server", "watch")


@pytest.fixture(autouse=True)
def has_maven() -> None:
    if shutil.which("mvn") is None:
        pytest.skip("tests in Java need Maven: found no mvn on PATH")


def assert_all_passed() -> None:
    for module in MODULES:
        reports = (JAVA / module / "target" / "surefire-reports").glob("TEST-*.xml")
        suites = [ET.parse(path).getroot() for path in reports]
        names = ("tests", "failures", "errors", "skipped")
        count = {name: sum(int(suite.get(name, "0")) for suite in suites) for name in names}
        assert count.pop("tests") > 0, f"no test of {module} has run"
        assert not any(count.values()), f"{module}: {count}"


def test_java_modules_pass_their_own_tests() -> None:
    """`make java` runs the tests whose sources have changed; `make test` calls it first."""
    done = subprocess.run(["make", "java"], cwd=JAVA.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert_all_passed()


@pytest.mark.long
def test_java_modules_pass_their_own_tests_with_all_random_cases() -> None:
    with maven.lock(JAVA / "pom.xml"):
        maven.run("mvn", "--file", str(JAVA / "pom.xml"), "-Dstyle.skip", "-Dcases.times=10", "package")
    assert_all_passed()


def test_every_module_that_has_tests_is_run() -> None:
    assert {path.parents[2].name for path in JAVA.glob("*/src/test/java")} - {"shared"} == set(MODULES)
