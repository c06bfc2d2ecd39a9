"""Tests that the applications of deploy/examples compile, and name the plug-in where their framework reads it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from example_applications import EXAMPLES, build_example

NAMES = ("plain", "spring-boot", "quarkus")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_an_example_compiles(name: str, tmp_path: Path) -> None:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("needs a JDK and Maven")
    target = build_example(name, "compile", tmp_path) / "target" / "classes"
    assert any(target.rglob("Orders*.class"))


@pytest.mark.parametrize(
    ("name", "prefix"), [("spring-boot", "spring.kafka.streams.properties."), ("quarkus", "kafka-streams.")]
)
def test_the_plug_in_is_named(name: str, prefix: str) -> None:
    text = (EXAMPLES / name / "src" / "main" / "resources" / "application.properties").read_text(encoding="utf-8")
    assert f"\n{prefix}task.assignor.class=io.github.optassign.OptassignTaskAssignor\n" in text
