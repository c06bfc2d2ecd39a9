"""Zones: clients with the same value of every tag, and how a flow counts the distinct values that a task's copies reach.

A task's copies pass, before they come to clients, through a node for each value of a tag: the first on it costs nothing, each
further one costs 1, as does a copy on a client without the tag. So the flow pays the number of copies less that of distinct
values. Tags ride on one flow together where their values nest (each zone in one region): the nodes of the finer tag stand
behind those of the coarser one. From the first tag on that does not nest with those before it, tags are left out of the flow.

    task → (task, region) → (task, zone) → columns, or pool (subtopology, zone)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.flows.network import Network
from optassign_models.goals.tag_spread import NAME, Tags, count_reachable, encode_values
from optassign_models.pooling import deal_pool
from optassign_models.problem import LOGGED, BoolArray, IntArray, Problem

_MOST_NODES = 400_000
"""Pairs of a logged task and a zone, beyond which tags are left out of the flow."""


@dataclass(frozen=True, eq=False)
class Layer:
    """One tag that rides on the flow."""

    tag: int
    """Its place in the order of the tags."""
    part_of: IntArray
    """(Z,) the part of each zone: zones with one value of this tag, and of those of the coarser layers where they have none."""
    is_value: BoolArray
    """(parts,) whether the part has a value of the tag: its first copy counts."""


@dataclass(frozen=True, eq=False)
class Zones:
    """Z zones, numbered; a problem without tags is one zone, without layers."""

    of_client: IntArray
    """(C,) zone of each client."""
    number: int
    """Z"""
    layers: tuple[Layer, ...] = ()
    """From the coarsest to the finest; the first tags of their order."""
    is_strict: bool = False
    """No value may have two copies of a task, so that nothing is to be optimised: a smaller flow, where there is one."""
    of_all_kinds: bool = False
    """Tasks without changelog have a pool in each zone, too."""

    @property
    def goals(self) -> int:
        """How many costs the tags have."""
        return 0 if self.is_strict else len(self.layers)

    def may_be_strict(self, copies: int) -> bool:
        """Whether every tag has so many values that each of a task's copies might be on one of its own."""
        return bool(self.layers) and all(int(layer.is_value.sum()) >= copies for layer in self.layers)

    def find_pools(self, problem: Problem, groups: IntArray, clients: IntArray) -> IntArray:
        """(n,) subtopology × Z + zone of the pool of each pair; tasks without changelog mostly have one pool for all zones."""
        has_zones = (problem.kind[groups] == LOGGED) | self.of_all_kinds
        return groups * self.number + np.where(has_zones, self.of_client[clients], 0)

    def size_pools(self, problem: Problem) -> IntArray:
        """(T, Z) clients of each zone without a column of the task."""
        sizes = np.bincount(self.of_client, minlength=self.number)
        pairs = problem.col_task * self.number + self.of_client[problem.col_client]
        return sizes - np.bincount(pairs, minlength=problem.T * self.number).reshape(problem.T, self.number)

    def deal_pools(
        self,
        problem: Problem,
        task: IntArray,
        pool: IntArray,
        need: IntArray,
        places: IntArray,
        forbidden: dict[int, set[int]],
    ) -> tuple[IntArray, IntArray]:
        """The places (G, C) dealt: keys of the pairs, and the tasks of the subtopologies where that failed.

        Args:
            task, pool, need: (n,) so many copies of the task in this pool (`find_pools`).
            forbidden: clients that a task must not get, by task.
        """
        clients = np.arange(problem.C)
        keys: list[int] = []
        stuck: set[int] = set()
        for each in np.unique(pool[need > 0]).tolist():
            group, at = each // self.number, np.flatnonzero((pool == each) & (need > 0))
            is_in_pool = self.find_pools(problem, np.full(problem.C, group), clients) == each
            found = deal_pool(task[at], need[at], np.where(is_in_pool, places[group], 0), forbidden, problem.C)
            if found is None:
                stuck.add(group)
            else:
                keys.extend(found)
        return np.array(keys, dtype=np.int64), np.flatnonzero(np.isin(problem.group, sorted(stuck)))

    def add_layers(
        self, network: Network, tasks: IntArray, logged: BoolArray, copies: int
    ) -> tuple[IntArray, list[tuple[list[slice], IntArray]]]:
        """Adds arcs task → its nodes for the values of a tag → those of a finer tag: copies beyond the first on a value cost 1.

        Args:
            tasks: (T,) nodes; only those that are `logged` (T,) have layers.
            copies: of each logged task.

        Returns:
            (T, Z) nodes from which a task's copies go to the clients of a zone; and of each layer the arcs of first copies and
            those of further ones, and the part of each zone.
        """
        of_zones = np.repeat(tasks[:, None], self.number, axis=1)
        rows = np.flatnonzero(logged)
        arcs = []
        for layer in self.layers:
            parts = len(layer.is_value)
            zone = np.unique(layer.part_of, return_index=True)[1]  # one of each part
            nodes = network.add_nodes(len(rows) * parts).reshape(len(rows), parts)
            tails = of_zones[rows[:, None], zone[None, :]].ravel()
            to_nodes = [network.add_arcs(tails, nodes.ravel(), np.tile(layer.is_value, len(rows)) * 1)]
            if not self.is_strict:
                to_nodes.append(network.add_arcs(tails, nodes.ravel(), copies, cost={layer.tag: 1}))
            arcs.append((to_nodes, layer.part_of))
            of_zones[rows] = nodes[:, layer.part_of]
        return of_zones, arcs

    def bound_spread(self, problem: Problem, costs: list[int]) -> int:
        """A bound of goal `tag_spread` from what the flow pays at least for each tag that it carries."""
        tags = problem.data_of(NAME, Tags)
        copies = int(problem.logged.sum()) * (problem.standbys + 1)
        of_tags = [count_reachable(problem, values) for values in (tags.values if tags is not None else ())]
        for tag, cost in enumerate(costs or [0] * len(self.layers)):
            of_tags[tag] = copies - cost
        return encode_values(problem, of_tags)


def find_zones(problem: Problem, *, spread: bool) -> Zones:
    """The zones of a problem; one for all clients unless copies are to be `spread`, and tags are known and not too many."""
    tags = problem.data_of(NAME, Tags)
    nothing = np.zeros(problem.C, dtype=np.int64)
    if not spread or tags is None or not problem.logged.any() or not problem.standbys:
        return Zones(nothing, 1)
    chain = _choose_chain(tags.values)
    of_client, parts = nothing, []
    for tag in chain:  # each layer's parts are told apart within those of the layer before
        of_client = _number(of_client, tags.values[tag])
        parts.append(of_client)
    number = int(of_client.max(initial=0)) + 1
    if int(problem.logged.sum()) * number > _MOST_NODES:
        return Zones(nothing, 1)
    first = np.unique(of_client, return_index=True)[1]  # one client of each zone
    layers = []
    for tag, part in zip(chain, parts, strict=True):
        of_part = np.zeros(int(part.max(initial=0)) + 1, dtype=np.bool_)
        of_part[part] = tags.values[tag] >= 0
        layers.append(Layer(tag, part[first], of_part))
    return Zones(of_client, number, tuple(layers))


def _choose_chain(values: tuple[IntArray, ...]) -> list[int]:
    """The first tags, up to one that does not nest with those before it, from the coarsest to the finest."""
    chain: list[int] = []
    for tag in range(len(values)):
        longer = sorted([*chain, tag], key=lambda t: (len(np.unique(values[t])), t))
        if not _nest(values, longer):
            break
        chain = longer
    return chain


def _nest(values: tuple[IntArray, ...], chain: list[int]) -> bool:
    """Whether each value of a tag is found within one value of the tag before it only."""
    part = np.zeros(len(values[0]), dtype=np.int64)
    for tag in chain:
        known = values[tag] >= 0
        pairs = np.unique(np.stack([values[tag][known], part[known]]), axis=1)
        if len(np.unique(pairs[0])) < pairs.shape[1]:
            return False
        part = _number(part, values[tag])
    return True


def _number(part: IntArray, values: IntArray) -> IntArray:
    """(C,) the pairs of a part and a value, numbered in their order."""
    pairs = np.stack([part, values])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
