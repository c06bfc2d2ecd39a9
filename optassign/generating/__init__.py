"""Seeded snapshots of any size and shape: `generate("scale-out", tasks=100, clients=10, seed=7)`."""

from optassign.generating.snapshots import SHAPES, Shape, generate

__all__ = ["SHAPES", "Shape", "generate"]
