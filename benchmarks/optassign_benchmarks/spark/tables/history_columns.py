"""The table of random histories: one row for each history and assignor."""

from __future__ import annotations

from optassign_benchmarks.spark.tables.columns import CIRCUMSTANCES, OUTCOME, REAL, RULES, TEXT, WHOLE, Column

__all__ = ["HISTORIES"]

_GRADES = (
    Column("changes", WHOLE, "changes", "that happen to the group"),
    Column("answers", WHOLE, "answers", "judged, the start and the looks whether the group rests included"),
    Column("violations", RULES, "rule → number", "rules that answers broke; empty: none"),
    Column("unsettled", WHOLE, "changes", "after which the group did not come to rest, the start included"),
    Column("rounds", WHOLE, "rebalances", "after changes, second passes left out"),
    Column("second_passes", WHOLE, "passes", "after changes, of cooperative rebalances: the second and any further ones"),
    Column("altered_passes", WHOLE, "passes", "of them, those that answered other than the pass before"),
    Column("rests", WHOLE, "rests", "after changes; what follows, up to `imbalance`, is summed over them"),
    *(
        Column(f"spread_{what}", REAL, "copies per thread", f"max − min of {meaning}")
        for what, meaning in (
            ("stateful", "stateful active tasks"),
            ("stateless", "stateless tasks"),
            ("active", "active tasks"),
            ("copies", "active copies and standbys of logged tasks"),
        )
    ),
    *(
        Column(f"above_{what}", WHOLE, "copies", "that clients have above their shares, rounded up")
        for what in ("stateful", "stateless", "active", "copies")
    ),
    Column("skew", WHOLE, "tasks", "active, that clients have above their shares of a subtopology, rounded up"),
    Column("imbalance", WHOLE, "", "of all five shares of docs/reference/rules.md"),
    *(
        Column(f"{tag}_{what}", WHOLE, "values", meaning)
        for tag in ("zone", "cluster")
        for what, meaning in (
            ("reached", "values of the tag among the copies of tasks, where it is configured"),
            ("reachable", "the same, if nothing else were asked for"),
            ("blind", "reached in the same history without tags"),
        )
    ),
    Column("moves", WHOLE, "tasks", "active tasks that went from a client that stays to another"),
    Column("kept", WHOLE, "copies", "before a change, that are still with their process when the group rests again"),
    Column("keepable", WHOLE, "copies", "before a change, of tasks and processes that stay"),
    Column(
        "copies_not_caught_up", WHOLE, "copies", "active ones and standbys given to clients that have to restore them first"
    ),
    Column("actives_not_caught_up", WHOLE, "tasks", "of them active: tasks that stop until they are restored"),
    Column("restored", WHOLE, "offsets", "after changes"),
    Column("reused", WHOLE, "copies", "that a process had before it restarted, and has again when the group rests"),
    Column("reusable", WHOLE, "copies", "that a process had before it restarted, with state"),
    Column("zone_copies", WHOLE, "copies", "lost with a zone"),
    Column("zone_tasks", WHOLE, "tasks", "logged ones, when a zone was lost"),
    Column("zone_tasks_lost", WHOLE, "tasks", "of them, those without a copy outside of it"),
    Column("made", WHOLE, "tasks", "active ones put in place after changes"),
    Column("undone", WHOLE, "tasks", "thrash: of them, those that could be missed"),
    Column("copies_made", WHOLE, "copies", "put in place after changes, warm-ups included"),
    Column("copies_undone", WHOLE, "copies", "thrash: of them, those that could be missed"),
)
HISTORIES = (
    Column("run", TEXT, "", "id of the run; the folder of the partition"),
    Column("key", TEXT, "", "`suite-seed`/`assignor`: unique in a run"),
    Column("suite", TEXT, "", "small or large"),
    Column("seed", WHOLE, "", "of the history: `optassign simulate --suite … --seed … --count 1` plays it again"),
    Column("assignor", TEXT, "", "its name"),
    *OUTCOME,
    Column("history", TEXT, "", "what it was, in words"),
    *_GRADES,
    Column("seconds", REAL, "s", "of playing it, tag-blind too where there are tags"),
    *CIRCUMSTANCES,
)
"""`histories`: one row for each history and assignor."""
