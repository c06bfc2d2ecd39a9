"""The instances: a seed and this version of the generator determine each, and its digest identifies it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any, Literal, get_args

from optassign.formats.state import ApplicationState
from optassign.generating import Shape, generate

__all__ = ["FAMILIES", "GENERATOR", "SIZES", "Family", "Instance", "Size", "digest_snapshot", "list_instances"]

GENERATOR = 1
"""The version of generator and catalogue. A change of an instance needs a new version and a new table of best-known values."""
Family = Literal["counts", "zones", "load", "limits", "weights"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Size = Literal["tiny", "small", "medium", "large", "huge"]
SIZES: dict[Size, tuple[tuple[int, int], ...]] = {
    "tiny": ((12, 3),),
    "small": ((36, 4), (36, 6)),
    "medium": ((100, 10), (100, 12)),
    "large": ((400, 40), (1_000, 100)),
    "huge": ((10_000, 1_000),),
}
"""Tasks × clients of each size; zones need a multiple of three clients."""


@dataclass(frozen=True)
class Instance:
    """An instance: a group at one moment, and the goals for its target assignment."""

    family: Family
    shape: Shape
    tasks: int
    clients: int
    standbys: int
    seed: int
    variant: str = ""
    """Names the options if a family has several."""
    drawn: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the generator."""
    configs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name, unique in the catalogue, such as `counts-scale-out-100x10x1`: tasks × clients × standbys."""
        variant = f"-{self.variant}" if self.variant else ""
        return f"{self.family}-{self.shape}-{self.tasks}x{self.clients}x{self.standbys}{variant}"

    @property
    def size(self) -> Size:
        """Return the name of the instance's size."""
        return next(name for name, sizes in SIZES.items() if (self.tasks, self.clients) in sizes)

    def make(self) -> ApplicationState:
        """Return the generated snapshot. All warm-ups may run at once, since only the target counts."""
        warmups = self.tasks * (1 + self.standbys)
        state = generate(
            self.shape, self.tasks, self.clients, self.standbys, warmups=warmups, seed=self.seed, **self.drawn
        ).model_copy(update={"application": self.name})
        if self.configs:
            state = state.model_copy(update={"configs": state.configs.model_copy(update=self.configs)})
        return state.with_options(**self.options) if self.options else state


def digest_snapshot(state: ApplicationState) -> str:
    """Return a digest of a snapshot, which shows whether the generator still makes the same snapshot."""
    return sha256(state.model_dump_json(exclude_defaults=True).encode()).hexdigest()[:16]


@cache
def list_instances() -> tuple[Instance, ...]:
    """Return all instances in order; names are unique."""
    found = (*_list_counts(), *_list_zones(), *_list_load(), *_list_limits(), *_list_weights())
    assert len({instance.name for instance in found}) == len(found)
    return found


_MOVING: tuple[Shape, ...] = ("scale-out", "scale-in", "partial")


def _list_counts() -> Iterator[Instance]:
    """Yield instances with tasks of equal weight: shares of counts, then the default order of goals."""
    shapes: tuple[Shape, ...] = ("cold", *_MOVING, "restart")
    for tasks, clients in ((12, 3), (36, 4), (100, 10), (400, 40), (1_000, 100)):
        for shape in shapes:
            for standbys in (0, 1):
                yield Instance("counts", shape, tasks, clients, standbys, seed=1)
        if tasks < 1_000:
            for shape in ("scale-out", "partial"):
                yield Instance("counts", shape, tasks, clients, 2, seed=1)
    for shape, standbys in (("scale-out", 0), ("scale-out", 1), ("scale-out", 2), ("scale-in", 1), ("cold", 1), ("partial", 0)):
        yield Instance("counts", shape, 10_000, 1_000, standbys, seed=1)
    yield Instance("counts", "partial", 10_000, 1_000, 1, seed=2015)


def _list_zones() -> Iterator[Instance]:
    """Yield instances with copies of a task in different zones (KIP-708)."""
    for tasks, clients in ((12, 3), (36, 6), (100, 12)):
        for shape in _MOVING:
            for standbys in (1, 2) if shape == "scale-out" else (1,):
                tags = {"rack_aware_assignment_tags": ("zone",)}
                yield Instance("zones", shape, tasks, clients, standbys, seed=2, drawn={"racks": 3}, configs=tags)


def _list_load() -> Iterator[Instance]:
    """Yield instances with tasks of different weights, whose first goal is the greatest load."""
    for tasks, clients in ((12, 3), (36, 4), (100, 10), (400, 40)):
        for shape in _MOVING:
            yield Instance("load", shape, tasks, clients, 1, seed=3, drawn={"weights": 0.6})


def _list_limits() -> Iterator[Instance]:
    """Yield instances with an operator's limits: tasks that stay in a zone, or out of it."""
    zone = {"zone": "r1"}
    for tasks, clients in ((36, 6), (100, 12)):
        for shape in _MOVING:
            for variant, limit in (
                ("forbid", {"kind": "forbid", "tasks": ("0_0", "0_1"), "tags": zone}),
                ("pin", {"kind": "pin", "tasks": ("0_0", "0_1", "1_0"), "tags": zone}),
            ):
                options = {"limits": (limit,)}
                yield Instance("limits", shape, tasks, clients, 1, 4, variant, drawn={"racks": 3}, options=options)


def _list_weights() -> Iterator[Instance]:
    """Yield instances with a weighted sum of imbalance, restore work and moves."""
    for tasks, clients in ((12, 3), (36, 4), (100, 10), (400, 40)):
        for shape in ("scale-out", "partial"):
            for stickiness in (1.0, 100.0):
                options = {"preset": "weighted", "weights": {"stickiness": stickiness}}
                variant = f"stickiness-{stickiness:.0f}"
                yield Instance("weights", shape, tasks, clients, 1, 5, variant, options=options)
