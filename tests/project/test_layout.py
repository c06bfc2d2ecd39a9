"""The layout keeps its promises: who imports whom, every module once, nothing of one machine in the repository."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREES = {
    "optassign": ROOT / "optassign",
    "optassign_models": ROOT / "models" / "optassign_models",
    "optassign_benchmarks": ROOT / "benchmarks" / "optassign_benchmarks",
}
"""Where each tree of packages stands."""

CORE = {"numpy", "pydantic", "pydantic_core", "rich"}  # pydantic documents parts of its core as its own
THIRD_PARTY = {  # the longest prefix counts
    "optassign": CORE,
    "optassign.assignors": CORE | {"ortools"},
    "optassign.cli": CORE | {"argcomplete"},
    "optassign.translating": CORE,
    "optassign.display": {"pandas"},
    "optassign.plots": CORE | {"matplotlib"},
    "optassign.cli.show.pictures": CORE | {"matplotlib"},
    "optassign_models": {"numpy", "ortools"},
    "optassign.cli.show.inspection": CORE | {"jinja2", "matplotlib"},
    "optassign.cli.commands.inspect_group": CORE | {"kafka"},
    "optassign.inspecting.cluster": CORE | {"kafka"},
    "optassign.inspecting.groups": CORE | {"kafka"},
    "optassign.service": CORE | {"cryptography", "fastapi", "h11", "prometheus_client", "starlette", "uvicorn"},
    "optassign.service.pages": CORE | {"fastapi", "jinja2", "markupsafe", "starlette"},
    "optassign_benchmarks.kafka": CORE | {"confluent_kafka"},
    "optassign_benchmarks": CORE | {"matplotlib", "ortools", "pandas", "pyarrow", "pyspark"},
}
DOOR = "optassign.cli.commands.benchmarks"
"""The only package of optassign that imports optassign_benchmarks."""
JUDGES = ("optassign.measuring", "optassign.judging")
"""Rooms that judge the models, so that they share no code with them but the policy."""
ROOMS = (
    "optassign_models",
    "optassign.printable",
    "optassign.errors",
    "optassign.display",
    "optassign.formats",
    "optassign.utilities",
    "optassign.measuring",
    "optassign.goals",
    "optassign.assignor",
    "optassign.judging",
    "optassign.translating",
    "optassign.assignors",
    "optassign.analysis",
    "optassign.generating",
    "optassign.recordings",
    "optassign.schema",
    "optassign.simulation",
    "optassign.plots",
    "optassign.library",
    "optassign.inspecting",
    "optassign.schema",
    "optassign.service",
    "optassign_benchmarks",
    "optassign.cli",
)
"""From the bottom up: a room imports itself and rooms before it. The face, optassign/__init__.py, is everybody's."""


def modules() -> Iterator[tuple[str, str, Path]]:
    """(dotted name, dotted name of its package, file) of every module of the package."""
    for top, tree in TREES.items():
        for folder, _, files in os.walk(tree):
            inner = Path(folder).relative_to(tree).parts
            package = ".".join((top, *inner))
            for file in sorted(files):
                if file.endswith(".py"):
                    stem = file.removesuffix(".py")
                    yield (package if stem == "__init__" else f"{package}.{stem}"), package, Path(folder, file)


def imports(source: str, package: str) -> Iterator[tuple[str, int]]:
    """(dotted name, level of the relative import or 0) of everything imported, wherever in the file.

    `from a import b` yields `a` and `a.b`, since b may be a module.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, 0
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield name, node.level
            for alias in node.names:
                yield f"{name}.{alias.name}", node.level


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def room_of(name: str) -> int:
    """The place of a module's room in `ROOMS`; -1 for the face of the package."""
    return max((number for number, room in enumerate(ROOMS) if inside(name, room)), default=-1)


def faults(module: str, package: str, source: str) -> list[str]:
    """What the module imports and must not."""
    found = []
    allowed = THIRD_PARTY[max((known for known in THIRD_PARTY if inside(module, known)), key=len)]
    for name, _ in imports(source, package):
        top = name.partition(".")[0]
        if top not in TREES:
            if top not in allowed and top not in sys.stdlib_module_names:
                found.append(f"{module}: {name} is not among {sorted(allowed)}")
        elif inside(module, "optassign_models") and not inside(name, "optassign_models"):
            found.append(f"{module}: models must not know {name}")
        elif inside(name, "optassign_benchmarks") and inside(module, "optassign") and not inside(module, DOOR):
            found.append(f"{module}: only {DOOR} may import {name}")
        elif top == "optassign_models" and any(inside(module, room) for room in JUDGES):
            if not name.startswith("optassign_models.policy"):
                found.append(f"{module}: a judge shares no code with {name}")
        elif module != "optassign" and room_of(name) > room_of(module):
            found.append(f"{module}: {name} is of a room further up")
    return found


def find_circle(arrows: dict[str, set[str]]) -> list[str]:
    """Modules that import each other round about, in their order; none if there is no circle."""
    done: set[str] = set()

    def follow(module: str, way: list[str]) -> list[str]:
        if module in way:
            return way[way.index(module) :]
        if module in done:
            return []
        circle = next((found for following in sorted(arrows[module]) if (found := follow(following, [*way, module]))), [])
        done.add(module)
        return circle

    return next((found for module in sorted(arrows) if (found := follow(module, []))), [])


def tracked() -> list[Path]:
    """Files that are in git or would be added, symlinks left out."""
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


def test_imports_go_one_way() -> None:
    found = [fault for name, package, file in modules() for fault in faults(name, package, file.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_no_modules_import_each_other() -> None:
    """Imports for the type checker and inside functions count too."""
    found = {name: (package, file.read_text(encoding="utf-8")) for name, package, file in modules()}
    arrows = {
        name: {target for target, _ in imports(source, package) if target in found} for name, (package, source) in found.items()
    }
    assert find_circle(arrows) == []


def test_a_circle_is_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c", "d"}, "c": {"d"}, "d": set()}) == []
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}) == ["b", "c", "d"]


def test_rooms_are_small() -> None:
    """A folder has at most 16 modules. A module is one concept; most have fewer than 300 lines, none more than 500."""
    sizes = Counter(file.parent for _, _, file in modules())
    assert {str(folder.relative_to(ROOT)): size for folder, size in sizes.items() if size > 16} == {}
    long = {name: lines for name, _, file in modules() if (lines := len(file.read_text(encoding="utf-8").splitlines())) > 500}
    long.pop("optassign_models.policy.constants", None)  # made, and a list of numbers
    assert long == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("optassign_models.cp_sat.plan", "import optassign"),
        ("optassign_models.cp_sat.plan", "import pydantic"),
        ("optassign_models.cp_sat.plan", "from optassign.judging import metrics"),
        ("optassign.judging.metrics", "import ortools"),
        ("optassign.judging.metrics", "import models"),
        ("optassign.judging.metrics", "from benchmarks.grid import cells"),
        ("optassign.judging.explain", "from optassign.simulation import cluster"),
        ("optassign.judging.explain", "from .. import simulation"),
        ("optassign.judging.explain", "def late():\n    from ..service.app import app"),
        ("optassign.simulation.cluster", "import optassign_benchmarks"),
        ("optassign.cli.commands.demo", "def run():\n    import optassign_benchmarks"),
        ("optassign.judging.metrics", "from optassign_models.shares import compute_shares"),
        ("optassign.formats.configs", "from optassign.goals.order import find_plan_goals"),
        ("optassign.measuring.ranks", "from optassign.judging.metrics import measure"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert faults(module, module.rpartition(".")[0], source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "optassign_models.cp_sat.plan",
            "import math, numpy\nfrom ortools.sat.python import cp_model\nfrom optassign_models.flows import f",
        ),
        ("optassign.assignors.cp_sat", "from optassign_models import plan\nfrom ..formats.state import ApplicationState"),
        ("optassign.cli.commands.benchmarks.replay", "import optassign_benchmarks\nfrom optassign import service, simulation"),
        ("optassign.simulation.cluster", "from .scenarios import Scenario\nfrom ..judging.metrics import measure"),
        ("optassign_benchmarks.grid", "import pyspark\nfrom optassign.simulation import cluster"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert faults(module, module.rpartition(".")[0], source) == []


def test_a_class_name_in_java_means_one_class() -> None:
    counts = Counter(path.name for path in (ROOT / "java").glob("*/src/**/*.java"))
    del counts["package-info.java"]
    assert counts, "no sources found"
    assert [name for name, count in sorted(counts.items()) if count > 1] == []


def test_every_folder_with_modules_is_a_package() -> None:
    """Packages are found by their __init__.py: a folder without one would not be packed."""
    names = {name for name, _, _ in modules()}
    assert {package for _, package, _ in modules()} <= names


def test_both_distributions_have_one_version() -> None:
    product, benchmarks = (
        tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]
        for path in ("pyproject.toml", "benchmarks/pyproject.toml")
    )
    assert benchmarks["version"] == product["version"]
    assert benchmarks["dependencies"] == [f"optassign=={product['version']}"]


# Written so that they do not find themselves.
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
