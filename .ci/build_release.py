"""`make release`: wheel, sdist, jars, what they are made of (SBOMs) and checksums, the same to the byte in every build.

Times of files, their owners and rights, and the order in which a file system lists them do not matter: the sdist is packed
anew, and the wheel is built from what is in it; the jar of sources is packed anew, since Maven keeps the rights of folders in
it. Jars take their dates from `project.build.outputTimestamp` in java/pom.xml, and so does all else.
"""

import calendar
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
CYCLONEDX_MAVEN = "org.cyclonedx:cyclonedx-maven-plugin:2.9.1:makeBom"


def run(*command: str | Path, **environment: str) -> None:
    """Run a command in the checkout; what it says is shown only if it fails."""
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def read_date() -> int:
    """Seconds since 1970 of the date that all files of a release have."""
    found = re.search(r"<project\.build\.outputTimestamp>(.*?)</", (ROOT / "java" / "pom.xml").read_text(encoding="utf-8"))
    assert found is not None
    return calendar.timegm(time.strptime(found[1], "%Y-%m-%dT%H:%M:%SZ"))


def pack_anew(sdist: Path, date: int) -> None:
    """Write an sdist again: members sorted, of nobody, with one date, and readable for all."""
    packed = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname, member.pax_headers = date, 0, 0, "", "", {}
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isreg() else None)
    sdist.write_bytes(gzip.compress(packed.getvalue(), mtime=date))


def pack_sources_anew(jar: Path) -> None:
    """Write a jar of sources again: its members as they are, but readable for all."""
    packed = io.BytesIO()
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(packed, mode="w", compression=zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            written = zipfile.ZipInfo(member.filename, member.date_time)
            written.create_system = 3  # Unix, wherever this is built: else the rights are not read
            written.external_attr = (0o40755 if member.is_dir() else 0o100644) << 16
            written.compress_type = zipfile.ZIP_STORED if member.is_dir() else zipfile.ZIP_DEFLATED
            new.writestr(written, old.read(member))
    jar.write_bytes(packed.getvalue())


def build_python(release: Path, scratch: Path, date: int) -> Path:
    """Sdist and wheel, and the wheel of the benchmarks; returns the first wheel."""
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", release)
    run(*build, "--sdist", ROOT, SOURCE_DATE_EPOCH=str(date))
    (sdist,) = release.glob("*.tar.gz")
    pack_anew(sdist, date)
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="tar")
    run(*build, "--wheel", scratch / sdist.name.removesuffix(".tar.gz"), SOURCE_DATE_EPOCH=str(date))
    (wheel,) = release.glob("*.whl")
    run(*build, "--wheel", scratch / sdist.name.removesuffix(".tar.gz") / "benchmarks", SOURCE_DATE_EPOCH=str(date))
    return wheel


def build_jars(release: Path, scratch: Path) -> None:
    """The plug-in with its sources and its POM, the broker's assignor, the watcher, and what each is made of.

    Built from a copy of the sources alone: in the checkout's `target` there may be classes of files that are there no more.
    """
    java = shutil.copytree(ROOT / "java", scratch / "java", ignore=shutil.ignore_patterns("target"))
    maven = ("mvn", "--quiet", "--batch-mode", "--file", java / "pom.xml")
    run(*maven, "--projects", "plugin,broker,watch", "--also-make", "-DskipTests", "-Dstyle.skip", "package")
    for module, artifact in (("plugin", "optassign-streams"), ("broker", "optassign-broker"), ("watch", "optassign-watch")):
        target = java / module / "target"
        for jar in target.glob(f"{artifact}-*.jar"):
            shutil.copyfile(jar, release / jar.name)
        only_ours = ("-DincludeTestScope=false", "-DincludeProvidedScope=false", "-DincludeBomSerialNumber=false")
        sbom = ("-DoutputName=sbom", "-DoutputFormat=json", "-Dcyclonedx.skipAttach=true", *only_ours)
        run(*maven, "--projects", module, CYCLONEDX_MAVEN, *sbom)
        (jar,) = (jar for jar in release.glob(f"{artifact}-*.jar") if not jar.name.endswith("-sources.jar"))
        write_sbom(target / "sbom.json", jar.with_suffix(".cdx.json"))
    (sources,) = release.glob("*-sources.jar")
    pack_sources_anew(sources)
    pom = java / "plugin" / "target" / "optassign-streams.pom"
    shutil.copyfile(pom, release / sources.name.replace("-sources.jar", ".pom"))


def describe_wheel(wheel: Path, release: Path, scratch: Path) -> None:
    """What the service is made of where it is installed by constraints.txt."""
    environment = scratch / "environment"
    run(sys.executable, "-m", "venv", environment)
    pip = (environment / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", "--constraint", CONSTRAINTS, f"{wheel}[service]")
    made = scratch / "sbom.json"
    tool = Path(sys.executable).with_name("cyclonedx-py")
    run(tool, "environment", "--output-reproducible", "--pyproject", ROOT / "pyproject.toml", "-o", made, environment)
    write_sbom(made, release / f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json")


def write_sbom(made: Path, file: Path) -> None:
    """Write an SBOM without what is different in every build and every place: its number, its date, local paths."""
    sbom = json.loads(made.read_text(encoding="utf-8"))
    sbom.pop("serialNumber", None)
    sbom.get("metadata", {}).pop("timestamp", None)
    for component in sbom.get("components", []):
        references = component.get("externalReferences", [])
        component["externalReferences"] = [each for each in references if not each.get("url", "").startswith("file:")]
    file.write_text(json.dumps(sbom, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Build into the folder that is named."""
    os.umask(0o022)  # else the rights of what is made on the way would be those that this user gives
    release = Path(sys.argv[1]).resolve()
    shutil.rmtree(release, ignore_errors=True)
    release.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        wheel = build_python(release, scratch, read_date())
        build_jars(release, scratch)
        describe_wheel(wheel, release, scratch)
    for file in (ROOT / "docs" / "get-started" / "install.md", ROOT / "LICENSE"):
        shutil.copyfile(file, release / file.name)
    files = sorted(release.iterdir())
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (release / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(*sorted(release.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
