"""Runs: the request of a run is a file next to its results, so that the run can be continued and distinguished from others.

    FOLDER/runs/RUN.json                        the request
    FOLDER/table=results/run=RUN/*.parquet      rows of a sweep
    FOLDER/table=histories/run=RUN/*.parquet    rows of a sweep of random histories
    FOLDER/table=replays/run=RUN/*.parquet      rows of a replay; `convergences` and `errors` next to them
    FOLDER/report-RUN.html, .md                 the report

A run's id is its name and a hash of all settings that can change its results: the same request twice is one run.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import optassign
from optassign.formats.input_errors import InputError
from optassign_benchmarks.pedigree import read_commit
from optassign_benchmarks.spark.presets import HistorySweep, Sweep
from optassign_benchmarks.spark.solver_process import SolverLimits
from optassign_benchmarks.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ProgressListener", "Run", "Tally", "count_outcomes", "find_run", "list_runs", "report_progress"]

Kind = Literal["sweep", "replay"]
ProgressListener = Callable[[int, int, str], None]
"""Called with the number done, the total and the name of the counted things, twice a second and from its own thread."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Run:
    """All settings that determine the rows of a run, except times."""

    kind: Kind
    name: str
    assignors: tuple[str, ...]
    limits: SolverLimits
    sweep: Sweep | HistorySweep | None = None
    recordings: str = ""
    """The folder of a replay, with the file system's scheme."""
    scale: int = 1
    converge: bool = False
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:attribute") of assignors from other packages."""
    optassign: str = optassign.__version__
    solver: str = f"ortools {version('ortools')}"
    commit: str = field(default_factory=read_commit)
    """The commit of the sources that began the run. The id excludes it, so that `continue` can detect another commit."""

    @property
    def id(self) -> str:
        """Return the name of the run and a hash of all settings except `commit`."""
        return f"{self.name}-{sha256(self._text('commit').encode()).hexdigest()[:8]}"

    def find_other_commit(self, storage: Storage) -> str | None:
        """Return the commit that began this run if it differs from this command's; None if it is the same or the run is new."""
        begun = Run.load(storage, self.id).commit if self.exists(storage) else read_commit()
        return None if begun == read_commit() else begun

    def save(self, storage: Storage) -> None:
        """Write the file of the run into the folder of all runs."""
        storage.write(self._text(), "runs", f"{self.id}.json")

    def exists(self, storage: Storage) -> bool:
        """Return whether the folder of all runs has this run."""
        return storage.exists("runs", f"{self.id}.json")

    def shared_columns(self) -> dict[str, Any]:
        """Return the columns that are the same in all rows that this command solves: its commit, versions and limits."""
        return {"solver": self.solver, "optassign": self.optassign, "commit": read_commit(), **asdict(self.limits)}

    def _text(self, without: str = "") -> str:
        data = {
            "format": _FORMAT,
            **{name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("sweep", "limits", without)},
            "sweep": None if self.sweep is None else self.sweep.model_dump(mode="json"),
            "limits": asdict(self.limits),
        }
        return json.dumps(data, indent=2, sort_keys=True) + "\n"

    @classmethod
    def load(cls, storage: Storage, run: str) -> Run:
        """Return the run with the id `run` from its file. InputError for a file of another format, or an invalid file."""
        source = storage.under("runs", f"{run}.json")
        try:
            data: dict[str, Any] = json.loads(storage.read("runs", f"{run}.json"))
            if data.pop("format") != _FORMAT:
                raise ValueError("another format")
            loaded = cls(
                **{
                    **data,
                    "assignors": tuple(data["assignors"]),
                    "registered": tuple((name, target) for name, target in data["registered"]),
                    "limits": SolverLimits(**data["limits"]),
                    "sweep": _load_sweep(data["sweep"]),
                }
            )
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(source, "", f"that it cannot be understood ({error})", "the file of a run") from None
        return loaded


def _load_sweep(data: dict[str, Any] | None) -> Sweep | HistorySweep | None:
    if data is None:
        return None
    return (HistorySweep if "histories" in data else Sweep).model_validate(data)


def list_runs(storage: Storage) -> list[str]:
    """Return the ids of all runs in the folder, sorted."""
    return [name.removesuffix(".json") for name in storage.names("runs") if name.endswith(".json") and name[0] != "."]


def find_run(storage: Storage, wanted: str | None) -> Run:
    """Return the run with that id or a unique beginning of it; by default the only run. InputError, with all ids, otherwise."""
    found = list_runs(storage)
    chosen = [run for run in found if run.startswith(wanted or "")]
    if wanted in found:
        chosen = [wanted] if wanted else chosen
    if len(chosen) != 1:
        what = "no run" if not found else f"{len(chosen)} runs" if wanted is None else f"{len(chosen)} runs of {wanted!r}"
        allowed = (
            _describe_choice(found) if found else "a folder that `optassign benchmark run` or `optassign replay` has written"
        )
        raise InputError(storage.folder, "", what, allowed)
    return Run.load(storage, chosen[0])


def _describe_choice(found: Sequence[str]) -> str:
    return f"--run with one of {', '.join(found)}"


@contextmanager
def report_progress(done: Callable[[], int], total: int, what: str, listener: ProgressListener | None) -> Iterator[None]:
    """Within the context, call `listener` with the number done, from `done()`, and `total`. None for no listener."""
    if listener is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            listener(min(done(), total), total, what)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        listener(min(done(), total), total, what)


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of a whole run, over all its commands."""

    statuses: dict[str, int]
    """Status → number of rows of answers and convergences, sorted."""
    unreadable: int = 0
    """Number of files that are not recordings."""
    episodes: int = 0
    """Number of episodes of a replay with convergences; otherwise 0."""
    open_episodes: int = 0
    """Number of these episodes whose last recording asks for a follow-up that is not recorded."""

    @property
    def failures(self) -> int:
        """Return the number of rows that are not ok."""
        return sum(self.statuses.values()) - self.statuses.get("ok", 0)

    def describe(self) -> str:
        """Return the failures and the unfinished episodes in words, or `all ok`."""
        return ", ".join(part for part in (self._describe_rows(), self._describe_files(), self._describe_episodes()) if part)

    def _describe_rows(self) -> str:
        if not self.failures:
            return "all ok"
        each = ", ".join(f"{number:,} {status}" for status, number in self.statuses.items() if status != "ok")
        return f"{self.failures:,} not ok ({each})"

    def _describe_files(self) -> str:
        if not self.unreadable:
            return ""
        return f"{self.unreadable:,} {'file is no recording' if self.unreadable == 1 else 'files are no recordings'}"

    def _describe_episodes(self) -> str:
        if not self.episodes:
            return ""
        if not self.open_episodes:
            return f"{self.episodes:,} {'episode' if self.episodes == 1 else 'episodes'}, all ended"
        return f"{self.open_episodes:,} of {self.episodes:,} episodes not ended"


def count_outcomes(spark: SparkSession, storage: Storage, run: Run) -> Tally:
    """Return the numbers of the rows that a run has so far."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    from optassign_benchmarks.spark.tables import (  # needs pyarrow
        CONVERGED,
        FAILED,
        HISTORY,
        REPLAYED,
        RESULT,
        read_episodes,
        read_rows,
    )

    statuses: Counter[str] = Counter()
    for name in (RESULT, HISTORY) if run.kind == "sweep" else (REPLAYED, CONVERGED):
        for row in read_rows(spark, storage, name, run.id).groupBy("status").count().collect():
            statuses[row["status"]] += row["count"]
    unreadable = episodes = open_episodes = 0
    if run.kind == "replay":
        unreadable = read_rows(spark, storage, FAILED, run.id).count()
    if run.converge:
        steps = read_episodes(spark, storage, run.id)
        last = F.max(F.struct("recorded_at", "path", "followup")).alias("last")
        ends = steps.groupBy("application", "episode").agg(last).groupBy("last.followup").count().collect()
        episodes, open_episodes = sum(row["count"] for row in ends), sum(row["count"] for row in ends if row["followup"])
    return Tally(dict(sorted(statuses.items())), unreadable, episodes, open_episodes)
