"""Tests that the built wheel is complete and has every module once; `make test-wheel` builds it and runs them."""

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

OPTIONAL = {
    "fastapi",
    "h11",
    "jinja2",
    "kafka",
    "markupsafe",
    "matplotlib",
    "prometheus_client",
    "starlette",
    "cryptography",
    "uvicorn",
}
"""Modules of extras; our modules that need them say so when they are imported."""


def built(pattern: str) -> Path:
    (path,) = Path(DIST or "").glob(pattern)
    return path


@pytest.fixture(scope="module")
def names() -> list[str]:
    with zipfile.ZipFile(built("*.whl")) as wheel:
        return wheel.namelist()


def test_every_file_is_there_once(names: list[str]) -> None:
    assert len(names) == len(set(names))
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"optassign", "optassign_models"}
    assert {"optassign/__init__.py", "optassign_models/__init__.py", "optassign_models/goals/load.py"} <= set(names)


def test_the_benchmarks_are_a_wheel_of_their_own() -> None:
    with zipfile.ZipFile(built("benchmarks/*.whl")) as wheel:
        found = wheel.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in found} == {"optassign_benchmarks"}
    assert {"optassign_benchmarks/answers.txt", "optassign_benchmarks/spark/sweep.py"} <= set(found)


def test_types_and_licence_are_there(names: list[str]) -> None:
    assert {"optassign/py.typed", "optassign_models/py.typed"} <= set(names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_files_of_the_pages_are_included(names: list[str]) -> None:
    pages = "optassign/service/pages"
    expected = {
        f"{pages}/static/{name}" for name in ("htmx.min.js", "htmx.LICENSE.txt", "uPlot.iife.min.js", "uPlot.LICENSE.txt")
    }
    assert expected | {f"{pages}/templates/base.html", "optassign/service/demo_scenarios/orders.toml"} <= set(names)


def test_the_sdist_holds_the_same_modules(names: list[str]) -> None:
    with tarfile.open(built("*.tar.gz")) as sdist:
        paths = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    for name in names:
        if name.endswith(".py"):
            assert name in paths or f"models/{name}" in paths, name


def test_every_module_can_be_imported_and_comes_from_the_wheel(names: list[str]) -> None:
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names if name.endswith(".py")]
    code = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        print(name, importlib.import_module(name).__file__)
    except ModuleNotFoundError as error:
        print(name, error.name)
"""
    command = [sys.executable, "-I", "-c", code, *(name for name in modules if not name.endswith("__main__"))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    found = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert len(found) > 200
    library = sysconfig.get_path("purelib")
    elsewhere = {name: place for name, place in found.items() if not place.startswith(library)}
    assert {place.partition(".")[0] for place in elsewhere.values()} <= OPTIONAL
    assert len(elsewhere) < len(found) / 3


def test_serve_without_its_extra_says_what_to_install() -> None:
    command = Path(sysconfig.get_path("scripts"), "optassign")
    result = subprocess.run([command, "serve"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("optassign serve: error: it needs ")
    assert result.stderr.endswith("which is not installed: pip install 'optassign[service]'\n")


def test_benchmark_without_its_package_says_what_to_install() -> None:
    command = Path(sysconfig.get_path("scripts"), "optassign")
    arguments = ["benchmark", "report", "nowhere"]
    result = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.endswith("which is not installed: pip install 'optassign-benchmarks[spark]'\n")


def test_the_command_is_installed() -> None:
    command = Path(sysconfig.get_path("scripts"), "optassign")
    result = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "assign" in result.stdout
