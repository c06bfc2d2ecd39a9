"""Capacity planning: the fewest instances, standbys and warm-ups that keep a target over a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from optassign.assignor import TaskAssignor, name_assignor
from optassign.display import make_frame, make_html
from optassign.errors import ArgumentError
from optassign.formats.task_id import INT32_MAX
from optassign.simulation.timed.effects import measure_effects
from optassign.simulation.timed.least import Search, find_least
from optassign.simulation.timed.scaling import Capacity, count_least_instances, fail_zone, list_zones, read_capacity, scale
from optassign.simulation.timed.scenario import MOST_CLIENTS, Scenario, find_scenario, under_consecutive_seeds
from optassign.simulation.timed.simulator import SimulatedRun, simulate

if TYPE_CHECKING:
    from optassign.display import DataFrame

__all__ = [
    "CapacityOption",
    "CapacityPlan",
    "CapacityRanges",
    "CapacityTarget",
    "describe_choice",
    "plan_capacity",
]

_MOST_TIMES = 4
"""Most instances that a capacity plan tries without a given range, as a multiple of the scenario's number. A greater need calls
for a scenario of its size; by bisection the range costs two runs more than half of it."""

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityTarget:
    """The greatest values that each run may have; None means no limit. At least one limit is required."""

    balance_s: float | None = None
    """`--balance`: seconds from an event to the next in which active tasks are out of balance or no instance runs."""
    load: float | None = None
    """`--load`: input of an instance's active tasks as a share of its threads' rate, 0 to 1, such as 0.7."""
    state: float | None = None
    """`--disk`: offsets of state on an instance."""
    down_s: float | None = None
    """`--downtime`: longest time for which a task is not processed, in seconds."""
    zone_loss: bool = False
    """`--zone-loss`: each limit also holds when any one zone fails, and each logged task then keeps a caught-up copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRanges:
    """The least and the greatest number of each kind to try, both included."""

    instances: Bounds | None = None
    """None: from the fewest that the scenario allows to four times its own number."""
    standbys: Bounds | None = None
    """None: the scenario's own number."""
    warmups: Bounds | None = None
    """None: the scenario's own number."""


@dataclass(frozen=True, slots=True)
class CapacityOption:
    """The worst figures over all runs with one capacity."""

    capacity: Capacity
    balance_s: float | None
    """None if, after some event, the actives were still out of balance at the next event or at the end."""
    load: float
    state: float
    down_s: float
    uncopied_task_s: float
    """Task-seconds of logged tasks without a caught-up copy while a zone has failed; 0 without `zone_loss`."""
    broken: tuple[str, ...]
    """Names of the limits that this capacity breaks; empty if it keeps the target."""


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """The least capacity that keeps a target, and the figures with one more or one fewer of each kind."""

    scenario: str
    assignor: str
    target: CapacityTarget
    chosen: CapacityOption | None
    """None if no capacity in the ranges keeps the target."""
    prices: Mapping[str, CapacityOption]
    """`as planned`, `1 instance fewer`, … → figures. If no capacity keeps the target: the figures with the most of each
    kind."""
    searches: tuple[Search, ...]
    runs: int
    """Number of simulations."""
    replications: int
    """Number of seeds with which each capacity was played."""

    def to_frame(self) -> DataFrame:
        """Return `prices` as a pandas data frame, a row for each.

        Raises:
            MissingPackageError: without pandas.

        Examples:
            >>> import optassign
            >>> plan = optassign.plan_capacity("scale-out", optassign.CapacityTarget(load=0.04))
            >>> int(plan.to_frame()["instances"].max())
            4
        """
        columns = ("", *Capacity.__dataclass_fields__, *_FIGURES, "broken")
        return make_frame((dict(zip(columns, row, strict=True)) for row in self._list_rows()), columns)

    def _repr_html_(self) -> str:
        columns = ("", *Capacity.__dataclass_fields__, *_FIGURES, "broken")
        return make_html(f"{self.scenario} under {self.assignor}: {describe_choice(self)}", columns, self._list_rows())

    def _list_rows(self) -> Iterator[tuple[object, ...]]:
        for label, option in self.prices.items():
            figures = [getattr(option, name) for name in _FIGURES]
            own = option.capacity
            yield (label, own.instances, own.standbys, own.warmups, *figures, ", ".join(option.broken))


_FIGURES = ("balance_s", "load", "state", "down_s")


def describe_choice(plan: CapacityPlan) -> str:
    """Return the chosen capacity in a few words, or that no capacity keeps the target."""
    return "no capacity of the ranges keeps the target" if plan.chosen is None else f"{plan.chosen.capacity} keep the target"


def plan_capacity(
    scenario: Scenario | str | PathLike[str],
    target: CapacityTarget,
    *,
    ranges: CapacityRanges | None = None,
    assignor: str | TaskAssignor = "cp-sat",
    replications: int = 1,
    on_run: Callable[[str], None] | None = None,
) -> CapacityPlan:
    """Find the fewest instances that keep a target over a scenario, then the fewest standbys, then the fewest warm-ups.

    Each tried number of instances is combined with each number of standbys and of warm-ups, the most warm-ups first, until a
    combination keeps the target. Instances are added to and taken from the kinds that are present at the start, in their
    proportion. Each kind keeps one instance, and instances that an event names stay.

    Args:
        scenario: a scenario, the path of a TOML file, or the name of a scenario in optassign.
        target: the limits.
        ranges: the numbers to try.
        assignor: the assignor that assigns tasks in every run.
        replications: number of consecutive seeds under which the target must hold.
        on_run: called before each simulation with a short description of it.

    Raises:
        TypeError: for a scenario or a limit of another type.
        InputError: for a scenario that cannot be read.
        ArgumentError: for a target without limits, an impossible limit or range, no replications, a scenario with its own
            `start`, `load` without input, or `zone_loss` with fewer than two zones or without their tag in the configs.

    Examples:
        >>> import optassign
        >>> plan = optassign.plan_capacity("scale-out", optassign.CapacityTarget(load=0.04))
        >>> plan.chosen.capacity.instances if plan.chosen else None
        3
    """
    chosen = find_scenario(scenario)
    if replications < 1:
        raise ArgumentError("replications", str(replications), "1 or more")
    _check_target(target, chosen)
    bounds = _choose_bounds(chosen, ranges or CapacityRanges())
    return _Planner(_Judge(chosen, target, assignor, replications, on_run or (lambda text: None)), bounds).plan()


def _check_target(target: CapacityTarget, scenario: Scenario) -> None:
    limits = {name: getattr(target, name) for name in ("balance_s", "load", "state", "down_s")}
    if not target.zone_loss and all(limit is None for limit in limits.values()):
        raise ArgumentError("target", "no limit", f"one or more of {', '.join(limits)}, zone_loss")
    for name, limit in limits.items():
        if limit is None:
            continue
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise TypeError(f"target.{name}: found {type(limit).__name__}; allowed: a number")
        most, allowed = (1.0, "a share, 0 to 1") if name == "load" else (float("inf"), "a finite number, 0 or more")
        if not 0 <= limit <= most or limit == float("inf"):
            raise ArgumentError(f"target.{name}", f"{limit:g}", allowed)
    zones = list_zones(scenario)
    if target.zone_loss and len(zones) < 2:
        found = f"{len(zones)} zones by the tag {scenario.zone_tag!r} of instances that are there at the start"
        raise ArgumentError("target.zone_loss", found, "2 or more zones")
    if target.zone_loss and scenario.zone_tag not in (scenario.configs.rack_aware_assignment_tags or ()):
        allowed = "a scenario with it: assignors spread copies over the values of these tags"
        raise ArgumentError("target.zone_loss", f"no {scenario.zone_tag!r} in configs.rack_aware_assignment_tags", allowed)
    if target.load is not None and not any(each.input_per_s for each in scenario.subtopologies):
        raise ArgumentError("target.load", "no subtopology with input_per_s", "a scenario with input: without it load is 0")


def _choose_bounds(scenario: Scenario, ranges: CapacityRanges) -> dict[str, Bounds]:
    own, least = read_capacity(scenario), count_least_instances(scenario)
    lowest = {"instances": least, "standbys": 0, "warmups": 1}
    greatest = {"instances": MOST_CLIENTS, "standbys": INT32_MAX, "warmups": INT32_MAX}
    given = {name: getattr(ranges, name) for name in lowest}
    bounds = {name: bound or (getattr(own, name), getattr(own, name)) for name, bound in given.items()}
    bounds["instances"] = ranges.instances or (least, _MOST_TIMES * own.instances)
    for name, (low, high) in bounds.items():
        if not lowest[name] <= low <= high <= greatest[name]:
            more = ": each kind keeps one, and all that events name" if name == "instances" else ""
            allowed = f"{lowest[name]} to {greatest[name]:,}, the least first{more}"
            raise ArgumentError(f"ranges.{name}", f"{low} to {high}", allowed)
    if scenario.start:
        raise ArgumentError("scenario.start", f"{len(scenario.start)} entries", "none, since the number of instances varies")
    return bounds


class _Judge:
    """A judge of capacities, which simulates each capacity once and keeps its figures."""

    def __init__(
        self,
        scenario: Scenario,
        target: CapacityTarget,
        assignor: str | TaskAssignor,
        replications: int,
        on_run: Callable[[str], None],
    ) -> None:
        self.scenario, self.target, self.assignor = scenario, target, assignor
        self.replications, self._on_run = replications, on_run
        self._known: dict[Capacity, CapacityOption] = {}
        self.runs = 0

    def judge(self, capacity: Capacity) -> CapacityOption:
        """Return the figures of a capacity."""
        if capacity not in self._known:
            self._known[capacity] = self._play(capacity)
        return self._known[capacity]

    def _play(self, capacity: Capacity) -> CapacityOption:
        scaled = scale(self.scenario, capacity)
        runs = [self._simulate(each, capacity) for each in under_consecutive_seeds(scaled, self.replications)]
        zones = list_zones(scaled) if self.target.zone_loss else ()
        failed = [fail_zone(scaled, zone) for zone in zones]
        lost = [self._simulate(each, capacity) for one in failed for each in under_consecutive_seeds(one, self.replications)]
        balance = [effect.unbalanced_s for played in (*runs, *lost) for effect in measure_effects(played)]
        every = [played.measures for played in (*runs, *lost)]
        option = CapacityOption(
            capacity=capacity,
            balance_s=_find_greatest(balance),
            load=round(max(measures.most_load for measures in every) / 100, 4),
            state=round(max(measures.most_state for measures in every)),
            down_s=round(max(measures.longest_down_s for measures in every), 3),
            uncopied_task_s=round(max((played.measures.without_copy_task_s for played in lost), default=0.0), 3),
            broken=(),
        )
        return replace(option, broken=tuple(_list_broken(option, self.target)))

    def _simulate(self, scenario: Scenario, capacity: Capacity) -> SimulatedRun:
        self._on_run(f"{scenario.name} with {capacity}")
        self.runs += 1
        return simulate(scenario, self.assignor)


def _find_greatest(values: Iterable[float | None]) -> float | None:
    """Return the greatest value; None if any value is None, 0 if there are no values."""
    found = list(values)
    return None if None in found else max((value for value in found if value is not None), default=0.0)


def _list_broken(option: CapacityOption, target: CapacityTarget) -> Iterator[str]:
    if target.balance_s is not None and (option.balance_s is None or option.balance_s > target.balance_s):
        yield "balance"
    for name, label in (("load", "load"), ("state", "disk"), ("down_s", "downtime")):
        limit = getattr(target, name)
        if limit is not None and getattr(option, name) > limit:
            yield label
    if option.uncopied_task_s > 0:
        yield "zone loss"


class _Planner:
    def __init__(self, judge: _Judge, bounds: Mapping[str, Bounds]) -> None:
        self._judge, self._bounds = judge, bounds
        self._searches: list[Search] = []

    def plan(self) -> CapacityPlan:
        """Search kind by kind, play the neighbours of the result, and return the plan."""
        most = Capacity(**{name: high for name, (_, high) in self._bounds.items()})
        found = self._find(most)
        prices = {"the most of each": self._judge.judge(most)} if found is None else self._list_prices(found)
        return CapacityPlan(
            scenario=self._judge.scenario.name,
            assignor=name_assignor(self._judge.assignor),
            target=self._judge.target,
            chosen=None if found is None else self._judge.judge(found),
            prices=prices,
            searches=tuple(self._searches),
            runs=self._judge.runs,
            replications=self._judge.replications,
        )

    def _find(self, most: Capacity) -> Capacity | None:
        instances = self._search("instances", lambda number: self._find_kept(replace(most, instances=number)) is not None)
        if instances is None:
            return None
        found = self._find_kept(replace(most, instances=instances))
        assert found is not None
        low, high = self._bounds["standbys"]
        if low < high:
            self._searches.append(Search("standbys", tuple(range(low, found.standbys + 1)), by_bisection=False))
        warmups = self._search("warmups", lambda number: self._keeps(replace(found, warmups=number)))
        assert warmups is not None
        return replace(found, warmups=warmups)

    def _find_kept(self, most: Capacity) -> Capacity | None:
        """Return the capacity with the fewest standbys that keeps the target, or None.

        Every number is tried: more standbys may break a limit, because they use more disk, and so may more warm-ups.
        """
        standbys, warmups = self._bounds["standbys"], self._bounds["warmups"]
        each = (
            replace(most, standbys=copies, warmups=slots)
            for copies in range(standbys[0], standbys[1] + 1)
            for slots in range(warmups[1], warmups[0] - 1, -1)
        )
        return next((capacity for capacity in each if self._keeps(capacity)), None)

    def _search(self, of: str, keeps: Callable[[int], bool]) -> int | None:
        low, high = self._bounds[of]
        least, search = find_least(of, range(low, high + 1), keeps)
        if low < high:
            self._searches.append(search)
        return least

    def _keeps(self, capacity: Capacity) -> bool:
        return not self._judge.judge(capacity).broken

    def _list_prices(self, chosen: Capacity) -> dict[str, CapacityOption]:
        lowest = {"instances": count_least_instances(self._judge.scenario), "standbys": 0, "warmups": 1}
        prices = {"as planned": self._judge.judge(chosen)}
        for name, word in (("instances", "instance"), ("standbys", "standby"), ("warmups", "warm-up")):
            for change, direction in ((-1, "fewer"), (1, "more")):
                number = getattr(chosen, name) + change
                if number >= lowest[name]:
                    changed: dict[str, Any] = {name: number}
                    prices[f"1 {word} {direction}"] = self._judge.judge(replace(chosen, **changed))
        return prices
