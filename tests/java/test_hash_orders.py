"""Tests of the order of hash tables against the JDK's: random tables, mostly with full buckets, that grow and shrink."""

import subprocess
from pathlib import Path
from random import Random

from optassign.assignors.baselines import jvm
from optassign.assignors.baselines.java_collections import HashTable, TreeBin, fold_hash_code, order_by_hash

CASES = 400
PROGRAM = Path(__file__).parent / "HashOrders.java"


def codes(rng: Random, number: int) -> list[int]:
    """Draw hash codes: random ones, those of tasks, few different ones, or multiples of the number of buckets."""
    match rng.randrange(4):
        case 0:
            return [rng.randrange(-(2**31), 2**31) for _ in range(number)]
        case 1:
            partitions = rng.choice([64, 200, 300])
            return [31 * (31 * (31 + i // partitions) + i % partitions) for i in range(number)]
        case 2:
            step = rng.choice([1, 65_537, -16])
            return [rng.randrange(max(1, number // 12)) * step for _ in range(number)]
        case _:
            return [i // rng.choice([1, 12, 30]) * 64 * rng.choice([1, 16]) for i in range(number)]


def steps(rng: Random, number: int) -> list[int]:
    order = rng.sample(range(number), number)
    if rng.random() < 0.3:
        return order
    taken: list[int] = []
    inside: list[int] = []
    for key in order:
        taken.append(key)
        inside.append(key)
        if rng.random() < 0.2:
            taken.append(-inside.pop(rng.randrange(len(inside))) - 1)
    leaving = rng.sample(inside, round(len(inside) * rng.choice([0, 0.3, 0.8])))
    return [*taken, *(-key - 1 for key in leaving)]


def test_tables_iterate_as_the_jdks() -> None:
    rng = Random(1)
    cases = []
    for _ in range(CASES):
        number = rng.choice([5, 12, 13, 40, 100, 300, 1200])
        cases.append((rng.choice([16, 16, 16, 64, 1024]), codes(rng, number), steps(rng, number)))
    rows = [" ".join(map(str, (capacity, len(c), *c, len(s), *s))) for capacity, c, s in cases]
    java = jvm.command()[0]
    run = subprocess.run([java, str(PROGRAM)], input="\n".join([str(CASES), *rows]), capture_output=True, text=True, check=True)
    trees = 0
    for n, ((capacity, c, s), line) in enumerate(zip(cases, run.stdout.splitlines(), strict=True)):
        hashes = [fold_hash_code(code) for code in c]
        table = HashTable(hashes, capacity)
        for key in s:
            table.put(key) if key >= 0 else table.remove(-key - 1)
        expected = [int(key) for key in line.split()]
        assert list(table) == expected, f"case {n}"
        if min(s) >= 0:
            assert order_by_hash(s, hashes, capacity) == expected, f"case {n}"
        trees += any(isinstance(bucket, TreeBin) for bucket in table._buckets)
    assert trees > CASES // 10  # otherwise the cases would hardly test trees
