"""Class paths of brokers, applications and tools. Maven builds each jar that is older than its sources in java/."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from optassign.assignors.baselines import maven

JAVA = Path(__file__).resolve().parents[3] / "java"
PLUGIN_CLASS = "io.github.optassign.OptassignTaskAssignor"
_VERSION = "0.1.0"
_COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>optassign</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""
"""A Maven project for the jars of an application, or of a broker, of some version of Kafka."""


class ToolMissingError(RuntimeError):
    """Raised if `PATH` lacks a JDK or Maven."""


@cache
def classpath() -> str:
    """Return the class path with broker, test application and plug-in, the same for every process.

    ToolMissingError without tools; BuildError with Maven's output if a build fails.
    """
    _check_tools()
    return _collect([_build("testapp", "optassign-testapp"), _build("plugin", "optassign-streams")], "testapp")


@cache
def classpath_without_plugin() -> str:
    """Return the class path with broker and test application only. Raises as `classpath` does."""
    _check_tools()
    return _collect([_build("testapp", "optassign-testapp")], "testapp")


@cache
def streams_group_classpath() -> str:
    """Return the class path with a broker that accepts external assignors (KIP-1357), simulated members, and optassign's
    assignor.

    Raises as `classpath` does.
    """
    _check_tools()
    return _collect([_build("members", "optassign-members"), _build("broker", "optassign-broker")], "members")


@cache
def warming_up_classpath() -> str:
    """Return `streams_group_classpath` with a model of Kafka's own warm-ups (KAFKA-20665) that replaces the class of 4.4.0.

    Raises as `classpath` does.
    """
    path = streams_group_classpath()
    classes = Path(tempfile.mkdtemp(prefix="optassign-refiner-"))
    atexit.register(shutil.rmtree, classes, ignore_errors=True)
    (source,) = (JAVA / "members" / "src" / "refiner").rglob("*.java")
    subprocess.run(["javac", "-cp", path, "-d", str(classes), str(source)], check=True)
    return os.pathsep.join([str(classes), path])


@cache
def latest_application_classpath() -> str:
    """Return the class path with the test application under the Kafka Streams version of the broker that accepts external
    assignors.

    Raises as `classpath` does.
    """
    _check_tools()
    _build("members", "optassign-members")
    return _collect([_build("testapp", "optassign-testapp")], "members")


@cache
def watch_jar() -> Path:
    """Return the jar of `optassign watch`. Raises as `classpath` does."""
    _check_tools()
    return Path(_copy([_build("watch", "optassign-watch")])[0])


@cache
def planner_classpath() -> str:
    """Return the class path of the planner's server for benchmarks, java/server. Raises as `classpath` does."""
    _check_tools()
    built = [_build("server", "optassign-server"), *sorted((JAVA / "server" / "target" / "lib").glob("*.jar"))]
    return os.pathsep.join(_copy(built))


@cache
def streams_classpath(version: str, *, plugin: bool) -> str:
    """Return the class path of the test application under another version of Kafka Streams, with or without the plug-in.

    Raises as `classpath` does.
    """
    _check_tools()
    built = [_build("testapp", "optassign-testapp"), *([_build("plugin", "optassign-streams")] if plugin else [])]
    return os.pathsep.join([*_copy(built), str(_resolve("kafka-streams", version) / "*")])


@cache
def broker_classpath(version: str) -> str:
    """Return the class path of a broker of another version. Raises as `classpath` does."""
    _check_tools()
    return str(_resolve("kafka_2.13", version) / "*")


@cache
def _resolve(artifact: str, version: str) -> Path:
    """Return a folder with the jars of an artifact of Kafka, and further jars that the test application needs."""
    folder = Path(tempfile.mkdtemp(prefix="optassign-kafka-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    pom = folder / "pom.xml"
    pom.write_text(_POM.format(artifact=artifact, version=version), encoding="utf-8")
    maven.run("mvn", "-f", str(pom), _COPY_JARS, f"-DoutputDirectory={folder / 'lib'}")
    return folder / "lib"


def _check_tools() -> None:
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        raise ToolMissingError(f"a real Kafka needs a JDK and Maven: found no {', '.join(missing)} on PATH")


def _collect(built: Iterable[Path], libraries: str) -> str:
    """Return the class path of these jars and the libraries of a module."""
    return os.pathsep.join([*_copy(built), str(JAVA / libraries / "target" / "lib" / "*")])


def _copy(jars: Iterable[Path]) -> list[str]:
    """Return paths of copies of jars. A running JVM loads classes on demand, and would break if its jar were rebuilt."""
    copies = Path(tempfile.mkdtemp(prefix="optassign-jars-"))
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    return [str(shutil.copy2(jar, copies)) for jar in jars]


def _build(module: str, artifact: str) -> Path:
    """Return the jar of a module of java/, built if it is older than its sources."""
    maven.build(JAVA / module)
    return JAVA / module / "target" / f"{artifact}-{_VERSION}.jar"
