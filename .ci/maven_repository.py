"""The jars of a release as a Maven repository: of each artifact the jar, its POM, sources, Javadoc and checksums.

This is what Maven Central asks for, but for the signatures. Sources and Javadoc are packed here, so that every build
gives the same bytes.
"""

import hashlib
import json
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

_CYCLONEDX_MAVEN = "org.cyclonedx:cyclonedx-maven-plugin:2.9.1:makeBom"
Run = Callable[..., None]
"""Runs a command to its end, and ends the program if it fails."""


class Artifact(NamedTuple):
    """A released jar."""

    module: str
    name: str
    sources: tuple[str, ...]
    """Modules whose classes are in the jar."""


ARTIFACTS = (
    Artifact("plugin", "optassign-streams", ("plugin", "planner", "client", "shared")),
    Artifact("broker", "optassign-broker", ("broker", "planner", "client")),
    Artifact("watch", "optassign-watch", ("watch", "planner")),
)


def build_repository(sources: Path, release: Path, scratch: Path, date: int, run: Run) -> None:
    """Build the jars of the folder `sources` into `release/maven`, and what each is made of next to it.

    Built from a copy of the sources alone: in the checkout's `target` there may be classes of files that are there no more.
    `date`: of all files, in seconds since 1970.
    """
    java = shutil.copytree(sources, scratch / "java", ignore=shutil.ignore_patterns("target"))
    maven = ("mvn", "--quiet", "--batch-mode", "--file", java / "pom.xml")
    modules = ",".join(artifact.module for artifact in ARTIFACTS)
    goals = ("package", "dependency:build-classpath", "-Dmdep.outputFile=target/classpath")
    run(*maven, "--projects", modules, "--also-make", "-DskipTests", "-Dstyle.skip", *goals)
    for artifact in ARTIFACTS:
        target = java / artifact.module / "target"
        (jar,) = target.glob(f"{artifact.name}-*.jar")
        version = jar.stem.removeprefix(f"{artifact.name}-")
        folder = release / "maven" / "io" / "github" / "optassign" / artifact.name / version
        folder.mkdir(parents=True)
        shutil.copyfile(jar, folder / jar.name)
        shutil.copyfile(target / f"{artifact.name}.pom", folder / f"{jar.stem}.pom")
        roots = [java / module / "src" / "main" / "java" for module in artifact.sources]
        _pack(roots, folder / f"{jar.stem}-sources.jar", date)
        pages = scratch / "javadoc" / artifact.module
        classpath = (target / "classpath").read_text(encoding="utf-8").strip()
        run(*_describe(artifact.name, version, roots, classpath), "-d", pages)
        _pack([pages], folder / f"{jar.stem}-javadoc.jar", date)
        for file in sorted(folder.iterdir()):
            for kind in ("md5", "sha1"):
                digest = hashlib.new(kind, file.read_bytes(), usedforsecurity=False).hexdigest()
                file.with_name(f"{file.name}.{kind}").write_text(digest, encoding="utf-8")
        only_ours = ("-DincludeTestScope=false", "-DincludeProvidedScope=false", "-DincludeBomSerialNumber=false")
        sbom = ("-DoutputName=sbom", "-DoutputFormat=json", "-Dcyclonedx.skipAttach=true", *only_ours)
        run(*maven, "--projects", artifact.module, _CYCLONEDX_MAVEN, *sbom)
        write_sbom(target / "sbom.json", release / f"{jar.stem}.cdx.json")


def _describe(name: str, version: str, roots: Iterable[Path], classpath: str) -> tuple[str, ...]:
    """The command that makes the Javadoc, without the folder that it writes."""
    paths = os.pathsep.join(map(str, roots))
    options = ("-quiet", "-notimestamp", "-Xdoclint:none", "-encoding", "UTF-8", "-windowtitle", f"{name} {version}")
    return ("javadoc", *options, "-classpath", classpath, "-sourcepath", paths, "-subpackages", "io.github.optassign")


def _pack(roots: Iterable[Path], jar: Path, date: int) -> None:
    """Write a jar of all files below the folders, sorted, with one date, and readable for all."""
    files = {file.relative_to(root).as_posix(): file for root in roots for file in root.rglob("*") if file.is_file()}
    with zipfile.ZipFile(jar, mode="w", compression=zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            written = zipfile.ZipInfo(name, time.gmtime(date)[:6])
            written.create_system = 3  # Unix, wherever this is built: else the rights are not read
            written.external_attr = 0o100644 << 16
            written.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(written, files[name].read_bytes())


def write_sbom(made: Path, file: Path) -> None:
    """Write an SBOM without what is different in every build and every place: its number, its date, local paths."""
    sbom = json.loads(made.read_text(encoding="utf-8"))
    sbom.pop("serialNumber", None)
    sbom.get("metadata", {}).pop("timestamp", None)
    for component in sbom.get("components", []):
        references = component.get("externalReferences", [])
        component["externalReferences"] = [each for each in references if not each.get("url", "").startswith("file:")]
    file.write_text(json.dumps(sbom, indent=1, sort_keys=True) + "\n", encoding="utf-8")
