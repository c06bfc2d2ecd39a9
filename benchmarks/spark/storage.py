"""Text files on any file system that Spark knows: the file of a run, and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Storage"]


class Storage:
    """A folder on any of Hadoop's file systems (a plain path: the local one)."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        jvm: Any = spark.sparkContext._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        root = self._path(folder)
        self._system = root.getFileSystem(configuration)
        self.folder: str = self._system.makeQualified(root).toString()
        """The path with the file system's scheme."""
        self.given = folder.rstrip("/") or folder
        """The path as it was given; if relative, then to the working directory of the driver."""

    def under(self, *names: str) -> str:
        """The path of something in the folder."""
        return "/".join((self.folder, *names))

    def exists(self, *names: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._system.exists(self._path(self.under(*names))))

    def names(self, *names: str) -> list[str]:
        """The names of what is in a folder below the folder, sorted; none if there is no such folder."""
        if not self.exists(*names):
            return []
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._path(self.under(*names))))

    def read(self, *names: str) -> str:
        """The text of a file."""
        stream = self._system.open(self._path(self.under(*names)))
        try:
            return bytes(stream.readAllBytes()).decode("utf-8")
        finally:
            stream.close()

    def write(self, text: str, *names: str) -> None:
        """Write a file, wholly or not at all. OSError if that fails."""
        path, draft = self._path(self.under(*names)), self._path(self.under(*names[:-1], f".{names[-1]}.draft"))
        stream = self._system.create(draft, True)
        try:
            stream.write(bytearray(text, "utf-8"))
        finally:
            stream.close()
        self._system.delete(path, False)
        if not self._system.rename(draft, path):
            raise OSError(f"{path}: cannot be written")
