"""`make release`: wheels, sdist, a Maven repository, container files, SBOMs, notes and checksums, the same to the byte in
every build.

Times of files, their owners and rights, and the order in which a file system lists them do not matter: the sdist is packed
anew, and the wheel is built from what is in it. Jars take their dates from `project.build.outputTimestamp` in java/pom.xml,
and so does all else.
"""

import calendar
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from maven_repository import build_repository, write_sbom

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
COPIED = (
    "LICENSE",
    "constraints.txt",
    "deploy/Containerfile",
    "deploy/Containerfile.watch",
    "deploy/optassign.service",
    "docs/get-started/install.md",
)
"""Files of the checkout that are part of a release as they are."""


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


def write_notes(changelog: str, version: str) -> str:
    """Return the release notes: the changelog's section of the version, or of what is unreleased. ValueError without one."""
    for heading in (version, "Unreleased"):
        found = re.search(rf"^## {re.escape(heading)}\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
        if found and found[1].strip():
            return f"# optassign {version}\n\n{found[1].strip()}\n"
    raise ValueError(f"CHANGELOG.md has no section {version} or Unreleased with entries")


def main() -> None:
    """Build into the folder that is named."""
    os.umask(0o022)  # else the rights of what is made on the way would be those that this user gives
    release = Path(sys.argv[1]).resolve()
    shutil.rmtree(release, ignore_errors=True)
    release.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        wheel = build_python(release, scratch, read_date())
        build_repository(ROOT / "java", release, scratch, read_date(), run)
        describe_wheel(wheel, release, scratch)
    for name in COPIED:
        shutil.copyfile(ROOT / name, release / Path(name).name)
    notes = write_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), wheel.name.split("-")[1])
    (release / "NOTES.md").write_text(notes, encoding="utf-8")
    files = {file.relative_to(release).as_posix(): file for file in release.rglob("*") if file.is_file()}
    sums = "".join(f"{hashlib.sha256(files[name].read_bytes()).hexdigest()}  {name}\n" for name in sorted(files))
    (release / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(*sorted(release.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
