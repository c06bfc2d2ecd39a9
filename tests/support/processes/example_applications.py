"""The applications of deploy/examples, built as their users build them."""

from __future__ import annotations

import shutil
from pathlib import Path

from optassign.assignors.baselines import maven
from optassign_benchmarks.kafka.jars import JAVA

EXAMPLES = JAVA.parent / "deploy" / "examples"


def install_plugin() -> None:
    """Put the plug-in into the local Maven repository, as docs/get-started/install.md says."""
    maven.build(JAVA / "plugin")
    target = JAVA / "plugin" / "target"
    file, pom = target / "optassign-streams-0.1.0.jar", target / "optassign-streams.pom"
    with maven.lock(EXAMPLES / "plain" / "pom.xml"):
        maven.run(
            "mvn",
            "org.apache.maven.plugins:maven-install-plugin:3.1.4:install-file",
            f"-Dfile={file}",
            f"-DpomFile={pom}",
        )


def build_example(name: str, goal: str, folder: Path, *options: str) -> Path:
    """Run Maven up to a goal on a copy of an example, and return the copy. BuildError with Maven's output if it fails."""
    install_plugin()
    copy = folder / name
    shutil.copytree(EXAMPLES / name, copy, ignore=shutil.ignore_patterns("target"))
    maven.run("mvn", "-f", str(copy / "pom.xml"), goal, *options)
    return copy
