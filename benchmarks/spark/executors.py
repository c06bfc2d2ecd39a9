"""What sweeps and replays have in common on the executors and while the driver waits for them."""

from __future__ import annotations

import gc
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from optassign.benchmarks.spark.tables.columns import Column, table_of

__all__ = ["Tell", "circumstances_here", "row_done", "safe_table", "telling"]

Tell = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and of what, now and then, from a thread of its own."""


@contextmanager
def telling(done: Callable[[], int], total: int, what: str, tell: Tell | None) -> Iterator[None]:
    """While in the context `tell` hears what `done` says."""
    if tell is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            tell(min(done(), total), total, what)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        tell(min(done(), total), total, what)


def circumstances_here() -> dict[str, Any]:
    """Columns that only the executor knows."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return {"host": socket.gethostname(), "solver_threads": context.cpus() if context is not None else 1}


def row_done(finished: Any) -> None:
    """Count it in Spark's accumulator `finished`."""
    global _modules
    finished.add(1)
    # Spark's workers collect garbage after each task, 50 ms over all that modules consist of: leave that out.
    if len(sys.modules) > _modules:
        gc.freeze()
        _modules = len(sys.modules)


_modules = 0
"""How many were loaded when they were left out."""


def safe_table(rows: Sequence[dict[str, Any]], columns: Sequence[Column], identity: Sequence[str]) -> pa.RecordBatch:
    """Rows as Arrow; one that does not fit its columns keeps only those named, and fails."""
    try:
        return table_of(rows, columns)
    except (pa.ArrowInvalid, OverflowError) as error:
        if len(rows) != 1:
            return pa.concat_batches([safe_table([row], columns, identity) for row in rows])
        (row,) = rows
        reason = f"a value does not fit its column: {' '.join(str(error).split())}"
        kept = {name: row[name] for name in identity if name in row}
        return table_of([{**kept, "status": "failed", "error": reason}], columns)
