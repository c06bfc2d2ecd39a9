"""Numbers for the nodes and arcs of a network that is built block by block."""

from __future__ import annotations

import numpy as np

from optassign_models.problem import IntArray


class Graph:
    """Hands out consecutive numbers, from 0, for nodes and for arcs."""

    def __init__(self) -> None:
        self.nodes = 0
        """How many nodes there are so far."""
        self.arcs = 0
        """How many arcs there are so far."""

    def add_nodes(self, number: int) -> IntArray:
        """Adds nodes and returns their ids, (number,)."""
        begin = self.nodes
        self.nodes += number
        return np.arange(begin, self.nodes, dtype=np.int64)

    def number_arcs(self, number: int) -> slice:
        """Numbers a block of arcs and returns its place among all arcs."""
        begin = self.arcs
        self.arcs += number
        return slice(begin, self.arcs)
