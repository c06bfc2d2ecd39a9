"""The sources of task weights: the snapshot, changelogs, or rates measured from one snapshot to the next."""

from collections.abc import Mapping
from math import log2

from optassign.formats.assignment import SourceRate, SourceRates
from optassign.formats.base import to_ms
from optassign.formats.configs import Options
from optassign.formats.tasks import TaskInfo
from optassign_models.policy.constants import (
    COUNTS_AFTER_MS,
    EARLY_MS,
    HALF_LIFE_MS,
    LEAST_MEASURED_MS,
    LEAST_WEIGHT,
    MOST_WEIGHT,
)

__all__ = ["counts_as_weight", "find_counting_ms", "find_fixed_weight", "measure_rates", "weigh_tasks"]


def measure_rates(
    tasks: tuple[TaskInfo, ...], options: Options, taken_at: str | None, before: SourceRates | None
) -> SourceRates | None:
    """Records per second of the source partitions of each task, by what they grew since the remembered snapshot.

    None where rates are not asked for, or the snapshot has no time. A rate is a mean over all measurements, and one that is
    eight hours older counts half: a short measurement, as between two passes, soon weighs little. A task whose offsets have
    fallen (its topics were made anew) begins again; a clock that went back teaches nothing, and neither does a snapshot without
    offsets, as of a rebalance in which the broker did not tell them.
    """
    if options.weigh_by != "rates" or taken_at is None:
        return None
    known = {} if before is None else {row.task: row for row in before.tasks}
    elapsed = 0 if before is None else to_ms(taken_at) - to_ms(before.taken_at)
    told_nothing = all(task.source_end_offset is None for task in tasks)
    if before is not None and (told_nothing or 0 <= elapsed < LEAST_MEASURED_MS):
        return before
    kept = 0.5 ** (max(0, elapsed) / HALF_LIFE_MS)
    rows = []
    for task in tasks:
        end = task.source_end_offset
        if end is None:
            continue
        row = known.get(task.id)
        rate, measured = (None, 0.0) if row is None or row.per_second is None else (row.per_second, row.measured)
        if row is not None and elapsed >= LEAST_MEASURED_MS and end >= row.end_offset:
            now = (end - row.end_offset) * 1_000 / elapsed
            old, measured = measured * kept, measured * kept + 1 - kept
            rate = now if rate is None else rate + (now - rate) * (1 - old / measured)
        mean = None if rate is None else _round(rate)
        rows.append(SourceRate(task=task.id, end_offset=end, per_second=mean, measured=float(f"{measured:.6g}")))
    return SourceRates(taken_at=taken_at, tasks=tuple(rows))


def counts_as_weight(row: SourceRate) -> bool:
    """Whether the rate was measured for long enough to be what the task weighs: about a minute."""
    return row.per_second is not None and _find_missing_ms(row) == 0


def find_counting_ms(rates: SourceRates | None) -> int | None:
    """When all of these rates count, in ms since 1970, if they are measured on; None where they do or there are none."""
    missing = 0 if rates is None else max((_find_missing_ms(row) for row in rates.tasks), default=0)
    return to_ms(rates.taken_at) + missing if rates is not None and missing else None


def _find_missing_ms(row: SourceRate) -> int:
    """For how long a rate has yet to be measured until it counts."""
    measured_ms = -HALF_LIFE_MS * log2(1 - row.measured) if row.measured < 1 else float(COUNTS_AFTER_MS)
    return round(COUNTS_AFTER_MS - measured_ms) if measured_ms + EARLY_MS < COUNTS_AFTER_MS else 0


def weigh_tasks(tasks: tuple[TaskInfo, ...], options: Options, rates: SourceRates | None) -> tuple[TaskInfo, ...]:
    """The tasks with the weights that the options ask for; `task_weights` go before all others.

    By changelog or by rate a weight is a multiple of the mean, at least a twentieth of it. Tasks with no or too few
    measurements weigh 1, the mean.
    """
    known = _list_known(tasks, options, rates)
    mean = sum(known.values()) / len(known) if known else 0.0
    if not options.task_weights and mean <= 0:
        return tasks

    def weigh(task: TaskInfo) -> float:
        fixed = find_fixed_weight(task.id, options)
        if fixed is not None or mean <= 0:
            return task.weight if fixed is None else fixed
        return _round(min(MOST_WEIGHT, max(LEAST_WEIGHT, known.get(task.id, mean) / mean)))

    return tuple(_with_weight(task, weigh(task)) for task in tasks)


def find_fixed_weight(task: str, options: Options) -> float | None:
    """The weight that `task_weights` gives a task or its subtopology; None without one."""
    return options.task_weights.get(task, options.task_weights.get(task.rpartition("_")[0]))


def _list_known(tasks: tuple[TaskInfo, ...], options: Options, rates: SourceRates | None) -> Mapping[str, float]:
    if options.weigh_by == "changelog":
        return {task.id: float(task.changelog_end_offset) for task in tasks if task.changelog_end_offset is not None}
    if rates is None:
        return {}
    here = {task.id for task in tasks}
    rows = (row for row in rates.tasks if row.task in here and counts_as_weight(row))
    return {row.task: row.per_second for row in rows if row.per_second is not None}


def _round(value: float) -> float:
    """Three digits: growth of all changelogs alike changes no weight, and reports stay readable."""
    return float(f"{value:.3g}")


def _with_weight(task: TaskInfo, weight: float) -> TaskInfo:
    if weight == task.weight:
        return task
    copy = task.__copy__()  # without all checks again: there are thousands
    copy.__dict__["weight"] = weight
    return copy
