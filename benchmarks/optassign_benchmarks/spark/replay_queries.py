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


def _savings_sql(*group: str, limit: str = "") -> str:
    columns = ", ".join(f"`{name}`" for name in group)
    return f"""
SELECT {columns}, count(*) AS rebalances,
  sum(restored_then) AS `restored then`, sum(restored) AS `restored now`,
  sum(restored_then) - sum(restored) AS `saved offsets`,
  sum(moves_then) AS `moves then`, sum(moves) AS `moves now`, sum(moves_then) - sum(moves) AS `saved moves`,
  count_if(balanced) AS balanced
FROM ({_THEN}) WHERE assignor <> '{RECORDED}'
GROUP BY {columns} ORDER BY {columns}{limit}"""


_WON = f"""
SELECT assignor, count(*) AS rebalances, count_if({FAIR}) AS `in balance or on the way`,
  sum(restored_then) AS `restored then`, sum(restored) AS `restored now`,
  try_divide(sum(restored_then) - sum(restored), sum(restored_then)) AS `saved, share`,
  sum(moves_then) AS `moves then`, sum(moves) AS `moves now`,
  percentile(seconds, 0.5) AS `median s of an answer`
FROM ({_THEN}) WHERE assignor <> '{RECORDED}'
GROUP BY assignor ORDER BY `in balance or on the way` DESC, `saved, share` DESC, assignor"""

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
  count_if(compared AND rests) AS `rest in balance`,
  {_OF_COMPARED.format("rebalances_then")} AS `rebalances then`,
  {_OF_COMPARED.format("converged_rebalances")} AS `rebalances now`,
  {_OF_COMPARED.format("restored_then")} AS `restored then`,
  {_OF_COMPARED.format("converged_restored_offsets")} AS `restored now`,
  {_OF_COMPARED.format("moves_then")} AS `moves then`, {_OF_COMPARED.format("moves")} AS `moves now`,
  {_OF_COMPARED.format("converged_moved_more_than_once")} AS `moved more than once`
FROM played GROUP BY application, assignor ORDER BY application, assignor"""

_WON_EPISODES = f"""{_PLAYED}
SELECT assignor, count_if(compared) AS episodes, {_LEFT_OUT}, count_if(compared AND rests) AS `rest in balance`,
  {_OF_COMPARED.format("restored_then")} AS `restored then`,
  {_OF_COMPARED.format("converged_restored_offsets")} AS `restored now`,
  try_divide({_OF_COMPARED.format("restored_then - converged_restored_offsets")},
    {_OF_COMPARED.format("restored_then")}) AS `saved, share`,
  {_OF_COMPARED.format("rebalances_then")} AS `rebalances then`,
  {_OF_COMPARED.format("converged_rebalances")} AS `rebalances now`,
  {_OF_COMPARED.format("moves_then")} AS `moves then`, {_OF_COMPARED.format("moves")} AS `moves now`
FROM played GROUP BY assignor ORDER BY `rest in balance` DESC, `saved, share` DESC, assignor"""


def _describe_savings_by_rebalance(rows: Sequence[dict[str, Any]]) -> str:
    return _describe_savings(rows, "Rebalance by rebalance", "in balance or on the way", "rebalances")


def _describe_savings_by_episode(rows: Sequence[dict[str, Any]]) -> str:
    left_out = f"left out: {rows[0]['not ended']:,} not ended, {rows[0]['cut short']:,} cut short"
    if not rows[0]["episodes"]:
        return f"Over whole episodes: nothing to compare ({left_out})."
    return _describe_savings(rows, "Over whole episodes", "rest in balance", "episodes", f"; {left_out}")


def _describe_savings(rows: Sequence[dict[str, Any]], what: str, fair: str, of: str, more: str = "") -> str:
    """Return a sentence on the savings of the best assignors: the first row, and equally good rows."""
    best = rows[0]
    share = best["saved, share"]
    names = ", ".join(f"`{row['assignor']}`" for row in rows if (row[fair], row["saved, share"]) == (best[fair], share))
    saved = "nothing was restored then" if share is None else f"restores {abs(share):.0%} {'less' if share >= 0 else 'more'}"
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
        "What won, over whole episodes",
        "An episode is a rebalance that no follow-up led to, and its follow-ups. *Then*: all that was recorded of it. *Now*:"
        " its first snapshot played on until the group rests. The best comes first: most episodes at rest in balance and within"
        " the rules, then the greatest share of restored offsets saved. *Not ended*: its last recording asks for a follow-up"
        " that is not recorded. *Cut short*: given up while it was played on. Both are left out of all other columns.",
        _WON_EPISODES,
        optional=True,
        headline=_describe_savings_by_episode,
    ),
    Query(
        "What won, rebalance by rebalance",
        "Each recorded rebalance answered anew, from the state that it was recorded in. The best comes first: most answers"
        " within the rules that are in balance or ask for a follow-up, then the greatest share of restored offsets saved.",
        _WON,
        optional=True,
        headline=_describe_savings_by_rebalance,
    ),
    Query(
        "Rows",
        f"One row for each recording and assignor; `{RECORDED}` is what was answered then.",
        statuses_sql("{replays}"),
        headline=describe_statuses,
    ),
    Query(
        "Saved, rebalance by rebalance",
        "As above, for each application. Restored: offsets that the copies and warm-ups of the answer have to replay until the"
        " next rebalance. Moves: of actives and standbys.",
        _savings_sql("application", "assignor"),
        "savings",
    ),
    Query(
        "Saved, by who answered then",
        "As above, told apart by the assignor whose answer was applied: in shadow mode that is the group's own, in an outage"
        " the plug-in's fallback.",
        _savings_sql("answered then by", "assignor"),
    ),
    Query(
        "Saved over whole episodes",
        "As above, for each application.",
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
