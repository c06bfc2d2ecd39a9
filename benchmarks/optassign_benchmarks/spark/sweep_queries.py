"""The queries of the report on a sweep of snapshots, and on a sweep of random histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optassign.measuring.balance import SHARE_NAMES
from optassign.simulation.history_grades import GROUPS, GradeColumn
from optassign_benchmarks.spark.reports.query import FAIR, Query, describe_statuses, format_value, statuses_sql

_MARKED = """
SELECT *, max(converged_rebalances IS NOT NULL) OVER (PARTITION BY instance) AS played,
  coalesce(converged_stable AND converged_balanced AND size(converged_violations) = 0, false) AS rests,
  coalesce(status = 'ok' AND FAIR AND planned_work IS NOT NULL, false) AS fair
FROM {results}""".replace("FAIR", FAIR)
"""`played`: whether any assignor has converged on the instance. Only rows with `rests`, or `fair`, can be the best."""

_WON = f"""
SELECT assignor, count(*) AS instances, count_if(rests) AS `stable and balanced`,
  count_if(rests AND converged_restored_offsets = least_restored) AS `least restored`,
  count_if(rests AND converged_moved_active = fewest_moves) AS `fewest moves`,
  count_if(rests AND converged_rebalances = fewest_rebalances) AS `fewest rebalances`,
  percentile(seconds, 0.5) AS `median s of an answer`
FROM (
  SELECT *, min(IF(rests, converged_restored_offsets, NULL)) OVER (PARTITION BY instance) AS least_restored,
    min(IF(rests, converged_rebalances, NULL)) OVER (PARTITION BY instance) AS fewest_rebalances,
    min(IF(rests, converged_moved_active, NULL)) OVER (PARTITION BY instance) AS fewest_moves
  FROM ({_MARKED}) WHERE played
)
GROUP BY assignor ORDER BY `least restored` DESC, `stable and balanced` DESC, `fewest moves` DESC, assignor"""

_WON_AT_ONCE = f"""
SELECT assignor, count(*) AS instances, count_if(fair) AS `balanced or followed up`,
  count_if(fair AND planned_work = least_planned) AS `least restore work planned`,
  count_if(fair AND active_moves = fewest_moves) AS `fewest moves`,
  percentile(seconds, 0.5) AS `median s of an answer`
FROM (
  SELECT *, min(IF(fair, planned_work, NULL)) OVER (PARTITION BY instance) AS least_planned,
    min(IF(fair, active_moves, NULL)) OVER (PARTITION BY instance) AS fewest_moves
  FROM ({_MARKED}) WHERE NOT played
)
GROUP BY assignor ORDER BY `least restore work planned` DESC, `balanced or followed up` DESC, `fewest moves` DESC, assignor"""


def _describe_best_convergences(rows: Sequence[dict[str, Any]]) -> str:
    return _describe_best(rows, "Whole convergences", ("least restored", "fewest moves", "fewest rebalances"))


def _describe_best_single_answers(rows: Sequence[dict[str, Any]]) -> str:
    return _describe_best(rows, "Single answers", ("least restore work planned", "fewest moves"))


def _describe_best(rows: Sequence[dict[str, Any]], what: str, measures: Sequence[str]) -> str:
    """Return a sentence with the best assignors for each measure and their numbers of instances; ties are all named."""
    instances = max(row["instances"] for row in rows)
    parts = []
    for measure in measures:
        most = max(row[measure] for row in rows)
        names = ", ".join(f"`{row['assignor']}`" for row in rows if row[measure] == most) if most else "no assignor"
        parts.append(f"{measure} by **{names}**" + (f" ({most:,} of {instances:,} instances)" if most else ""))
    timed = [row for row in rows if row["median s of an answer"] is not None]
    if timed:
        fastest = min(timed, key=lambda row: (row["median s of an answer"], row["assignor"]))
        parts.append(f"fastest answers by **`{fastest['assignor']}`** ({format_value(fastest['median s of an answer'])} s)")
    return f"{what}: {'; '.join(parts)}."


_BOUNDED = """
SELECT *, max(restore_bound) OVER (PARTITION BY instance) AS minimum
FROM {results} WHERE status = 'ok'"""
"""The minimum of an instance is the greatest bound that any assignor has proven for it."""

_ONE_ANSWER = f"""
SELECT shape, assignor, count(*) AS instances, count_if(balanced) AS balanced,
  percentile(ratio, 0.5) AS median, percentile(ratio, 0.9) AS `9 of 10`, max(ratio) AS most,
  count_if(minimum = 0 AND planned_work > 0) AS `more than 0`
FROM (SELECT *, try_divide(planned_work, minimum) AS ratio FROM ({_BOUNDED}))
WHERE minimum IS NOT NULL AND planned_work IS NOT NULL
GROUP BY shape, assignor ORDER BY shape, assignor"""

_PLAYED = f"""
SELECT shape, assignor, count(*) AS instances, count_if(converged_stable) AS stable, count_if(converged_balanced) AS balanced,
  percentile(ratio, 0.5) AS median, percentile(ratio, 0.9) AS `9 of 10`, max(ratio) AS most,
  count_if(minimum = 0 AND converged_restored_offsets > 0) AS `more than 0`
FROM (SELECT *, try_divide(converged_restored_offsets, minimum) AS ratio FROM ({_BOUNDED}))
WHERE minimum IS NOT NULL AND converged_rebalances IS NOT NULL
GROUP BY shape, assignor ORDER BY shape, assignor"""

_REBALANCES = """
SELECT shape, tasks, clients, assignor, count(*) AS instances, count_if(converged_stable) AS stable,
  percentile(converged_rebalances, 0.5) AS `rebalances, median`, max(converged_rebalances) AS most,
  avg(converged_moved_active) AS `active moves, mean`, avg(converged_standby_migrations) AS `standby migrations, mean`
FROM {results} WHERE converged_rebalances IS NOT NULL
GROUP BY shape, tasks, clients, assignor ORDER BY shape, tasks, clients, assignor"""

_MOVES = """
SELECT shape, tasks, clients, assignor, count(*) AS instances, avg(converged_moved_active) AS `active moves, mean`,
  avg(converged_moved_logged) AS `of them logged`,
  avg(converged_moved_more_than_once) AS `tasks moved more than once, mean`, max(converged_moved_more_than_once) AS most,
  try_divide(sum(converged_moves_repeated), sum(converged_moved_active)) AS `share of moves beyond the first`
FROM {results} WHERE converged_rebalances IS NOT NULL
GROUP BY shape, tasks, clients, assignor ORDER BY shape, tasks, clients, assignor"""

_SECONDS = """
SELECT assignor, tasks, clients, count(*) AS answers, min(seconds) AS least, percentile(seconds, 0.5) AS median,
  percentile(seconds, 0.9) AS `9 of 10`, max(seconds) AS most
FROM {results} WHERE seconds IS NOT NULL
GROUP BY assignor, tasks, clients ORDER BY assignor, tasks, clients"""

_GROWTH = """
SELECT assignor, count(DISTINCT tasks, clients) AS sizes,
  regr_slope(ln(seconds), ln(tasks * clients)) AS exponent,
  exp(regr_intercept(ln(seconds), ln(tasks * clients))
    + regr_slope(ln(seconds), ln(tasks * clients)) * ln(10 * max(tasks * clients))) AS `s at 10 × the largest`
FROM {results} WHERE seconds > 0 AND tasks > 0
GROUP BY assignor HAVING count(DISTINCT tasks, clients) > 1 ORDER BY assignor"""

_GOALS = """
SELECT assignor, stage, goal, tasks, clients, answers, proven, `no bound`, `gap, median`, `gap, most`
FROM (
  SELECT assignor, goal.stage, goal.name AS goal, tasks, clients, count(*) AS answers, count_if(goal.proven) AS proven,
    count_if(goal.bound IS NULL) AS `no bound`,
    percentile(goal.gap, 0.5) AS `gap, median`, max(goal.gap) AS `gap, most`,
    sum(count(goal.bound)) OVER (PARTITION BY assignor, goal.stage, goal.name) AS bounds
  FROM (SELECT assignor, tasks, clients, explode(goals) AS goal FROM {results} WHERE status = 'ok')
  GROUP BY assignor, goal.stage, goal.name, tasks, clients
)
WHERE bounds > 0 ORDER BY assignor, stage, goal, tasks, clients"""

_PER_100 = (
    ("imbalance", " + ".join(f"imbalance_{name}" for name in SHARE_NAMES)),
    ("copies not caught up", "copies_not_caught_up"),
    ("actives not caught up", "actives_not_caught_up"),
    ("active moves", "active_moves"),
    ("standby migrations", "standby_migrations"),
    ("warm-ups", "warmups"),
)
_AVERAGES = ",\n  ".join(f"avg(100 * ({value}) / tasks) AS `{name}`" for name, value in _PER_100)
_MEASURES = f"""
SELECT shape, assignor, count(*) AS answers, count_if(balanced) AS balanced,
  {_AVERAGES},
  avg(subtopology_balance) AS `subtopology balance`
FROM {{results}} WHERE status = 'ok' AND tasks > 0
GROUP BY shape, assignor ORDER BY shape, assignor"""

_WINS = """
SELECT mine.shape, mine.assignor, count(*) AS instances,
  count_if(both AND mine.converged_restored_offsets < theirs.converged_restored_offsets) AS less,
  count_if(both AND mine.converged_restored_offsets = theirs.converged_restored_offsets) AS same,
  count_if(both AND mine.converged_restored_offsets > theirs.converged_restored_offsets) AS more,
  count_if(NOT both) AS `not comparable`
FROM {results} AS mine JOIN {results} AS theirs
  ON mine.instance = theirs.instance AND mine.assignor <> theirs.assignor
    AND theirs.assignor = concat('cp-sat', coalesce(concat(' [', theirs.options, ']'), ''))
CROSS JOIN LATERAL (
  SELECT coalesce(mine.converged_stable AND mine.converged_balanced
    AND theirs.converged_stable AND theirs.converged_balanced, false) AS both
)
WHERE mine.converged_rebalances IS NOT NULL OR theirs.converged_rebalances IS NOT NULL
GROUP BY mine.shape, mine.assignor ORDER BY mine.shape, mine.assignor"""

_NOT_OK = """
SELECT key, status, error, host FROM {results} WHERE status <> 'ok' ORDER BY key LIMIT 100"""

SWEEP = (
    Query(
        "Best assignors over whole convergences",
        "The run continued these instances until the group was stable. An assignor counts on an instance if its group ends"
        " stable, balanced and within the rules. Equally good assignors all count as the best.",
        _WON,
        optional=True,
        headline=_describe_best_convergences,
    ),
    Query(
        "Best assignors in single answers",
        "The run asked for one answer on instances with more tasks than `converge_up_to`. An answer counts if it keeps the"
        " rules and is balanced or reports the target of its follow-ups.",
        _WON_AT_ONCE,
        optional=True,
        headline=_describe_best_single_answers,
    ),
    Query("Rows", "Each instance has one row for each assignor.", statuses_sql("{results}"), headline=describe_statuses),
    Query(
        "Restored offsets of a convergence, against the proven minimum",
        "Each ratio divides the replayed offsets of a convergence by their proven minimum. No convergence that ends balanced is"
        " below 1. *More than 0*: instances whose minimum is 0 and whose convergence restored offsets.",
        _PLAYED,
        "restored",
        optional=True,
    ),
    Query(
        "Rebalances until the group is stable",
        "Moves are sums over these rebalances. Under KIP-441 each follow-up waits for `probing.rebalance.interval.ms`.",
        _REBALANCES,
        "rebalances",
        optional=True,
    ),
    Query(
        "Moves until the group is stable",
        "Each move of an active task interrupts it. *Beyond the first*: moves of a task after its first in the convergence.",
        _MOVES,
        optional=True,
    ),
    Query(
        "Restored offsets compared with cp-sat",
        "The columns count instances whose convergence restored less than cp-sat's, the same, or more. *Not comparable*: one of"
        " the two groups did not end stable and balanced.",
        _WINS,
        optional=True,
    ),
    Query(
        "Planned restore work of one answer, against the proven minimum",
        "Each ratio divides the offsets of all copies not caught up, in the answer and its target, by the proven minimum. The"
        " table leaves out answers that ask for a follow-up and report no target.",
        _ONE_ANSWER,
    ),
    Query(
        "Values of one answer, by goal",
        "Values are means per 100 tasks over instances of all sizes. Subtopology balance is KIP-441's: the number of clients"
        " that execute a subtopology, greatest minus least. Imbalance sums the counts beyond all shares. An assignor that moves"
        " few tasks may leave more imbalance.",
        _MEASURES,
        "measures",
    ),
    Query(
        "Seconds of one answer",
        "The time of the call alone, on one core, with the solver loaded before. Rows that timed out have no time, so where"
        " rows timed out the table shows the faster answers only.",
        _SECONDS,
        "seconds",
    ),
    Query(
        "Growth of seconds with size",
        "The exponent is that of a power law in tasks × clients, fitted by least squares over logarithms. The last column"
        " extrapolates to ten times the largest product; constants and caches make extrapolation beyond that invalid.",
        _GROWTH,
        optional=True,
    ),
    Query(
        "Proofs and gaps by goal",
        "The table has the goals that answers report with a bound. The gap is the distance from value to bound, as a share.",
        _GOALS,
        "gaps",
        optional=True,
    ),
    Query("Rows that are not ok", "The table shows the first 100 rows.", _NOT_OK, optional=True),
)
"""Tables of the report on a sweep."""


_BROKEN = "aggregate(map_values(violations), 0L, (total, number) -> total + number)"


def _select_column(column: GradeColumn, seen: set[str]) -> str:
    """Return SQL for a column under its label: a sum, or a quotient of two sums; shares in per cent."""
    total = f"sum({_BROKEN if column.sum == 'violations' else column.sum})"
    label = column.label if column.label not in seen else f"{column.label} ({column.key})"
    seen.add(label)
    if not column.per:
        return f"{total} AS `{label}`"
    value = f"try_divide({total}, sum({column.per}))"
    return f"100 * {value} AS `{label}, %`" if column.is_share else f"{value} AS `{label}`"


def _grade_sql(columns: Sequence[GradeColumn]) -> str:
    seen: set[str] = set()
    selected = ",\n  ".join(_select_column(column, seen) for column in columns)
    return f"""
SELECT assignor, count(*) AS histories,
  {selected}
FROM {{histories}} WHERE status = 'ok' GROUP BY assignor ORDER BY assignor"""


_HISTORY_ROWS = """
SELECT assignor, count(*) AS rows,
  count_if(status = 'ok') AS ok, count_if(status = 'failed') AS failed, count_if(status = 'timeout') AS timeout,
  count_if(status = 'out-of-memory') AS `out of memory`,
  count_if(size(violations) > 0) AS `breaks rules`, count_if(unsettled > 0) AS `does not settle`,
  sum(seconds) AS `s in all`
FROM {histories} GROUP BY assignor ORDER BY assignor"""
_WRONG = """
SELECT suite, seed, assignor, violations, unsettled FROM {histories}
WHERE assignor IN ('cp-sat', 'greedy') AND (size(violations) > 0 OR unsettled > 0) ORDER BY suite, seed, assignor LIMIT 100"""
_HISTORIES_NOT_OK = """
SELECT key, status, error, host FROM {histories} WHERE status <> 'ok' ORDER BY key LIMIT 100"""


def _describe_broken_rules(rows: Sequence[dict[str, Any]]) -> str:
    parts = [
        f"`{row['assignor']}` breaks a rule in {row['breaks rules']:,} and does not settle in {row['does not settle']:,}"
        for row in rows
    ]
    return f"{describe_statuses(rows)} Histories: {'; '.join(parts)}."


HISTORIES = (
    Query("Rows", "Each history has one row for each assignor.", _HISTORY_ROWS, headline=_describe_broken_rules),
    *(
        Query(title, "Values are means over all histories; docs/reference/simulator.md defines each.", _grade_sql(columns))
        for title, columns in GROUPS.items()
    ),
    Query(
        "Histories in which optassign broke a rule or did not settle",
        "Run `optassign simulate --suite SUITE --seed SEED --count 1` to play one again.",
        _WRONG,
        optional=True,
    ),
    Query("Rows that are not ok", "The table shows the first 100 rows.", _HISTORIES_NOT_OK, optional=True),
)
