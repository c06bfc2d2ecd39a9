"""Build Maven modules of the folder `java`, each only if a source is newer than its last build."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LIBRARIES = ("planner", "client", "shared")
"""Modules whose classes are in the jars of other modules."""


class BuildError(RuntimeError):
    """Maven could not build a module; the text is Maven's output."""


def is_built(module: Path) -> bool:
    """Return whether the module was built after the last change of its sources, alone or by `make java`.

    The times of stamp files are compared, because Maven does not touch a jar if nothing has changed.
    """
    stamps = [folder / "target" / ".built" for folder in (module, module.parent)]
    built = max((stamp.stat().st_mtime_ns for stamp in stamps if stamp.is_file()), default=0)
    folders = [module, *(module.parent / name for name in _LIBRARIES)]
    files = [path for folder in folders for path in (folder / "src" / "main").rglob("*") if path.is_file()]
    poms = [pom for folder in (module.parent, *folders) if (pom := folder / "pom.xml").is_file()]
    return all(source.stat().st_mtime_ns <= built for source in [*poms, *files])


def build(module: Path, maven: str = "mvn", *, with_libraries: bool = True) -> None:
    """Package a module without its tests, unless it is built. BuildError if Maven fails.

    Waits while another process builds. `with_libraries`: also build the modules whose classes its jar contains.
    """
    if is_built(module):
        return
    pom = module.parent / "pom.xml"
    part = ["-f", str(pom), "-pl", module.name, "-am"] if with_libraries else ["-f", str(module / "pom.xml")]
    with lock(pom):
        if is_built(module):  # by the other process
            return
        run(maven, *part, "-Dmaven.test.skip=true", "-Dstyle.skip", "package")
        (module / "target" / ".built").touch()


def run(maven: str, *arguments: str) -> None:
    """Run Maven offline, and with the network if that fails. BuildError with the output if both fail."""
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
    """Lock a file among processes while in the context; without effect on platforms without such locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
