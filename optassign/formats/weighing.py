"""Weights of tasks: given in the snapshot, from changelogs, or from rates measured between snapshots."""

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


def measure_rates(
    tasks: tuple[TaskInfo, ...], options: Options, taken_at: str | None, before: SourceRates | None
) -> SourceRates | None:
    """Return records per second of each task's source partitions, from their growth since the remembered snapshot.

    None if rates are not requested, or if the snapshot has no time. A rate is a weighted mean of all measurements: one that is
    eight hours older counts half, and a short one, as between two passes, counts little. A task whose offsets fell (its topics
    were recreated) keeps its rate. Nothing is measured if the clock went back, or if the broker reported no offsets.
    """
    if options.weigh_by != "rates" or taken_at is None:
        return None
    known = {} if before is None else {row.task: row for row in before.tasks}
    elapsed = 0 if before is None else to_ms(taken_at) - to_ms(before.taken_at)
    has_no_offsets = all(task.source_end_offset is None for task in tasks)
    if before is not None and (has_no_offsets or 0 <= elapsed < LEAST_MEASURED_MS):
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
    """Return whether the rate was measured long enough (about a minute) to be the task's weight."""
    return row.per_second is not None and _find_missing_ms(row) == 0


def find_counting_ms(rates: SourceRates | None) -> int | None:
    """Return when all of these rates will count, in ms since 1970; None if they do already, or if there are none."""
    missing = 0 if rates is None else max((_find_missing_ms(row) for row in rates.tasks), default=0)
    return to_ms(rates.taken_at) + missing if rates is not None and missing else None


def _find_missing_ms(row: SourceRate) -> int:
    """Return the milliseconds for which a rate must still be measured until it counts."""
    measured_ms = -HALF_LIFE_MS * log2(1 - row.measured) if row.measured < 1 else float(COUNTS_AFTER_MS)
    return round(COUNTS_AFTER_MS - measured_ms) if measured_ms + EARLY_MS < COUNTS_AFTER_MS else 0


def weigh_tasks(tasks: tuple[TaskInfo, ...], options: Options, rates: SourceRates | None) -> tuple[TaskInfo, ...]:
    """Return the tasks with the weights that the options ask for; `task_weights` take precedence.

    By changelog or by rate, a weight is a multiple of the mean, at least a twentieth. Tasks without enough measurements have
    weight 1, the mean.
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
    """Return the weight that `task_weights` gives the task or its subtopology; None without one."""
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
    """Return the value with three digits, so that uniform growth changes no weight and reports stay readable."""
    return float(f"{value:.3g}")


def _with_weight(task: TaskInfo, weight: float) -> TaskInfo:
    if weight == task.weight:
        return task
    copy = task.__copy__()  # without validation, which takes long for thousands of tasks
    copy.__dict__["weight"] = weight
    return copy
