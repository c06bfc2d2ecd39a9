"""The built wheel is complete and holds every module once. `make test-wheel` builds it and runs this beside it."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

DIST = os.environ.get("OPTASSIGN_DIST")
pytestmark = [pytest.mark.wheel, pytest.mark.skipif(DIST is None, reason="make test-wheel runs it")]

PACKAGES = [
    "optassign",
    "optassign.assignors",
    "optassign.assignors.baselines",
    "optassign.assignors.baselines.as_in_kafka",
    "optassign.assignors.baselines.chain",
    "optassign.benchmarks",
    "optassign.benchmarks.kafka",
    "optassign.benchmarks.spark",
    "optassign.models",
    "optassign.service",
    "optassign.simulation",
]


def built(pattern: str) -> Path:
    (path,) = Path(DIST or "").glob(pattern)
    return path


@pytest.fixture(scope="module")
def names() -> list[str]:
    with zipfile.ZipFile(built("*.whl")) as wheel:
        return wheel.namelist()


def test_every_file_is_there_once(names: list[str]) -> None:
    assert len(names) == len(set(names))
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"optassign"}
    for package in ("models", "benchmarks"):
        found = [name for name in names if name.endswith(f"{package}/__init__.py")]
        assert found == [f"optassign/{package}/__init__.py"]


def test_types_and_licence_are_there(names: list[str]) -> None:
    assert "optassign/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_what_pages_are_made_of_is_there(names: list[str]) -> None:
    pages = "optassign/service/pages"
    expected = {
        f"{pages}/static/{name}" for name in ("htmx.min.js", "htmx.LICENSE.txt", "uPlot.iife.min.js", "uPlot.LICENSE.txt")
    }
    assert expected | {f"{pages}/templates/base.html", "optassign/service/demo/orders.toml"} <= set(names)


def test_the_sdist_holds_the_same_modules(names: list[str]) -> None:
    with tarfile.open(built("*.tar.gz")) as sdist:
        paths = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    for name in names:
        if name.endswith(".py"):
            tail = name.removeprefix("optassign/")
            assert name in paths or tail in paths, name


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_come_from_the_wheel(package: str) -> None:
    code = f"import {package}; print({package}.__file__)"
    result = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert Path(result.stdout.strip()).is_relative_to(sysconfig.get_path("purelib"))


def test_serve_without_its_extra_says_what_to_install() -> None:
    command = Path(sysconfig.get_path("scripts"), "optassign")
    result = subprocess.run([command, "serve"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("optassign serve: error: it needs ")
    assert result.stderr.endswith("which is not installed: pip install 'optassign[service]'\n")


def test_the_command_is_installed() -> None:
    command = Path(sysconfig.get_path("scripts"), "optassign")
    result = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "assign" in result.stdout
