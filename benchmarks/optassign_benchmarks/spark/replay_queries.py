"""The queries of the report on a replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optassign_benchmarks.spark.recordings import RECORDED
from optassign_benchmarks.spark.reports.query import FAIR, Query, describe_statuses, format_value, statuses_sql
from optassign_benchmarks.spark.tables import EPISODES

__all__ = ["REPLAY"]


_THEN = f"""
SELECT r.path, r.application, r.day, r.recorded_at, r.recorded_assignor AS `answered then by`,
  r.assignor, r.balanced, r.violations, r.followup, r.seconds,
  r.restore_work + r.warmup_work AS restored, r.active_moves + r.standby_migrations AS moves,
  t.restore_work + t.warmup_work AS restored_then, t.active_moves + t.standby_migrations AS moves_then
FROM {{replays}} AS r JOIN {{replays}} AS t ON r.path = t.path AND t.assignor = '{RECORDED}'
WHERE r.status = 'ok' AND t.status = 'ok'"""


def _savings_sql(*group: str) -> str:
    columns = ", ".join(f"`{name}`" for name in group)
    return f"""
SELECT {columns}, count(*) AS rebalances,
  sum(restored_then) AS `restored then`, sum(restored) AS `restored now`,
  sum(restored_then) - sum(restored) AS `saved offsets`,
  sum(moves_then) AS `moves then`, sum(moves) AS `moves now`, sum(moves_then) - sum(moves) AS `saved moves`,
  count_if(balanced) AS balanced
FROM ({_THEN}) WHERE assignor <> '{RECORDED}'
GROUP BY {columns} ORDER BY {columns}"""


_WON = f"""
SELECT assignor, count(*) AS rebalances, count_if({FAIR}) AS `balanced or followed up`,
  sum(restored_then) AS `restored then`, sum(restored) AS `restored now`,
  try_divide(sum(restored_then) - sum(restored), sum(restored_then)) AS `saved, share`,
  sum(moves_then) AS `moves then`, sum(moves) AS `moves now`,
  percentile(seconds, 0.5) AS `median s of an answer`
FROM ({_THEN}) WHERE assignor <> '{RECORDED}'
GROUP BY assignor ORDER BY `balanced or followed up` DESC, `saved, share` DESC, assignor"""

_PLAYED = f"""
WITH steps AS ({EPISODES}),
then AS (
  SELECT s.application, s.episode, count(*) AS rebalances,
    coalesce(max(struct(s.recorded_at, s.path, s.followup)).followup, false) AS open,
    sum(r.restore_work + r.warmup_work) AS restored, sum(r.active_moves + r.standby_migrations) AS moves
  FROM steps AS s JOIN {{replays}} AS r ON r.path = s.path AND r.assignor = '{RECORDED}'
  GROUP BY s.application, s.episode
),
first AS (SELECT application, episode, path FROM steps WHERE begins),
played AS (
  SELECT c.*, NOT t.open AND c.converged_rebalances IS NOT NULL AS compared, t.open,
    coalesce(c.converged_stable AND c.converged_balanced AND size(c.converged_violations) = 0, false) AS rests,
    t.rebalances AS rebalances_then, t.restored AS restored_then, t.moves AS moves_then,
    c.converged_moved_active + c.converged_standby_migrations AS moves
  FROM {{convergences}} AS c
  JOIN first AS f ON c.path = f.path
  JOIN then AS t ON t.application = f.application AND t.episode = f.episode
)"""
"""Each episode under each assignor, with its recorded answers. `open`: its end is not recorded."""

_LEFT_OUT = """count_if(open) AS `not ended`, count_if(NOT open AND converged_rebalances IS NULL) AS `cut short`"""
_OF_COMPARED = "sum({0}) FILTER (WHERE compared)"
_EPISODES = f"""{_PLAYED}
SELECT application, assignor, count_if(compared) AS episodes, {_LEFT_OUT},
  count_if(compared AND rests) AS `stable and balanced`,
  {_OF_COMPARED.format("rebalances_then")} AS `rebalances then`,
  {_OF_COMPARED.format("converged_rebalances")} AS `rebalances now`,
  {_OF_COMPARED.format("restored_then")} AS `restored then`,
  {_OF_COMPARED.format("converged_restored_offsets")} AS `restored now`,
  {_OF_COMPARED.format("moves_then")} AS `moves then`, {_OF_COMPARED.format("moves")} AS `moves now`,
  {_OF_COMPARED.format("converged_moved_more_than_once")} AS `moved more than once`
FROM played GROUP BY application, assignor ORDER BY application, assignor"""

_WON_EPISODES = f"""{_PLAYED}
SELECT assignor, count_if(compared) AS episodes, {_LEFT_OUT}, count_if(compared AND rests) AS `stable and balanced`,
  {_OF_COMPARED.format("restored_then")} AS `restored then`,
  {_OF_COMPARED.format("converged_restored_offsets")} AS `restored now`,
  try_divide({_OF_COMPARED.format("restored_then - converged_restored_offsets")},
    {_OF_COMPARED.format("restored_then")}) AS `saved, share`,
  {_OF_COMPARED.format("rebalances_then")} AS `rebalances then`,
  {_OF_COMPARED.format("converged_rebalances")} AS `rebalances now`,
  {_OF_COMPARED.format("moves_then")} AS `moves then`, {_OF_COMPARED.format("moves")} AS `moves now`
FROM played GROUP BY assignor ORDER BY `stable and balanced` DESC, `saved, share` DESC, assignor"""


def _describe_savings_by_rebalance(rows: Sequence[dict[str, Any]]) -> str:
    return _describe_savings(rows, "Single rebalances", "balanced or followed up", "rebalances")


def _describe_savings_by_episode(rows: Sequence[dict[str, Any]]) -> str:
    left_out = f"left out: {rows[0]['not ended']:,} not ended, {rows[0]['cut short']:,} cut short"
    if not rows[0]["episodes"]:
        return f"Whole episodes: nothing to compare ({left_out})."
    return _describe_savings(rows, "Whole episodes", "stable and balanced", "episodes", f"; {left_out}")


def _describe_savings(rows: Sequence[dict[str, Any]], what: str, fair: str, of: str, more: str = "") -> str:
    """Return a sentence on the savings of the best assignors: that of the first row, and those of equally good rows."""
    best = rows[0]
    share = best["saved, share"]
    names = ", ".join(f"`{row['assignor']}`" for row in rows if (row[fair], row["saved, share"]) == (best[fair], share))
    saved = "has nothing to save" if share is None else f"restores {abs(share):.0%} {'less' if share >= 0 else 'more'}"
    numbers = f"{format_value(best['restored then'])} offsets then, {format_value(best['restored now'])} now"
    return f"{what}: **{names}** {saved} ({numbers}; {fair}: {best[fair]:,} of {best[of]:,} {of}{more})."


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
        "Best assignors over whole episodes",
        "An episode is a rebalance that is no follow-up, together with its follow-ups. *Then*: its recorded answers. *Now*: its"
        " first snapshot, continued until the group is stable. The table ranks by episodes that end stable, balanced and within"
        " the rules, then by the share of restored offsets saved. *Not ended*: the last recording asks for a follow-up that is"
        " not recorded. *Cut short*: the run cancelled the continuation. All other columns leave out both.",
        _WON_EPISODES,
        optional=True,
        headline=_describe_savings_by_episode,
    ),
    Query(
        "Best assignors in single rebalances",
        "Each assignor answers each recorded snapshot. The table ranks by answers that keep the rules and are balanced or ask"
        " for a follow-up, then by the share of restored offsets saved.",
        _WON,
        optional=True,
        headline=_describe_savings_by_rebalance,
    ),
    Query(
        "Rows",
        f"Each recording has one row for each assignor; `{RECORDED}` is the recorded answer.",
        statuses_sql("{replays}"),
        headline=describe_statuses,
    ),
    Query(
        "Savings in single rebalances, by application",
        "*Restored*: offsets that the answer's copies and warm-ups have to replay until the next rebalance. *Moves*: migrations"
        " of actives and standbys.",
        _savings_sql("application", "assignor"),
        "savings",
    ),
    Query(
        "Savings in single rebalances, by recorded assignor",
        "The recorded assignor is the one whose answer the group applied. In shadow mode it is the group's own; in an outage it"
        " is the plug-in's fallback.",
        _savings_sql("answered then by", "assignor"),
    ),
    Query(
        "Savings over whole episodes, by application",
        "The columns are those of the best assignors over whole episodes.",
        _EPISODES,
        "episodes",
        optional=True,
    ),
    Query(
        "Savings in single rebalances, by day",
        "The table shows the first 300 rows.",
        _savings_sql("application", "day", "assignor"),
        "days",
        most_rows=300,
    ),
    Query("Seconds of one answer", "The time of the call alone, on one core, with the solver loaded before.", _ANSWERED),
    Query("Failed answers", "The table shows the first 100 rows.", _FAILED_REPLAYS, optional=True),
    Query("Unreadable files", "The table shows the first 100 rows.", _UNREADABLE, optional=True),
)
"""Tables of the report on a replay."""
