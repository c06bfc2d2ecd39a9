"""The snapshots of tests and benchmarks, fixed by seeds: the standard grid, large snapshots, and many small ones."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product

from optassign.formats.json_input import read_value, to_model
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate


@dataclass(frozen=True, slots=True)
class Spec:
    """A snapshot to make: the arguments of `optassign.generating.generate`, or a given snapshot; with changed options."""

    shape: Shape
    tasks: int
    clients: int
    standbys: int = 1
    warmups: int = 2
    threads: int | tuple[int, int] = 1
    seed: int = 0
    stateless: float = 0.2
    unlogged: float = 0.0
    subtopologies: int | None = None
    tiny: float = 0.0
    unknown: float = 0.0
    memory: bool = False
    dense: bool = False
    options: str = ""
    """The name of the options below; empty for the defaults."""
    changes: str = ""
    """Changed fields of `Options` as JSON."""
    given: str = ""
    """The name of a given snapshot, which is not generated. Of the fields above, only `options` and `changes` then count."""
    snapshot: str = ""
    """The given snapshot as JSON."""

    def generate(self) -> ApplicationState:
        """Return the generated or given snapshot, the same at every call."""
        if self.snapshot:
            state = to_model(read_value(self.snapshot.encode(), self.given), ApplicationState, self.given)[0]
        else:
            state = generate(**{name: getattr(self, name) for name in GENERATED})
        return state.with_options(**json.loads(self.changes)) if self.changes else state

    @property
    def name(self) -> str:
        """Return a short name, unique in a grid: the shape, tasks × clients × standbys, and each other field without its
        default value."""
        parts = [self.given or f"{self.shape}-{self.tasks}x{self.clients}x{self.standbys}"]
        for field in fields(self)[4:]:
            value = getattr(self, field.name)
            if field.name in ("changes", "given", "snapshot") or (self.given and field.name != "options"):
                continue
            if value != field.default:
                shown = "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
                parts.append(field.name if value is True else f"{field.name}={shown}")
        return "-".join(parts)


GENERATED = tuple(field.name for field in fields(Spec))[: [field.name for field in fields(Spec)].index("options")]
"""The fields of a `Spec` that are arguments of the generator."""


@dataclass(frozen=True, slots=True)
class HistorySpec:
    """A random history, by the arguments of `draw_history`."""

    suite: str
    seed: int

    @property
    def name(self) -> str:
        """Return suite and seed."""
        return f"{self.suite}-{self.seed}"


class Grid:
    """Specs by their names: iterable as (name, spec); `grid[name]` returns a spec."""

    def __init__(self, specs: list[Spec]) -> None:
        self._specs = {spec.name: spec for spec in specs}
        if len(self._specs) < len(specs):
            raise ValueError("a spec stands twice in the grid")

    def __iter__(self) -> Iterator[tuple[str, Spec]]:
        return iter(self._specs.items())

    def __len__(self) -> int:
        return len(self._specs)

    def __getitem__(self, name: str) -> Spec:
        return self._specs[name]


_SIZES = ((8, 2), (17, 3), (37, 5), (100, 10), (250, 25))
_KINDS = (  # stateless, unlogged, share of unknown lags
    (0.0, 0.0, 0.0),
    (0.2, 0.0, 0.0),
    (0.2, 0.2, 0.0),
    (0.2, 0.1, 0.1),
)
_THREADS: tuple[int | tuple[int, int], ...] = (1, 2, (1, 4), 3, (1, 2), 4)


def _standard_specs() -> list[Spec]:
    specs = []
    for n, (shape, standbys) in enumerate(product(SHAPES, (0, 1, 2, 3))):
        for i, (tasks, clients) in enumerate(_SIZES):
            # Shifted by one from row to row, as in a Latin square: each shape and each size meets each kind of tasks and each
            # number of threads, without a snapshot for every combination.
            stateless, unlogged, unknown = _KINDS[(n + i) % len(_KINDS)]
            specs.append(
                Spec(
                    shape,
                    tasks,
                    clients,
                    standbys,
                    threads=_THREADS[(n // len(_KINDS) + n + i) % len(_THREADS)],
                    seed=100 * n + i,
                    stateless=stateless,
                    unlogged=unlogged,
                    unknown=unknown,
                    tiny=0.1 if i % 2 else 0.0,
                    memory=(n + i) % 3 == 0,
                    dense=(n + i) % 5 == 0,
                )
            )
        specs.append(Spec(shape, 1000, 100, standbys, warmups=20, threads=_THREADS[n % len(_THREADS)], seed=n))
    for shape in SHAPES:
        specs.append(Spec(shape, 12, 1, standbys=1, threads=2))  # one client
        specs.append(Spec(shape, 20, 3, standbys=5, threads=(1, 3)))  # more standbys than clients
        specs.append(Spec(shape, 3, 9, standbys=2))  # more clients than tasks
        specs.append(Spec(shape, 30, 4, stateless=1.0))  # nothing to restore
        specs.append(Spec(shape, 30, 4, stateless=0.0, unlogged=1.0))  # state that cannot be restored
        specs.append(Spec(shape, 40, 4, warmups=1, unknown=1.0))  # only the lags of running tasks are known
        specs.append(Spec(shape, 40, 6, standbys=2, tiny=1.0))  # a client without state is caught up
    return specs


GRID = Grid(_standard_specs())
"""Six shapes × 0–3 standbys × 2–100 clients, equal and mixed threads, all kinds of tasks, unknown lags; extreme cases."""

LARGE = Grid(
    [
        Spec(shape, tasks, clients, standbys, warmups=warmups, threads=threads, seed=seed)
        for shape in SHAPES
        for tasks, clients, standbys, warmups, threads, seed in (
            (6_000, 1_000, 1, 100, 1, 1),
            (10_000, 1_000, 1, 100, (1, 4), 2),
            (100_000, 1_000, 1, 200, 2, 3),
        )
    ]
)
"""Sizes for measurements, too large for tests."""


def small_specs(shape: Shape, number: int) -> Iterator[Spec]:
    """Yield `number` small specs of a shape with all kinds of tasks; the n-th has seed n and is always the same.

    For some specs no stable group exists: their `generate` raises NotBalancedError.
    """
    threads: tuple[int | tuple[int, int], ...] = (1, 1, 2, (1, 4), (1, 2), (2, 5))
    for n in range(number):
        rng = random.Random(f"{shape} {n}")
        clients = rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 16])
        yield Spec(
            shape,
            tasks=rng.randint(1, 12) * rng.choice([1, 2, 4, 8]),
            clients=clients,
            standbys=rng.choice([0, 1, 1, 2, 3]),
            warmups=rng.choice([1, 2, 2, 5, 20]),
            threads=rng.choice(threads),
            seed=n,
            stateless=rng.choice([0.0, 0.2, 0.5]),
            unlogged=rng.choice([0.0, 0.0, 0.3]),
            tiny=rng.choice([0.0, 0.0, 0.2]),
            unknown=rng.choice([0.0, 0.0, 0.0, 0.2, 1.0]),
            memory=rng.random() < 0.5,
            dense=rng.random() < 0.2,
        )
