"""`optassign watch` next to a group: the program as users start it, and its output."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from optassign_benchmarks.kafka.jars import watch_jar
from optassign_benchmarks.kafka.processes import ChildProcess, find_free_ports

_QUICK: Mapping[str, object] = {
    "optassign.watch.interval.ms": 500,
    "optassign.watch.pause.ms": 2000,
    "optassign.acceptable.recovery.lag": 1000,
}
AS_SHIPPED: Mapping[str, object] = {
    "optassign_watch_interval_ms": 10_000,
    "optassign_watch_quick_interval_ms": 1000,
    "optassign_watch_pause_ms": 10_000,
}
"""The defaults of a watcher."""


class Watching:
    """A watcher of one group; a context manager, which stops it by SIGTERM."""

    def __init__(self, address: str, group: str, folder: Path, *options: str, **properties: object) -> None:
        """`options`: of the command line; `properties`: of its file, with `_` for `.`, in addition to the defaults here or
        instead of them."""
        (port,) = find_free_ports(1)
        self._url = f"http://127.0.0.1:{port}/metrics"
        more = {name.replace("_", "."): value for name, value in properties.items()}
        settings = {"bootstrap.servers": address, "optassign.watch.metrics": f"127.0.0.1:{port}", **_QUICK, **more}
        file = folder / f"{group}-{port}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        arguments = ["--config", str(file), "--groups", group, *options]
        java = ["java", "-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={folder}"]
        self.process = ChildProcess([*java, "-jar", str(watch_jar()), *arguments], folder / f"{group}-watch-{port}.log")

    @property
    def said(self) -> str:
        """Its log."""
        return self.process.log.read_text(encoding="utf-8")

    @property
    def triggers(self) -> int:
        """How many assignments it has brought about, restorations of the config included."""
        return len(re.findall(r" (?:trigger|restore): reason=| restored: ", self.said))

    def read(self) -> dict[str, float]:
        """Its metrics; empty while it does not answer yet."""
        try:
            with urllib.request.urlopen(self._url, timeout=60) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.alive:
            self.process.stop()
