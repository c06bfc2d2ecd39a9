"""The tables that runs leave behind: every column with its type, its unit and its meaning
(docs/reference/generated/spark-tables.md shows them).

Arrow's types are what executors write; Spark's follow from them. Offsets are sums over many changelogs: a sum that does not
fit 64 bits makes its row fail, it never wraps around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from optassign.measuring.balance import SHARE_NAMES

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = [
    "CONVERGENCES",
    "ERRORS",
    "REPLAYS",
    "RESULTS",
    "STATUSES",
    "Column",
    "arrow_schema",
    "spark_schema",
    "to_record_batch",
]

STATUSES = ("ok", "failed", "timeout", "out-of-memory")


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `unit` is empty where the value is no quantity."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str


TEXT, WHOLE, REAL, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
GOAL = pa.struct([("stage", TEXT), ("name", TEXT), ("value", REAL), ("bound", REAL), ("gap", REAL), ("proven", TRUTH)])
RULES = pa.map_(TEXT, WHOLE)

OUTCOME = (
    Column("status", TEXT, "", "`ok`, `failed`, `timeout` or `out-of-memory`"),
    Column("error", TEXT, "", "what went wrong, one line; null where `status` is `ok`"),
)
_MEASURES = (
    Column("violations", RULES, "rule → number", "rules that the answer breaks; empty: none"),
    Column("balanced", TRUTH, "", "every count is in its share"),
    *(Column(f"imbalance_{name}", WHOLE, "", f"imbalance of the share {name}") for name in SHARE_NAMES),
    *(
        Column(f"spread_{name}", REAL, "copies per thread × capacity", f"greatest minus least count, share {name}")
        for name in SHARE_NAMES
    ),
    Column("subtopology_balance", WHOLE, "clients", "KIP-441's: clients executing a subtopology, most minus least"),
    Column("active_moves", WHOLE, "tasks", "active tasks that moved"),
    Column("active_moves_logged", WHOLE, "tasks", "of these, those with a changelog"),
    Column("standby_migrations", WHOLE, "copies", "standbys where the task had none"),
    Column("restore_work", WHOLE, "offsets", "to replay for the active and standby copies of this answer"),
    Column("copies_not_caught_up", WHOLE, "copies", "active and standby copies of rank > 0"),
    Column("actives_not_caught_up", WHOLE, "tasks", "active tasks that are not caught up"),
    Column("warmups", WHOLE, "copies", "warm-ups"),
    Column("warmup_work", WHOLE, "offsets", "to replay for the warm-ups"),
    Column("tag_values_reached", WHOLE, "values", "distinct tag values among the copies of a task, summed"),
    Column("tag_values_reachable", WHOLE, "values", "the same, if nothing else were asked for"),
    Column("rack_crossings", WHOLE, "partitions", "read across racks; null: racks not known"),
    Column("weighted_load", REAL, "", "weight of the active tasks per thread × capacity, greatest ÷ mean"),
    Column(
        "planned_work",
        WHOLE,
        "offsets",
        "goal (b): to replay for the copies not caught up of answer and plan; null: a follow-up, but no plan",
    ),
    Column("followup", TRUTH, "", "a follow-up rebalance is asked for"),
    Column("waiting", WHOLE, "copies", "planned copies that the follow-up waits for"),
    Column("restore_bound", WHOLE, "offsets", "least possible `planned_work`, proven with this answer; null: none"),
    Column("goals", pa.list_(GOAL), "", "the report's goals: value, bound, gap (null: none known), whether proven"),
    Column("found_by", TEXT, "", "which stage found the answer; empty: not said"),
    Column("termination", TEXT, "", "why solving ended"),
    Column("limit_reached", TEXT, "", "which limit ended it; `none`: none"),
    Column("seconds", REAL, "s", "of the call that answered"),
)
_CONVERGENCE = (
    Column("converged", TRUTH, "", "played on, it settled and rests; null: not played, or cut short"),
    Column("rebalances", WHOLE, "rebalances", "until no follow-up was asked for"),
    Column("converged_active_moves", WHOLE, "tasks", "active moves, all rebalances; each is a pause of its task"),
    Column("converged_active_moves_logged", WHOLE, "tasks", "of these, those with a changelog"),
    Column("converged_moved_more_than_once", WHOLE, "tasks", "that moved in more than one rebalance"),
    Column("converged_moves_repeated", WHOLE, "tasks", "active moves beyond the first of each task"),
    Column("converged_standby_migrations", WHOLE, "copies", "standby migrations, all rebalances"),
    Column("converged_restored", WHOLE, "offsets", "replayed, all rebalances, warm-ups included"),
    Column("converged_violations", WHOLE, "", "rules broken, all rebalances"),
    Column("converged_balanced", TRUTH, "", "the last answer is balanced"),
    Column("converged_seconds", REAL, "s", "of all calls"),
)
CIRCUMSTANCES = (
    Column("solver", TEXT, "", "name and version of the solver"),
    Column("optassign", TEXT, "", "version of optassign"),
    Column("time_limit", REAL, "s", "of solving, which the assignor keeps itself"),
    Column("answer_limit", REAL, "s", "after which an answer is given up: `timeout`"),
    Column("convergence_limit", REAL, "s", "the same of a whole convergence"),
    Column("memory_limit", WHOLE, "MiB", "address space of the process that solves; 0: unlimited"),
    Column("solver_threads", WHOLE, "threads", "`spark.task.cpus`: what numerical libraries may use; CP-SAT uses one"),
    Column("host", TEXT, "", "where it was solved"),
)

RESULTS = (
    Column("run", TEXT, "", "id of the run; the folder of the partition"),
    Column("key", TEXT, "", "`instance`/`assignor`: unique in a run"),
    Column("instance", TEXT, "", "name of the benchmark instance: shape, size and what else is not a default"),
    Column("shape", TEXT, "", "what has happened: cold, steady, scale-out, scale-in, restart, partial"),
    Column("tasks", WHOLE, "tasks", ""),
    Column("clients", WHOLE, "clients", ""),
    Column("standbys", WHOLE, "copies", "num_standby_replicas"),
    Column("warmup_slots", WHOLE, "copies", "max_warmup_replicas"),
    Column("threads", TEXT, "threads", "per client, as `N` or `lowest-highest`"),
    Column("seed", WHOLE, "", "of the generator"),
    Column("stateless", REAL, "share", "of the tasks"),
    Column("unlogged", REAL, "share", "of the tasks, stateful without a changelog"),
    Column("subtopologies", WHOLE, "", "how many; null: by the number of tasks"),
    Column("tiny", REAL, "share", "of the logged tasks, whole changelog within the acceptable lag"),
    Column("unknown", REAL, "share", "of the lags, not known"),
    Column("memory", TRUTH, "", "the snapshot remembers the last answer"),
    Column("dense", TRUTH, "", "every client reports every lag"),
    Column("assignor", TEXT, "", "its name"),
    *OUTCOME,
    *_MEASURES,
    *_CONVERGENCE,
    *CIRCUMSTANCES,
)
"""`results`: one row for each benchmark instance and assignor."""

_RECORDED = (
    Column("run", TEXT, "", "id of the replay; the folder of the partition"),
    Column("path", TEXT, "", "of the recording, below the folder of all"),
    Column("application", TEXT, "", "application.id; empty: not told"),
    Column("day", TEXT, "", "YYYY-MM-DD, UTC"),
    Column("recorded_at", TEXT, "", "when the answer was ready, ISO 8601, UTC"),
    Column("mode", TEXT, "", "`active`, or `shadow`: the group ran as without optassign"),
    Column("recorded_assignor", TEXT, "", "who answered then"),
    Column("tasks", WHOLE, "tasks", ""),
    Column("clients", WHOLE, "clients", ""),
    Column("scale", WHOLE, "", "how many times the recorded size"),
    Column("assignor", TEXT, "", "`recorded`: what was answered then; else who was asked now"),
)
REPLAYS = (*_RECORDED, *OUTCOME, *_MEASURES, *CIRCUMSTANCES)
"""`replays`: one row for each recording and assignor, and one for what was answered then."""
CONVERGENCES = (*_RECORDED, *OUTCOME, *_CONVERGENCE, *CIRCUMSTANCES)
"""`convergences`: one row for each first recording of an episode and assignor, played on until it rests."""
ERRORS = REPLAYS
"""`errors`: one row for each file that could not be read as a recording; little more than `path` and `error` is set."""


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """The schema of what executors write: all columns but `run`, which is the name of a folder."""
    return pa.schema([(column.name, column.type) for column in columns if column.name != "run"])


def spark_schema(columns: Sequence[Column]) -> StructType:
    """The schema of `arrow_schema` in Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(arrow_schema(columns))


def to_record_batch(rows: Sequence[dict[str, Any]], columns: Sequence[Column]) -> pa.RecordBatch:
    """Rows as Arrow, null where a row lacks a column. pa.ArrowInvalid or OverflowError where a column cannot hold a value."""
    return pa.RecordBatch.from_pylist(list(rows), schema=arrow_schema(columns))
