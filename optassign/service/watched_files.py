"""Files that are read anew when they change."""

import os
from pathlib import Path

__all__ = ["WatchedFiles"]


class WatchedFiles:
    """Some files as they were last seen. Made before they are read first, so that no change falls in between."""

    def __init__(self, *paths: Path | None) -> None:
        self._paths = [path for path in paths if path is not None]
        self._seen = [_look_at(path) for path in self._paths]

    def have_changed(self) -> bool:
        """Whether any of them differs from when it was last asked; asks the file system, so not for the event loop."""
        before, self._seen = self._seen, [_look_at(path) for path in self._paths]
        return self._seen != before


def _look_at(path: Path) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
