"""The jars that the cluster needs; Maven builds those that are older than their sources in java/."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

JAVA = Path(__file__).resolve().parents[2] / "java"
PLUGIN_CLASS = "io.github.optassign.OptassignTaskAssignor"
_VERSION = "0.1.0"


class ToolMissingError(RuntimeError):
    """There is no JDK or no Maven on the path."""


@cache
def classpath() -> str:
    """The class path with broker, test application and plug-in; the same for every process.

    Raises ToolMissingError, or RuntimeError with Maven's output if a build fails.
    """
    _check_tools()
    return _collect([_build_if_old("testapp", "optassign-testapp"), _build_if_old("plugin", "optassign-streams")], "testapp")


@cache
def streams_group_classpath() -> str:
    """The class path with a broker that takes assignors of others (KIP-1357), simulated members, and our assignor.

    Raises what `classpath` does.
    """
    _check_tools()
    return _collect([_build_if_old("members", "optassign-members"), _build_if_old("broker", "optassign-broker")], "members")


@cache
def watch_jar() -> Path:
    """The jar of `optassign watch`. Raises what `classpath` does."""
    _check_tools()
    return Path(_copy([_build_if_old("watch", "optassign-watch")])[0])


@cache
def planner_classpath() -> str:
    """The class path of the program that has the planner answer. Raises what `classpath` does."""
    _check_tools()
    built = [_build_if_old("server", "optassign-server"), *sorted((JAVA / "server" / "target" / "lib").glob("*.jar"))]
    return os.pathsep.join(_copy(built))


def test_classpath() -> str:
    """`classpath` with the plug-in's test classes in front, which hold its round-trip benchmark; compiles them if need be."""
    everything = classpath()
    folder = JAVA / "plugin"
    command = [*_maven(folder), "-DskipTests", "-Dstyle.skip", "package"]
    with (JAVA / "pom.xml").open("rb") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        _run([*command, f"-Dmdep.outputFile={folder / 'target' / 'classpath'}", "dependency:build-classpath"])
    # The benchmark uses the libraries under their own names, which the shaded jar does not have.
    libraries = (folder / "target" / "classpath").read_text(encoding="utf-8").strip()
    classes = [folder / "target" / name for name in ("classes", "test-classes")]
    return os.pathsep.join([*map(str, classes), libraries, everything])


def _check_tools() -> None:
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        raise ToolMissingError(f"a real Kafka needs a JDK and Maven: found no {', '.join(missing)} on PATH")


def _collect(built: Iterable[Path], libraries: str) -> str:
    """A class path of these jars and the libraries of a module."""
    return os.pathsep.join([*_copy(built), str(JAVA / libraries / "target" / "lib" / "*")])


def _copy(jars: Iterable[Path]) -> list[str]:
    """Copies, since a running JVM loads classes when it needs them: it would break when its jar is built anew meanwhile."""
    copies = Path(tempfile.mkdtemp(prefix="optassign-jars-"))
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    return [str(shutil.copy2(jar, copies)) for jar in jars]


def _build_if_old(module: str, artifact: str) -> Path:
    """The jar of a module of java/, built if it is older than what it is made from."""
    folder = JAVA / module
    jar = folder / "target" / f"{artifact}-{_VERSION}.jar"
    folders = [JAVA / name / "src" / "main" for name in (module, "planner", "client", "shared")]
    files = [path for each in folders for path in each.rglob("*") if path.is_file()]
    sources = [JAVA / "pom.xml", JAVA / "planner" / "pom.xml", JAVA / "client" / "pom.xml", folder / "pom.xml", *files]
    # Two processes may want to build the same module, or two that both contain the planner: the second waits for the first.
    with (JAVA / "pom.xml").open("rb") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not jar.exists() or jar.stat().st_mtime < max(path.stat().st_mtime for path in sources):
            _build(folder)
            jar.touch()  # if nothing has changed, Maven leaves the jar as old as it was
    return jar


def _build(folder: Path) -> None:
    """Package one module with what it uses: the cluster can start although another module does not compile."""
    _run([*_maven(folder), "-Dmaven.test.skip=true", "-Dstyle.skip", "package"])


def _maven(folder: Path) -> list[str]:
    return ["mvn", "--batch-mode", "--quiet", "--file", str(JAVA / "pom.xml"), "--projects", folder.name, "--also-make"]


def _run(command: list[str]) -> None:
    for mode in (["--offline"], []):  # the network is asked only for what is not there yet
        done = subprocess.run([*command, *mode], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
