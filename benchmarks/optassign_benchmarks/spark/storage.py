"""Files on any file system that Spark supports: texts of runs and reports, and the files of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Storage"]


class Storage:
    """A folder on any of Hadoop's file systems; a plain path is on the default file system, usually the local one."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        root = self._path(folder)
        self._system = root.getFileSystem(configuration)
        self.folder: str = self._system.makeQualified(root).toString()
        """The path with the file system's scheme."""
        self.given = folder.rstrip("/") or folder
        """The given path; a relative path starts at the driver's working directory."""

    def under(self, *names: str) -> str:
        """Return the path of an entry in the folder."""
        return "/".join((self.folder, *names))

    def exists(self, *names: str) -> bool:
        """Return whether a file or folder exists."""
        return bool(self._system.exists(self._path(self.under(*names))))

    def names(self, *names: str) -> list[str]:
        """Return the names in a subfolder, sorted; empty if it does not exist."""
        if not self.exists(*names):
            return []
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._path(self.under(*names))))

    def sizes(self, *names: str) -> dict[str, int]:
        """Return name → bytes of the files in a subfolder, sorted by name; empty if it does not exist."""
        if not self.exists(*names):
            return {}
        found = [status for status in self._system.listStatus(self._path(self.under(*names))) if status.isFile()]
        return dict(sorted((status.getPath().getName(), int(status.getLen())) for status in found))

    def move(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Move a file to an unused path. OSError if that fails."""
        if not self._system.rename(self._path(self.under(*source)), self._path(self.under(*target))):
            raise OSError(f"{self.under(*target)}: cannot be written")

    def delete(self, *names: str) -> None:
        """Delete a file, or a folder with its content, if it exists."""
        self._system.delete(self._path(self.under(*names)), True)

    def read(self, *names: str) -> str:
        """Return the text of a file."""
        stream = self._system.open(self._path(self.under(*names)))
        try:
            return bytes(stream.readAllBytes()).decode("utf-8")
        finally:
            stream.close()

    def create(self, text: str, *names: str) -> bool:
        """Write a new file, and return True; return False if it exists already. py4j's error if it cannot be written."""
        try:
            stream = self._system.create(self._path(self.under(*names)), False)
        except Exception:  # an error of the JVM; the session reports it in one line
            if self.exists(*names):
                return False
            raise
        try:
            stream.write(bytearray(text, "utf-8"))
        finally:
            stream.close()
        return True

    def write(self, text: str, *names: str) -> None:
        """Write a file completely or not at all. OSError if that fails."""
        path, draft = self._path(self.under(*names)), self._path(self.under(*names[:-1], f".{names[-1]}.draft"))
        stream = self._system.create(draft, True)
        try:
            stream.write(bytearray(text, "utf-8"))
        finally:
            stream.close()
        self._system.delete(path, False)
        if not self._system.rename(draft, path):
            raise OSError(f"{path}: cannot be written")
