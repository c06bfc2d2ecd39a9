"""Tests of the walks of docs/how-to/extend.md: each is applied to a copy of the project, block by block, and its tests run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "extend.md"
_STEP = re.compile(r"^\*\*`([^`]+)`\*\*|^```(python|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WALKS = {
    "A goal": (
        "tests/goals/test_zone_load.py",
        "tests/goals/test_unserved.py",
        "tests/formats/test_schema.py",
        "tests/project/test_docs.py",
        "tests/project/test_numbers.py",
        "tests/project/test_reference.py",
    ),
    "A rule": (
        "tests/judging",
        "tests/models/test_warmups.py",
        "tests/project/test_docs.py",
        "tests/solving/test_rest_and_followup.py",
        "tests/solving/test_vectors.py",
    ),
    "A measure": (
        "tests/judging/test_metrics.py",
        "tests/simulation/test_convergence.py",
        "tests/spark/test_command_line.py::test_the_document_has_all_columns",
    ),
}
TOUCHED = {"A goal": 5, "A rule": 5, "A measure": 1}


def steps(heading: str) -> Iterator[tuple[str, str, str]]:
    """Yield (file, `python` or `diff`, text) for each block of a walk."""
    text = PAGE.read_text(encoding="utf-8")
    walk = text[text.index(f"\n## {heading}\n") :]
    walk = walk[: walk.index("\n## ", 5)]
    file = ""
    for step in _STEP.finditer(walk):
        if step[1]:
            file = step[1]
        else:
            yield file, step[2], step[3]


def patched(text: str, diff: str) -> str:
    """Return the text after a diff of lines with ' ', '-' or '+'; the lines before the change must occur exactly once."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"found {text.count(before)} times:\n{before}"
    return text.replace(before, after)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the project without build outputs."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, tmp_path / "copy", symlinks=True, ignore=ignored)
    if (ROOT / ".mypy_cache").is_dir():  # otherwise mypy reads every package again
        shutil.copytree(ROOT / ".mypy_cache", tmp_path / "copy" / ".mypy_cache")
    return tmp_path / "copy"


@pytest.mark.parametrize("heading", WALKS)
def test_a_walk_can_be_walked(heading: str, copy: Path) -> None:
    touched = set()
    for file, kind, text in steps(heading):
        path = copy / file
        touched.add(file)
        if kind == "python":
            assert not path.exists(), file
            path.write_text(text, encoding="utf-8")
        else:
            path.write_text(patched(path.read_text(encoding="utf-8"), text), encoding="utf-8")
    assert len(touched) == TOUCHED[heading]
    run(copy, "-c", f"import sys, optassign; assert optassign.__file__.startswith({str(copy)!r}), optassign.__file__")
    run(copy, "-m", "optassign.schema", "docs/schema")
    run(copy, "-m", "optassign_benchmarks.spark.tables")
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *WALKS[heading])
    changed = sorted(file for file in touched if file.endswith(".py"))
    run(copy, "-m", "ruff", "check", *changed)
    run(copy, "-m", "ruff", "format", "--check", *changed)
    run(copy, "-m", "mypy")


def run(copy: Path, *arguments: str) -> None:
    """Run Python in the copy; the copy's packages come before the installed ones."""
    places = os.pathsep.join(map(str, (copy, copy / "models", copy / "benchmarks")))
    environment = {**os.environ, "PYTHONPATH": places, "PYTEST_ADDOPTS": ""}
    command = [sys.executable, *arguments]
    result = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(arguments)}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
