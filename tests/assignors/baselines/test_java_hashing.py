"""Tests of the order of java.util.HashSet, recorded from a JDK 17. tests/java compares random sets with the installed JDK."""

import pytest

from optassign.assignors.baselines.java_collections import (
    HashTable,
    fold_hash_code,
    hash_task,
    order_by_hash,
    order_process_ids,
)
from optassign.formats.task_id import TaskId

STEPS = list(range(12))
ONE_BUCKET = [64 * i for i in range(12)]
MIXED = [3, 1, 4, 11, 5, 9, 2, 6, 8, 0, 10, 7]


@pytest.mark.parametrize(
    ("capacity", "codes", "steps", "order"),
    [
        (16, [16 * i for i in range(12)], list(range(9)), [0, 2, 4, 6, 8, 1, 3, 5, 7]),  # a full bucket grows the table
        (64, ONE_BUCKET, STEPS, [3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]),  # a tree; its root is first
        (64, ONE_BUCKET, STEPS[::-1], [8, 11, 10, 9, 7, 6, 5, 4, 3, 2, 1, 0]),
        (64, ONE_BUCKET, [*STEPS, -4, -8], [4, 0, 1, 2, 5, 6, 8, 9, 10, 11]),  # removes keys 3, the root, and 7
        (64, [7] * 12, MIXED, [5, 3, 1, 0, 4, 11, 10, 9, 2, 6, 8, 7]),  # ids decide between equal codes
    ],
)
def test_recorded_orders(capacity: int, codes: list[int], steps: list[int], order: list[int]) -> None:
    table = HashTable([fold_hash_code(code) for code in codes], capacity)
    for step in steps:
        table.put(step) if step >= 0 else table.remove(-step - 1)
    assert list(table) == order


def test_tasks_iterate_by_hash_and_within_a_bucket_by_insertion() -> None:
    tasks = [TaskId("", group, partition) for group in (0, 1) for partition in range(8)]
    hashes = [hash_task(task) for task in tasks]
    order = " ".join(str(tasks[i]) for i in order_by_hash(range(16), hashes))
    assert order == "1_0 0_7 0_6 1_7 0_5 1_6 0_4 1_5 0_3 1_4 0_2 1_3 0_1 1_2 0_0 1_1"
    assert hash_task(TaskId("", 1, 0)) == hash_task(TaskId("", 0, 31)) != hash_task(TaskId("orders", 1, 0))


def test_process_ids_are_uuids_or_strings() -> None:
    uuids = [f"{half}-8000-000000000000" for half in ("ffffffff-0000-4000", "00000000-0000-4000")]
    uuids.append("00000000-0000-4000-7000-000000000000")
    order, _ = order_process_ids(uuids)
    assert order == [0, 1, 2]  # both halves are signed: 8… is less than 7…
    assert order_process_ids(["b", uuids[0], "a"])[0] == [2, 0, 1]
