"""The tasks of sweeps and replays on an executor, around the solving of a row."""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from optassign_benchmarks.spark.tables.columns import Column, to_record_batch

__all__ = ["count_rows", "executor_columns", "to_record_batch_or_failures"]


def executor_columns() -> dict[str, Any]:
    """The columns that only the executor knows: its host, and the threads that a task may use there."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return {"host": socket.gethostname(), "solver_threads": context.cpus() if context is not None else 1}


def count_rows(finished: Any, number: int = 1) -> None:
    """Add `number` rows to Spark's accumulator `finished` when the task has ended; the driver reads the progress there."""
    global _frozen_modules
    finished.add(number)
    # Spark's Python worker collects garbage after each task, which takes 50 ms for all the objects that modules consist of.
    # Those live as long as the worker: freezing keeps the collector away from them.
    if len(sys.modules) > _frozen_modules:
        gc.freeze()
        _frozen_modules = len(sys.modules)


_frozen_modules = 0
"""How many modules were loaded when their objects were frozen last."""


def to_record_batch_or_failures(
    rows: Sequence[dict[str, Any]], columns: Sequence[Column], identity: Sequence[str]
) -> pa.RecordBatch:
    """Rows as Arrow, whatever values they hold.

    A row with a value that its column cannot hold becomes a failed one, which keeps only the columns named by `identity`.
    """
    try:
        return to_record_batch(rows, columns)
    except (pa.ArrowInvalid, OverflowError) as error:
        if len(rows) != 1:
            return pa.concat_batches([to_record_batch_or_failures([row], columns, identity) for row in rows])
        (row,) = rows
        reason = f"a value does not fit its column: {' '.join(str(error).split())}"
        kept = {name: row[name] for name in identity if name in row}
        return to_record_batch([{**kept, "status": "failed", "error": reason}], columns)
