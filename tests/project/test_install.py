"""Tests of names that users type to install: extras exist, Maven modules build, and pages name the same versions of Kafka."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(file for room in ("optassign", "benchmarks", "deploy") for file in (ROOT / room).rglob("*.py")),
    *sorted((ROOT / "deploy").rglob("Containerfile")),
]


def read_extras() -> dict[str, set[str]]:
    """Return distribution → the names of its extras."""
    found = {}
    for file in (ROOT / "pyproject.toml", ROOT / "benchmarks" / "pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        found[project["name"]] = set(project["optional-dependencies"])
    return found


def find_unknown_extras(text: str) -> list[str]:
    """Return the extras that the text names and its distribution lacks."""
    extras = read_extras()
    named = re.findall(r"(optassign(?:-benchmarks)?)\[([a-z][a-z, -]*)\]", text)
    named += [("optassign", extra) for extra in re.findall(r"'\.\[([a-z][a-z, -]*)\]'", text)]
    return [
        f"{name}[{extra.strip()}]" for name, listed in named for extra in listed.split(",") if extra.strip() not in extras[name]
    ]


def test_extras_exist() -> None:
    unknown = {
        str(file.relative_to(ROOT)): found
        for file in _PAGES
        if (found := find_unknown_extras(file.read_text(encoding="utf-8")))
    }
    assert unknown == {}


@pytest.mark.parametrize(
    "text", ["pip install 'optassign[spark,plots]'", "optassign-benchmarks[plots]", "pip install '.[spark]'"]
)
def test_extras_that_do_not_exist_are_found(text: str) -> None:
    assert find_unknown_extras(text)


def test_modules_are_built_with_those_that_they_need() -> None:
    lines = [line for file in _PAGES for line in re.findall(r"mvn .*-pl .*", file.read_text(encoding="utf-8"))]
    assert lines
    assert [line for line in lines if " -am " not in line] == []


def test_pages_name_the_versions_that_were_tried() -> None:
    """The tables are made from tests/java/compatibility.json, and these pages name its first and last version."""
    tried = json.loads((ROOT / "tests" / "java" / "compatibility.json").read_text(encoding="utf-8"))["kafka_streams"]
    versions = sorted(tried, key=lambda version: [int(part) for part in version.split(".")])
    for page in ("README.md", "docs/how-to/adopt.md", "docs/reference/compatibility.md"):
        named = re.findall(r"Kafka Streams (\d[\d.]+ to \d[\d.]+\d)", (ROOT / page).read_text(encoding="utf-8"))
        assert set(named) == {f"{versions[0]} to {versions[-1]}"}, page


def test_poms_and_pages_have_the_versions_of_one_place() -> None:
    """pyproject.toml has optassign's version, java/pom.xml the versions of Kafka."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    files = [*_PAGES, *(ROOT / "deploy").glob("Containerfile*"), *(ROOT / "deploy" / "examples").rglob("pom.xml")]
    poms = [*(ROOT / "java").glob("pom.xml"), *(ROOT / "java").glob("*/pom.xml")]
    for file in files:
        named = re.findall(r"optassign(?:-\w+)?[-:=](\d+\.\d+\.\d+)", file.read_text(encoding="utf-8"))
        assert set(named) <= {version}, file
    for file in poms:
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"<artifactId>optassign-parent</artifactId>\s*<version>(.*?)</version>", text) == [version], file
    kafka = dict(re.findall(r"<(kafka\.[\w.]*version)>(.*?)</", (ROOT / "java" / "pom.xml").read_text(encoding="utf-8")))
    text = (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")
    assert f"on a broker of {kafka['kafka.version']}" in text
    assert f"| {kafka['kafka.broker.version']}; earlier brokers cannot load an assignor |" in text
