"""All targets and all answers of a tiny group that the rules allow; an answer and its target are the best of these sets."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from goal_orders import CONFIGURED, Goals, best, is_about_load, list_goals
from group_facts import Group
from limit_sets import allows, find_ends, find_kept, find_most_moves
from placement_sets import GOALS, Space, Vector, enumerate_sums
from share_bounds import Bounds


class Enumeration:
    """All targets and all answers of a group that the rules allow."""

    def __init__(self, group: Group) -> None:
        """Prepare the enumeration of a group."""
        self.group = group
        self.about_load = is_about_load(group)
        self.goals_in_order = list_goals(group)
        self.space = Space(group, with_masks="load" in self.goals_in_order)
        self.goals = Goals(self.space)
        self.limits = find_kept(self.space)

    @property
    def counts_are_bounded(self) -> bool:
        """Whether targets keep the bounds of shares."""
        return self.group.preset == "lexicographic" and not self.about_load

    def _vectors(self, with_ranks: bool) -> list[list[Vector]]:
        return [
            sorted(
                {
                    self.space.vector(t, copies)
                    for copies in self.space.copies_of(t)
                    if allows(self.group, self.limits, t, copies) and (not with_ranks or self.space.keeps_ranks(t, copies))
                }
            )
            for t in range(len(self.group.tasks))
        ]

    @cached_property
    def in_limits(self) -> list[Vector]:
        """The placements that keep R1, R2, R4 and compatible limits; only balanced ones if bounds apply and any exist."""
        vectors = self._vectors(with_ranks=False)
        ends = find_ends(self.space, self.limits)
        if self.counts_are_bounded:
            uppers = [high for row in self.space.bounds for _, high in row]
            within = {self.space.counts_at + place: high for place, high in enumerate(uppers)}
            if balanced := [v for v in enumerate_sums(vectors, within | ends) if self._is_balanced(v, self.space.bounds)]:
                return balanced
        return enumerate_sums(vectors, ends)

    def _is_balanced(self, vector: Vector, bounds: Sequence[Bounds]) -> bool:
        return not any(self.space.imbalances(vector, bounds))

    @cached_property
    def bounds(self) -> list[list[Bounds]]:
        """The possible bounds: of shares or, if no placement keeps them, widened to each list of counts of least imbalance."""
        space = self.space
        if not self.counts_are_bounded:
            return [space.bounds]
        imbalances = space.measure_imbalances(self.in_limits, space.bounds)
        least = min(imbalances.values())
        if not any(least):
            return [space.bounds]
        width = len(self.group.clients)
        widened = []
        for counts in sorted(row for row, value in imbalances.items() if value == least):
            rows = [counts[i : i + width] for i in range(0, len(counts), width)]
            widened.append(
                [
                    tuple((min(low, n), max(high, n)) for (low, high), n in zip(bounds, row, strict=True))
                    for bounds, row in zip(space.bounds, rows, strict=True)
                ]
            )
        return widened

    def targets(self, bounds: Sequence[Bounds]) -> list[Vector]:
        """Return the targets within these bounds."""
        if not self.counts_are_bounded:
            return self._in_load(self.in_limits)
        imbalances = self.space.measure_imbalances(self.in_limits, bounds)
        at, end = self.space.counts_at, self.space.totals_at
        return [vector for vector in self.in_limits if not any(imbalances[vector[at:end]])]

    def _in_load(self, vectors: list[Vector]) -> list[Vector]:
        """Return the placements without idle threads under load, or all if there are none."""
        if not self.about_load:
            return vectors
        return [vector for vector in vectors if self._is_even(vector)] or vectors

    def _is_even(self, vector: Vector) -> bool:
        """Return whether no thread is idle under load, and draining clients have nothing for which others have room."""
        return not self.goals.loads.lets_threads_idle(self.space.actives_on(vector)) and not self.space.fills_draining(vector)

    def at_once(
        self, bounds: Sequence[Bounds], disk_slack: Fraction = Fraction(0), moves: str = "active_moves"
    ) -> list[Vector]:
        """Return the placements that keep R1 to R5, these bounds and the limits, at the optimum of the configured goals.

        `disk` may exceed its optimum by the share `disk_slack`. `moves` names the sum that a limit on moves bounds; the rules
        leave open whether a move that R3 forces counts.
        """
        vectors = self._vectors(with_ranks=True)
        if not all(vectors):
            return []
        ends = find_ends(self.space, self.limits)
        most = find_most_moves(self.group)
        if most is not None:
            ends[GOALS.index(moves)] = most
        found = enumerate_sums(vectors, ends)
        if self.counts_are_bounded:
            found = [vector for vector in found if self._is_balanced(vector, bounds)]
        else:
            found = [vector for vector in found if self._is_even(vector)]
        left = self.targets(bounds)
        for goal in self.goals_in_order if found else []:
            key = self.goals.key(goal)
            least, left = best(left, key)
            if goal == "disk":
                found = [vector for vector in found if key(vector) <= (1 + disk_slack) * least]
            elif goal in CONFIGURED:
                found = [vector for vector in found if key(vector) == least]
        return found
