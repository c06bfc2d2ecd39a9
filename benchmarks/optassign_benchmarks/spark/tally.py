"""How a run stands: what there is of it, what failed, which episodes have not ended; the last line of a command says so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optassign_benchmarks.spark.replay import read_episodes
from optassign_benchmarks.spark.runs import Run
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.tables.parquet import CONVERGED, FAILED, HISTORY, REPLAYED, RESULT, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Tally", "count_outcomes"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of a whole run, however many commands it took."""

    statuses: dict[str, int]
    """Status -> rows of answers and convergences, sorted."""
    unreadable: int = 0
    """Files that are no recordings."""
    episodes: int = 0
    """Episodes of a replay that plays them on; the others count none."""
    open_episodes: int = 0
    """Those among these whose last recording asks for a follow-up that is not recorded."""

    @property
    def failures(self) -> int:
        """Rows that are not ok."""
        return sum(self.statuses.values()) - self.statuses.get("ok", 0)

    def describe(self) -> str:
        """Describe the failures and the unfinished rows, or say that all went well."""
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
    """Count the rows that a run has by now."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    statuses: Counter[str] = Counter()
    for name in (RESULT, HISTORY) if run.kind == "sweep" else (REPLAYED, CONVERGED):
        for row in read_rows(spark, storage, name, run.id).groupBy("status").count().collect():
            statuses[row["status"]] += row["count"]
    unreadable = episodes = open_episodes = 0
    if run.kind == "replay":
        unreadable = read_rows(spark, storage, FAILED, run.id).count()
    if run.converge:
        steps = read_episodes(spark, storage, run)
        last = F.max(F.struct("recorded_at", "path", "followup")).alias("last")
        ends = steps.groupBy("application", "episode").agg(last).groupBy("last.followup").count().collect()
        episodes, open_episodes = sum(row["count"] for row in ends), sum(row["count"] for row in ends if row["followup"])
    return Tally(dict(sorted(statuses.items())), unreadable, episodes, open_episodes)
