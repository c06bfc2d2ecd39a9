"""The load of clients, as docs/reference/rules.md defines it under "Balanced under load"."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from group_facts import Group, exact
from placement_sets import Vector


@dataclass(frozen=True)
class Loads:
    """The measure of loads of one group, for standbys that weigh nothing."""

    group: Group

    @cached_property
    def _split(self) -> tuple[dict[int, Fraction], Fraction]:
        """Weights of balanceable tasks in even spreads, and the capacity of the slowest thread that an oversized task takes.

        An even spread is the balanceable weight for each unit of capacity of the threads that oversized tasks leave.
        """
        order = sorted(range(len(self.group.tasks)), key=lambda t: -self.group.tasks[t].weight)
        threads = sorted(
            (self.group.clients[c].capacity for c in self.group.staying for _ in range(self.group.clients[c].threads)),
            reverse=True,
        )
        slowest = Fraction(0)
        while order:
            left = sum(self.group.tasks[t].weight for t in order)
            if self.group.tasks[order[0]].weight / threads[0] <= left / sum(threads):
                break
            order.pop(0)
            slowest = threads.pop(0)
        total = sum((self.group.tasks[t].weight for t in order), Fraction(0))
        return {t: self.group.tasks[t].weight * sum(threads) / total for t in order}, slowest

    def find_load(self, c: int, tasks: int) -> Fraction:
        """Return the load of a client with these active tasks (as bits), in even spreads.

        An oversized task keeps a thread of its client busy. The rules leave open how it counts on a thread slower than those
        that oversized tasks take; here it counts as on the slowest of these.
        """
        spreads, slowest = self._split
        client = self.group.clients[c]
        busy = max(client.capacity, slowest)
        weights = [spreads.get(t, busy) for t in range(len(self.group.tasks)) if tasks >> t & 1]
        if not weights:
            return Fraction(0)
        return max(sum(weights, Fraction(0)) / client.threads, *weights) / client.capacity

    def greatest(self, actives: Vector) -> Fraction:
        """Return the greatest load of any client."""
        return max(self.find_load(c, tasks) for c, tasks in enumerate(actives))

    def lets_threads_idle(self, actives: Vector) -> bool:
        """Return whether a thread is idle while another has two tasks, or a draining client has an active task."""
        counts = [tasks.bit_count() for tasks in actives]
        staying = self.group.staying
        if self.uses_draining(actives):
            return True
        threads = [client.threads for client in self.group.clients]
        return any(counts[c] < threads[c] for c in staying) and any(counts[c] > threads[c] for c in staying)

    def uses_draining(self, actives: Vector) -> bool:
        """Return whether a draining client has an active task while another client stays."""
        return any(tasks for c, tasks in enumerate(actives) if c not in self.group.staying)

    @property
    def tolerance(self) -> Fraction:
        """The share by which the greatest load may exceed its lower bound."""
        return exact(self.group.options.get("load_tolerance", 0.05))
