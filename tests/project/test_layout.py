"""Tests of the layout: no cyclic imports, small folders and modules, a test of each module, nothing specific to one machine.

pyproject.toml defines for import-linter which packages may import which.
"""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
TREES = (ROOT / "optassign", ROOT / "models" / "optassign_models", ROOT / "benchmarks" / "optassign_benchmarks")
"""The folders of the three top-level packages."""


def tracked() -> list[Path]:
    """Return the files that are in git or would be added, without symlinks."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip("not a git repository")
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def test_imports_have_no_cycle() -> None:
    """Imports for the type checker and inside functions count, too; CycleError names the modules."""
    graph = grimp.build_graph(*(tree.name for tree in TREES), cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_folders_and_modules_are_small() -> None:
    """A folder has at most 16 modules. Most modules have fewer than 300 lines, none more than 500."""
    files = [file for tree in TREES for file in tree.rglob("*.py")]
    sizes = Counter(file.parent for file in files)
    assert {str(folder.relative_to(ROOT)): size for folder, size in sizes.items() if size > 16} == {}
    long = {file.name: lines for file in files if (lines := len(file.read_text(encoding="utf-8").splitlines())) > 500}
    long.pop("constants.py", None)  # generated, and only a list of numbers
    assert long == {}


def list_tested(file: Path) -> Iterator[str]:
    """Yield the names that a test module imports, and the names in backticks in its docstring."""
    module = ast.parse(file.read_text(encoding="utf-8"))
    yield from re.findall(r"`([\w.]+)`", ast.get_docstring(module) or "")
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (node.module, *(f"{node.module}.{each.name}" for each in node.names))


def test_each_module_is_named_by_a_test() -> None:
    """A test module imports it, has its dotted name in the docstring, or is test_<name>.py for the only module of that name."""
    paths = [path.relative_to(tree.parent).with_suffix("") for tree in TREES for path in tree.rglob("*.py")]
    modules = [path for path in paths if path.name not in ("__init__", "__main__", "constants")]
    counts = Counter(path.name for path in modules)
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    tested = {name for file in tests for name in list_tested(file)}
    files = {file.stem for file in tests}
    unnamed = [path for path in modules if not (counts[path.name] == 1 and f"test_{path.name}" in files)]
    assert sorted({".".join(path.parts) for path in unnamed} - tested) == []


def test_a_class_name_in_java_means_one_class() -> None:
    counts = Counter(path.name for path in (ROOT / "java").glob("*/src/**/*.java"))
    del counts["package-info.java"]
    assert counts, "no sources found"
    assert [name for name, count in sorted(counts.items()) if count > 1] == []


def test_both_distributions_have_one_version() -> None:
    product, benchmarks = (
        tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]
        for path in ("pyproject.toml", "benchmarks/pyproject.toml")
    )
    assert benchmarks["version"] == product["version"]
    assert benchmarks["dependencies"] == [f"optassign=={product['version']}"]


# The patterns are written so that they do not match themselves.
OF_THIS_MACHINE = {
    "a path of one machine": r"(?<![\w.])/(?:work|home|root|Users)/",
    "the address of a package file": r"https?://[^\s\"']+\.(?:whl|tar\.gz|jar|tgz|crate)\b",
    "the host of a registry": r"\b(?:pypi\.org|pythonhosted\.org|repo1?\.maven\.(?:apache\.)?org|npmjs\.org)\b",
    "the option of a registry": r"(?:extra-)?index[-]url\b",
    "a token": r"\b(?:ghp|gho|github_pat|pypi)_?-?[A-Za-z0-9_]{30,}",
}


@pytest.mark.parametrize(("what", "pattern"), OF_THIS_MACHINE.items(), ids=list(OF_THIS_MACHINE))
def test_nothing_of_one_machine_is_in_the_repository(what: str, pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in tracked()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert not found, f"{what}:\n" + "\n".join(found)
