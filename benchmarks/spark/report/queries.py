"""The queries of the report, in Spark SQL; `{results}`, `{replays}` and so on stand for the rows of one run.

No number of the report is made by Python: whoever has the Parquet files can run the same queries.
"""

from __future__ import annotations

from dataclasses import dataclass

from optassign.benchmarks.spark.recordings.decoder import RECORDED
from optassign.benchmarks.spark.replay import EPISODES
from optassign.measuring.balance import WINDOW_NAMES

__all__ = ["REPLAY", "SWEEP", "Query"]


@dataclass(frozen=True, slots=True)
class Query:
    """One table of the report."""

    title: str
    about: str
    """What the numbers mean, in a sentence or two."""
    sql: str
    picture: str = ""
    """The name of the picture above the table, in plots.py; empty: none."""
    optional: bool = False
    """Whether the report leaves the table out where it has no rows."""


def _statuses_sql(table: str) -> str:
    return f"""
SELECT assignor, count(*) AS rows,
  count_if(status = 'ok') AS ok, count_if(status = 'failed') AS failed, count_if(status = 'timeout') AS timeout,
  count_if(status = 'out-of-memory') AS `out of memory`,
  count_if(balanced) AS balanced, count_if(size(violations) > 0) AS `breaks rules`
FROM {table} GROUP BY assignor ORDER BY assignor"""


_BOUNDED = """
SELECT *, max(restore_bound) OVER (PARTITION BY instance) AS minimum
FROM {results} WHERE status = 'ok'"""
"""The minimum of an instance is the greatest bound that any assignor proved for it."""

_ONE_ANSWER = f"""
SELECT shape, assignor, count(*) AS instances, count_if(balanced) AS balanced,
  percentile(ratio, 0.5) AS median, percentile(ratio, 0.9) AS `9 of 10`, max(ratio) AS most,
  count_if(minimum = 0 AND planned_work > 0) AS `more than 0`
FROM (SELECT *, try_divide(planned_work, minimum) AS ratio FROM ({_BOUNDED}))
WHERE minimum IS NOT NULL AND planned_work IS NOT NULL
GROUP BY shape, assignor ORDER BY shape, assignor"""

_PLAYED = f"""
SELECT shape, assignor, count(*) AS instances, count_if(converged) AS rest, count_if(converged_balanced) AS balanced,
  percentile(ratio, 0.5) AS median, percentile(ratio, 0.9) AS `9 of 10`, max(ratio) AS most,
  count_if(minimum = 0 AND converged_restored > 0) AS `more than 0`
FROM (SELECT *, try_divide(converged_restored, minimum) AS ratio FROM ({_BOUNDED}))
WHERE minimum IS NOT NULL AND rebalances IS NOT NULL
GROUP BY shape, assignor ORDER BY shape, assignor"""

_REBALANCES = """
SELECT shape, tasks, clients, assignor, count(*) AS instances, count_if(converged) AS rest,
  percentile(rebalances, 0.5) AS `rebalances, median`, max(rebalances) AS most,
  avg(converged_active_moves) AS `active moves, mean`, avg(converged_standby_moves) AS `standby moves, mean`
FROM {results} WHERE rebalances IS NOT NULL
GROUP BY shape, tasks, clients, assignor ORDER BY shape, tasks, clients, assignor"""

_PAUSES = """
SELECT shape, tasks, clients, assignor, count(*) AS instances, avg(converged_active_moves) AS `active moves, mean`,
  avg(converged_active_moves_logged) AS `of them logged`,
  avg(converged_moved_more_than_once) AS `tasks moved more than once, mean`, max(converged_moved_more_than_once) AS most,
  try_divide(sum(converged_moves_repeated), sum(converged_active_moves)) AS `share of moves beyond the first`
FROM {results} WHERE rebalances IS NOT NULL
GROUP BY shape, tasks, clients, assignor ORDER BY shape, tasks, clients, assignor"""

_SECONDS = """
SELECT assignor, tasks, clients, count(*) AS answers, min(seconds) AS least, percentile(seconds, 0.5) AS median,
  percentile(seconds, 0.9) AS `9 of 10`, max(seconds) AS most
FROM {results} WHERE seconds IS NOT NULL
GROUP BY assignor, tasks, clients ORDER BY assignor, tasks, clients"""

_GROWTH = """
SELECT assignor, count(DISTINCT tasks, clients) AS sizes,
  regr_slope(ln(seconds), ln(tasks * clients)) AS exponent,
  exp(regr_intercept(ln(seconds), ln(tasks * clients)) + regr_slope(ln(seconds), ln(tasks * clients)) * ln(1e7))
    AS `s at 10,000 × 1,000`
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
    ("excess", " + ".join(f"excess_{name}" for name in WINDOW_NAMES)),
    ("cold copies", "cold_copies"),
    ("cold actives", "cold_actives"),
    ("active moves", "active_moves"),
    ("standby moves", "standby_moves"),
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
  count_if(both AND mine.converged_restored < theirs.converged_restored) AS less,
  count_if(both AND mine.converged_restored = theirs.converged_restored) AS same,
  count_if(both AND mine.converged_restored > theirs.converged_restored) AS more,
  count_if(NOT both) AS `not comparable`
FROM {results} AS mine JOIN {results} AS theirs
  ON mine.instance = theirs.instance AND theirs.assignor = 'cp-sat' AND mine.assignor <> 'cp-sat'
CROSS JOIN LATERAL (
  SELECT coalesce(mine.converged AND mine.converged_balanced AND theirs.converged AND theirs.converged_balanced, false) AS both
)
WHERE mine.rebalances IS NOT NULL OR theirs.rebalances IS NOT NULL
GROUP BY mine.shape, mine.assignor ORDER BY mine.shape, mine.assignor"""

_NOT_OK = """
SELECT key, status, error, host FROM {results} WHERE status <> 'ok' ORDER BY key LIMIT 100"""

SWEEP = (
    Query("Rows", "One row for each benchmark instance and assignor.", _statuses_sql("{results}")),
    Query(
        "Restored until the group rests, against the proven minimum",
        "Offsets replayed over the whole convergence ÷ the least that any convergence restores. 1 cannot be beaten by answers"
        " that end balanced; less than 1 comes of answers that do not. *More than 0*: instances where nothing had to be"
        " restored, yet something was.",
        _PLAYED,
        "restored",
        optional=True,
    ),
    Query(
        "Rebalances until the group rests",
        "With the moves of all of them. Under KIP-441 each follow-up comes after `probing.rebalance.interval.ms`.",
        _REBALANCES,
        "rebalances",
        optional=True,
    ),
    Query(
        "Pauses until the group rests",
        "Each move of an active task pauses it. Over all rebalances; *beyond the first*: of each task in a convergence.",
        _PAUSES,
        optional=True,
    ),
    Query(
        "Won and lost against cp-sat",
        "Instances where the whole convergence restored less than cp-sat's, the same or more. Not comparable: one of the two"
        " did not come to rest in balance.",
        _WINS,
        optional=True,
    ),
    Query(
        "Restore work that one answer plans, against the proven minimum",
        "Offsets of all cold copies of the answer and of its plan ÷ the minimum. Answers that ask for a follow-up without"
        " saying where it leads are left out.",
        _ONE_ANSWER,
    ),
    Query(
        "What one answer reaches, goal by goal",
        "Means over instances of all sizes, per 100 tasks; for subtopology balance the clients that execute a subtopology, most"
        " minus least (KIP-441). Excess: over all windows, what is beyond them. Who moves little may leave more of it.",
        _MEASURES,
        "measures",
    ),
    Query(
        "Seconds of one answer",
        "Of the call alone, on one core; the solver was loaded before. Of answers that were given: where rows timed out, it is"
        " the fastest that are left.",
        _SECONDS,
        "seconds",
    ),
    Query(
        "How seconds grow",
        "Exponent of a power law in tasks × clients, by least squares over logarithms.",
        _GROWTH,
        optional=True,
    ),
    Query(
        "Goals: proofs and gaps",
        "Goals that answers report, where any bound is known. A gap is what lies between value and bound, as a share.",
        _GOALS,
        "gaps",
        optional=True,
    ),
    Query("Rows that are not ok", "The first hundred.", _NOT_OK, optional=True),
)
"""Tables of the report on a sweep."""

_THEN = f"""
SELECT r.path, r.application, r.day, r.recorded_at, r.assignor, r.balanced, r.seconds,
  r.restore_work + r.warmup_work AS restored, r.active_moves + r.standby_moves AS moves,
  t.restore_work + t.warmup_work AS restored_then, t.active_moves + t.standby_moves AS moves_then
FROM {{replays}} AS r JOIN {{replays}} AS t ON r.path = t.path AND t.assignor = '{RECORDED}'
WHERE r.status = 'ok' AND t.status = 'ok'"""


def _savings_sql(*group: str, limit: str = "") -> str:
    columns = ", ".join(group)
    return f"""
SELECT {columns}, count(*) AS rebalances,
  sum(restored_then) AS `restored then`, sum(restored) AS `restored now`,
  sum(restored_then) - sum(restored) AS `saved offsets`,
  sum(moves_then) AS `moves then`, sum(moves) AS `moves now`, sum(moves_then) - sum(moves) AS `saved moves`,
  count_if(balanced) AS balanced
FROM ({_THEN}) WHERE assignor <> '{RECORDED}'
GROUP BY {columns} ORDER BY {columns}{limit}"""


_EPISODES = f"""
WITH steps AS ({EPISODES}),
then AS (
  SELECT s.application, s.episode, min(s.day) AS day, count(*) AS rebalances, max_by(s.followup, s.recorded_at) AS open,
    sum(r.restore_work + r.warmup_work) AS restored, sum(r.active_moves + r.standby_moves) AS moves
  FROM steps AS s JOIN {{replays}} AS r ON r.path = s.path AND r.assignor = '{RECORDED}'
  GROUP BY s.application, s.episode
),
first AS (SELECT application, episode, path FROM steps WHERE begins)
SELECT c.application, c.assignor, count(*) AS episodes, count_if(c.converged) AS rest,
  sum(t.rebalances) AS `rebalances then`, sum(c.rebalances) AS `rebalances now`,
  sum(t.restored) AS `restored then`, sum(c.converged_restored) AS `restored now`,
  sum(t.moves) AS `moves then`, sum(c.converged_active_moves + c.converged_standby_moves) AS `moves now`,
  sum(c.converged_moved_more_than_once) AS `actives moved more than once now`
FROM {{convergences}} AS c
JOIN first AS f ON c.path = f.path
JOIN then AS t ON t.application = f.application AND t.episode = f.episode
WHERE c.rebalances IS NOT NULL AND NOT t.open
GROUP BY c.application, c.assignor ORDER BY c.application, c.assignor"""

_ANSWERED = f"""
SELECT assignor, count(*) AS answers, percentile(seconds, 0.5) AS median, percentile(seconds, 0.9) AS `9 of 10`,
  percentile(seconds, 0.99) AS `99 of 100`, max(seconds) AS most
FROM {{replays}} WHERE seconds IS NOT NULL AND assignor <> '{RECORDED}' GROUP BY assignor ORDER BY assignor"""

_UNREADABLE = """
SELECT path, status, error AS reason FROM {errors} ORDER BY path LIMIT 100"""
_FAILED_REPLAYS = """
SELECT path, assignor, status, error FROM {replays} WHERE status <> 'ok' ORDER BY path, assignor LIMIT 100"""

REPLAY = (
    Query(
        "Rows", f"One row for each recording and assignor; `{RECORDED}` is what was answered then.", _statuses_sql("{replays}")
    ),
    Query(
        "Saved, rebalance by rebalance",
        "Each recorded rebalance answered anew, from the state that it was recorded in. Restored: offsets that the copies and"
        " warm-ups of the answer have to replay until the next rebalance. Moves: of actives and standbys.",
        _savings_sql("application", "assignor"),
        "savings",
    ),
    Query(
        "Saved over whole episodes",
        "An episode is a rebalance that no follow-up led to, and its follow-ups. *Then*: all that was recorded of it. *Now*:"
        " its first snapshot played on until the group rests. Episodes whose end is not recorded, and convergences that were"
        " cut short, are left out.",
        _EPISODES,
        "episodes",
        optional=True,
    ),
    Query(
        "Saved, day by day",
        "As above; the first three hundred rows.",
        _savings_sql("application", "day", "assignor", limit=" LIMIT 300"),
        "days",
    ),
    Query("Seconds of one answer", "Of the call alone, on one core; the solver was loaded before.", _ANSWERED),
    Query("Answers that failed", "The first hundred.", _FAILED_REPLAYS, optional=True),
    Query("Files that are no recordings", "The first hundred.", _UNREADABLE, optional=True),
)
"""Tables of the report on a replay."""
