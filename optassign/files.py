"""Files that a command writes: whole or not at all. Imports nothing large: the command line needs this module first."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["write_file"]


def write_file(text: str, path: Path) -> None:
    """Replace the file by a rename of a temporary file in its folder; OSError leaves the old file unchanged."""
    path = Path(os.path.realpath(path))  # a link stays, its target is written
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | 0o666 & ~_read_umask()
    if not stat.S_ISREG(mode):  # a device or a pipe (or a folder, which cannot be opened)
        path.write_text(text, encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, stat.S_IMODE(mode))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _read_umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
