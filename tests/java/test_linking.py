"""Tests that one jar works with every Kafka Streams with KIP-924: each class and member that the plug-in uses exists.

tests/java/compatibility.json has the results, and the documentation shows them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from class_files import ClassFile, find_missing, read_jar

from optassign.assignors.baselines import maven

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "java" / "compatibility.json"
VERSIONS = tuple(json.loads(RESULTS.read_text(encoding="utf-8"))["kafka_streams"])
"""The latest known release of each line, and the first release of all."""
KAFKAS = "org/apache/kafka/"
INLINED = "io/github/optassign/policy"
"""Classes of constants: the compiler writes their values into the classes that use them, and the jar leaves them out."""
OF_SHADOW_MODE = "io/github/optassign/kafka/"
"""Package of the classes that call Kafka's internal assignor; `check` says before the start whether it can be called."""


@cache
def read_plugin() -> dict[str, ClassFile]:
    maven.build(ROOT / "java" / "plugin")
    return read_jar(ROOT / "java" / "plugin" / "target" / "optassign-streams-0.1.0.jar")


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libraries")


def read_kafka(version: str, folder: Path) -> dict[str, ClassFile]:
    for artifact in ("kafka-streams", "kafka-clients"):
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        maven.run("mvn", plugin, f"-Dartifact=org.apache.kafka:{artifact}:{version}", f"-DoutputDirectory={folder / version}")
    return {name: found for jar in sorted((folder / version).glob("*.jar")) for name, found in read_jar(jar).items()}


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_the_plug_in_links(version: str, libraries: Path) -> None:
    missing = find_missing(read_plugin().values(), read_kafka(version, libraries), KAFKAS)
    of_shadow = {name for name in missing if name.startswith(OF_SHADOW_MODE)}
    assert {name: sorted(map(str, uses)) for name, uses in missing.items() if name not in of_shadow} == {}
    recorded = json.loads(RESULTS.read_text(encoding="utf-8"))["kafka_streams"][version]
    assert recorded["links"] is True
    assert recorded["shadow_mode_links"] is (not of_shadow), sorted(str(use) for name in of_shadow for use in missing[name])


def test_missing_classes_are_found() -> None:
    """In the plug-in's jar alone, the classes of Kafka that it uses are missing, and none of its own, except constants."""
    plugin = read_plugin()
    missing = find_missing(plugin.values(), plugin, KAFKAS)
    assert any(
        use.owner == "org/apache/kafka/streams/processor/assignment/TaskAssignor" for uses in missing.values() for use in uses
    )
    missing = find_missing(plugin.values(), plugin, "io/github/optassign/")
    assert {use.owner.rpartition("/")[0] for uses in missing.values() for use in uses} <= {INLINED}
    without = {name: found for name, found in plugin.items() if not name.endswith("/Rebalance")}
    assert "io/github/optassign/OptassignTaskAssignor" in find_missing(plugin.values(), without, "io/github/optassign/")
