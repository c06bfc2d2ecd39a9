"""Builds Maven modules of the folder `java`, each only if a source is newer than its last build."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["BuildError", "build", "is_built", "lock"]

_LIBRARIES = ("planner", "client", "shared")
"""Modules whose classes are in the jars of others."""


class BuildError(RuntimeError):
    """Maven could not build a module; the text has what Maven said."""


def is_built(module: Path) -> bool:
    """Whether the module was built after the last change of its sources: alone, or with all others by `make java`.

    Stamps tell, since Maven leaves a jar as old as it was where nothing has changed.
    """
    stamps = [folder / "target" / ".built" for folder in (module, module.parent)]
    built = max((stamp.stat().st_mtime_ns for stamp in stamps if stamp.is_file()), default=0)
    folders = [module, *(module.parent / name for name in _LIBRARIES)]
    files = [path for folder in folders for path in (folder / "src" / "main").rglob("*") if path.is_file()]
    poms = [pom for folder in (module.parent, *folders) if (pom := folder / "pom.xml").is_file()]
    return all(source.stat().st_mtime_ns <= built for source in [*poms, *files])


def build(module: Path, maven: str = "mvn", *, with_libraries: bool = True) -> None:
    """Package a module if it is not built, without its tests. BuildError if Maven cannot.

    It waits for another process that builds at the same time. `with_libraries`: build the modules, too, that this one holds.
    """
    if is_built(module):
        return
    pom = module.parent / "pom.xml"
    part = ["-f", str(pom), "-pl", module.name, "-am"] if with_libraries else ["-f", str(module / "pom.xml")]
    with lock(pom):
        if is_built(module):  # by the process that was waited for
            return
        run(maven, *part, "-Dmaven.test.skip=true", "-Dstyle.skip", "package")
        (module / "target" / ".built").touch()


def run(maven: str, *arguments: str) -> None:
    """Run Maven offline, and with the network only if that fails. BuildError with its output if both fail."""
    command = [maven, "--quiet", "--batch-mode", *arguments]
    for mode in (["--offline"], []):
        done = subprocess.run(
            [*command, *mode], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
        )
        if done.returncode == 0:
            return
    raise BuildError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout.strip()}")


@contextmanager
def lock(file: Path) -> Iterator[None]:
    """Lets one process at a time go on with a file, while the others wait; none waits where the platform has no such locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
