"""Standard output where there is none."""

import errno
import io

__all__ = ["ClosedOutput"]


class ClosedOutput(io.TextIOBase):
    """Every write is an error, at once or, if the writer ignores that, when it is flushed."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._written = False

    def write(self, text: str) -> int:
        """Refuse it. OSError."""
        self._written = True
        raise OSError(errno.EBADF, "it is closed")

    def flush(self) -> None:
        """Refuse it, if anything has been written since. OSError."""
        if self._written:
            self._written = False
            raise OSError(errno.EBADF, "it is closed")
