"""Tests that both forms of the citation name the authors, the licence and the version of the package."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_both_forms_agree_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "evaluation" / "method.md").read_text(encoding="utf-8")
    entry = dict(re.findall(r"^  (\w+)\s*= \{+(.*?)\}+,?$", page, re.MULTILINE))
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert (entry["version"], entry["license"]) == (project["version"], project["license"])
    assert [author["name"] for author in citation["authors"]] == [entry["author"]]
    assert entry["title"].startswith(f"{citation['title']}: ")
