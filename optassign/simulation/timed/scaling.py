"""Variants of a scenario: with other numbers of instances, standbys and warm-ups, or with a failing zone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import count

from optassign.simulation.timed.scenario import Clients, Scenario, ScenarioEvent

__all__ = ["Capacity", "count_least_instances", "fail_zone", "list_zones", "read_capacity", "scale"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The numbers of a scenario that a capacity plan chooses."""

    instances: int
    """Instances at the start."""
    standbys: int
    """`num_standby_replicas`."""
    warmups: int
    """`max_warmup_replicas`."""

    def __str__(self) -> str:
        counts = ((self.instances, "instance"), (self.standbys, "standby"), (self.warmups, "warm-up"))
        plural = {"standby": "standbys"}
        return ", ".join(f"{number:,} {word if number == 1 else plural.get(word, word + 's')}" for number, word in counts)


def read_capacity(scenario: Scenario) -> Capacity:
    """Return the scenario's own capacity."""
    instances = sum(not kind.joins for _, kind in scenario.list_clients())
    return Capacity(instances, scenario.configs.num_standby_replicas, scenario.configs.max_warmup_replicas)


def list_zones(scenario: Scenario) -> tuple[str, ...]:
    """Return the zones of the instances that are present at the start, sorted."""
    return tuple(sorted({kind.tags[scenario.zone_tag] for kind in _list_kinds(scenario) if scenario.zone_tag in kind.tags}))


def fail_zone(scenario: Scenario, zone: str) -> Scenario:
    """Return the scenario with a stable start and one event: a zone fails at once and never returns."""
    lost = ScenarioEvent(at=0, do="zone-fails", zone=zone)
    return scenario.model_copy(update={"name": f"{scenario.name} without zone {zone}", "warm_start": True, "events": (lost,)})


def count_least_instances(scenario: Scenario) -> int:
    """Return the fewest instances that a scenario allows: of each kind one, or all that events name singly."""
    return sum(_count_kept(scenario))


def scale(scenario: Scenario, capacity: Capacity) -> Scenario:
    """Return the scenario with another capacity.

    Instances are added and removed in the proportion of the kinds at the start. Instances that an event names stay. An
    event that names all instances of a kind also names all of that kind in the result.

    Raises:
        ValueError: for fewer instances than `count_least_instances`.
    """
    kinds, kept = _list_kinds(scenario), _count_kept(scenario)
    if capacity.instances < sum(kept):
        raise ValueError(f"found {capacity.instances} instances; allowed: {sum(kept)} or more")
    numbers = _share(capacity.instances, [len(_list_ids(kind)) for kind in kinds], kept)
    named, taken = _list_named(scenario), {name for name, _ in scenario.list_clients()}
    ids: dict[tuple[str, ...], tuple[str, ...]] = {}
    for own, number in zip(map(_list_ids, kinds), numbers, strict=True):
        ids[own] = _choose_ids(own, number, named, taken)
        taken |= set(ids[own])  # kinds whose names end in digits would choose the same ids
    clients = tuple(kind if kind.joins else _name_kind(kind, ids[_list_ids(kind)]) for kind in scenario.clients)
    configs = {"num_standby_replicas": capacity.standbys, "max_warmup_replicas": capacity.warmups}
    events = tuple(event.model_copy(update={"clients": _rename(event.clients, ids)}) for event in scenario.events)
    changed = {"clients": clients, "events": events, "configs": scenario.configs.model_copy(update=configs)}
    return scenario.model_copy(update=changed)


def _list_kinds(scenario: Scenario) -> list[Clients]:
    return [kind for kind in scenario.clients if not kind.joins]


def _list_ids(kind: Clients) -> tuple[str, ...]:
    digits = len(str(kind.count))
    return kind.ids or tuple(f"{kind.name}{number:0{digits}d}" for number in range(1, kind.count + 1))


def _list_named(scenario: Scenario) -> set[str]:
    """Return the ids that an event names without naming all of their kind."""
    whole = [set(_list_ids(kind)) for kind in _list_kinds(scenario)]
    named: set[str] = set()
    for event in scenario.events:
        covered = {name for ids in whole if ids <= set(event.clients) for name in ids}
        named |= set(event.clients) - covered
    return named


def _count_kept(scenario: Scenario) -> list[int]:
    named = _list_named(scenario)
    return [max(1, len(named & set(_list_ids(kind)))) for kind in _list_kinds(scenario)]


def _share(number: int, own: Sequence[int], kept: Sequence[int]) -> list[int]:
    """Return shares of a number in proportion to `own` (D'Hondt), each at least its value in `kept`."""
    shares = list(kept)
    while sum(shares) < number:
        next_one = min(range(len(own)), key=lambda kind: ((shares[kind] + 1) / own[kind], kind))
        shares[next_one] += 1
    return shares


def _choose_ids(own: tuple[str, ...], number: int, named: Collection[str], taken: Collection[str]) -> tuple[str, ...]:
    """Return `number` ids of a kind: its own without the last ids that no event names, or its own followed by new ids."""
    if number <= len(own):
        free = [name for name in own if name not in named]
        gone = set(free[len(free) - (len(own) - number) :])
        return tuple(name for name in own if name not in gone)
    stem = own[-1].rstrip("0123456789") or f"{own[-1]}-"
    fresh = (name for name in (f"{stem}{k}" for k in count(len(own) + 1)) if name not in taken)
    return (*own, *(next(fresh) for _ in range(number - len(own))))


def _name_kind(kind: Clients, ids: tuple[str, ...]) -> Clients:
    if ids == _list_ids(kind):
        return kind
    given = {name: getattr(kind, name) for name in kind.model_fields_set - {"name", "count", "ids"}}
    return Clients.model_validate({**given, "ids": ids})


def _rename(clients: tuple[str, ...], ids: dict[tuple[str, ...], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the clients of an event with the new ids of each kind that the event names in full."""
    for own, now in ids.items():
        whole = set(own)
        if whole <= set(clients):
            clients = (*(name for name in clients if name not in whole), *now)
    return clients
