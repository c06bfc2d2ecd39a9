"""Scenarios: an application, its clients and the events that happen to them, from a small TOML file
(docs/reference/simulator.md)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from optassign.formats.base import Frozen, Int32, NotEmpty, SortedTaskIds, cross_check_error, quote
from optassign.formats.configs import AssignmentConfigs, Options, check_repeats
from optassign.formats.durations import DURATION_ALLOWED, format_duration, parse_duration
from optassign.formats.input_errors import InputError, from_validation
from optassign.formats.toml_input import read_toml
from optassign_models.policy.constants import LEAST_CAPACITY, MOST_CAPACITY

__all__ = [
    "GREATEST_SEED",
    "MOST_CLIENTS",
    "ChangedConfigs",
    "Clients",
    "EventKind",
    "Faults",
    "Group",
    "Scenario",
    "ScenarioEvent",
    "Start",
    "Subtopologies",
    "find_scenario",
    "list_library",
    "read_scenario",
    "under_consecutive_seeds",
]

RESTART_S = 10.0
"""Seconds of a restart unless the scenario gives them: about the time in which a JVM starts."""
_NOISE_S = 10.0
"""Seconds between two changes of noisy restore rates: longer than a look, shorter than a copy."""
EVENT_BEGINS_S = 60.0
"""Seconds until the simulated event of an outlook begins. The group is stable before."""


_SHOWN_IDS = 5
"""The most ids in an error, which is one line."""


def _read_seconds(value: object) -> object:
    """Return the seconds of a duration such as "15min"; return a value of another type unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except ValueError:
        raise cross_check_error(quote(value), DURATION_ALLOWED) from None


_AtLeast0 = Annotated[float, Field(ge=0, le=1e9)]
_Above0 = Annotated[float, Field(gt=0, le=1e9)]
Seconds = Annotated[_AtLeast0, BeforeValidator(_read_seconds, json_schema_input_type=_AtLeast0 | str)]
Period = Annotated[_Above0, BeforeValidator(_read_seconds, json_schema_input_type=_Above0 | str)]
Rate = Annotated[float, Field(ge=0, le=1e12)]
GREATEST_SEED = 2**31
MOST_CLIENTS = 100_000
"""The most partitions, subtopologies or clients of one kind: more take hours; no known application has a tenth."""
Number = Annotated[int, Field(ge=1, le=MOST_CLIENTS)]
Protocol = Literal["probing", "learner", "heartbeat", "streams"]
Rebalancing = Literal["cooperative", "eager"]
EventKind = Literal[
    "join",
    "leave",
    "drain",
    "crash",
    "restart",
    "rolling-restart",
    "zone-fails",
    "add-threads",
    "remove-threads",
    "add-subtopologies",
    "configure",
]


class Group(Frozen):
    """How the group rebalances, in addition to `[configs]` and `[options]`."""

    protocol: Protocol = "probing"
    rebalancing: Rebalancing = "cooperative"
    pass_s: Seconds = Field(default=1.0, description="seconds from a trigger until all members have joined")
    session_timeout_s: Seconds = Field(default=45.0, description="seconds until the group notices a crash")
    static: bool = Field(default=False, description="members keep their place when they return within the session time-out")
    state_cleanup_delay_s: Seconds = Field(
        default=600.0, description="seconds that state stays on a disk without being assigned"
    )
    heartbeat_s: Period = Field(default=3.0, description="seconds between the heartbeats of a member")
    all_ask: bool = Field(
        default=False,
        description="`probing`: every client asks for follow-ups, as with the plug-in",
    )
    emulated_warmups: bool = Field(
        default=False, description="`streams`: a warming copy is a standby to the broker (docs/how-to/broker.md)"
    )
    offset_interval_s: Period = Field(default=60.0, description="`streams`: seconds between a member's reports of its offsets")
    watch_s: Period | None = Field(
        default=None, description="`streams`: seconds between two checks of `optassign watch`; null: no watcher"
    )
    follow_s: Seconds = Field(default=0.1, description="seconds by which restored standbys are behind")
    restore_per_s: Rate | None = Field(default=None, description="offsets per second that the brokers send in all")


class Faults(Frozen):
    """Delays and changing rates of a real group, drawn by the seed. By default rebalances take equal times and lags are exact.
    Each thread is a member. The assignment happens `pass_s` after the last member has joined. An instance reports its tasks and
    offsets when one of its threads joins; the ends of changelogs are those at the assignment."""

    heartbeats: bool = Field(
        default=False,
        description="members learn of a rebalance at their next heartbeat, 0 to `heartbeat_s` later, and report the state of "
        "that moment; a member that triggers it, or whose task was revoked, joins at once",
    )
    late: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="probability that a member joins a pass late, for example after a long GC"
    )
    late_s: Seconds = Field(default=5.0, description="seconds by which a late member is late: half of it to all of it")
    slow_start_s: Seconds = Field(
        default=0.0, description="seconds at the beginning of each copy's restoring in which it is slow"
    )
    slow_start_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.15, description="share of its rate that a copy restores in these seconds; no other copy has the rest"
    )
    noise_s: Period = Field(default=_NOISE_S, description="seconds between two changes of rates with `noise`")

    @property
    def delays_joins(self) -> bool:
        """Return whether members of one pass join at different times."""
        return self.heartbeats or self.late > 0


class Subtopologies(Frozen):
    """Several subtopologies with the same properties."""

    count: Number = 1
    partitions: Number
    kind: Literal["logged", "unlogged", "stateless"] = "logged"
    state: Annotated[int, Field(ge=0, le=10**15)] = Field(default=0, description="offsets of a changelog at first, in the mean")
    spread: Annotated[float, Field(ge=0, le=3)] = Field(
        default=0.0,
        description="of state and input: sigma of lognormal factors, or the greatest distance of uniform ones from 1",
    )
    factors: Literal["lognormal", "uniform"] = "lognormal"
    input_per_s: Rate = Field(default=0.0, description="records per second and task, in the mean")
    writes: Annotated[float, Field(ge=0, le=1e6)] = Field(default=1.0, description="changelog offsets per record")
    profile: Literal["constant", "daily", "bursts"] = Field(
        default="constant", description="daily: from 0.4 of the mean at the start to 1.6 after 12 h; bursts: 5 min of each hour"
    )
    joins: bool = Field(default=False, description="not there at the start: an event adds them")


class Clients(Frozen):
    """Several clients with the same properties. Their ids are `ids`, or the name and a number from 1, padded to equal
    length."""

    name: NotEmpty = "c"
    count: Number = 1
    ids: Annotated[tuple[NotEmpty, ...], Field(strict=False)] = Field(
        default=(), description="in place of name and count: a client for each"
    )
    threads: Annotated[int, Field(ge=1, le=10_000)] = 1
    restore_per_s: Rate = Field(default=10_000.0, description="offsets per second that the client restores, in the mean")
    spread: Annotated[float, Field(ge=0, le=3)] = Field(
        default=0.0, description="of its restore rate: sigma of lognormal factors"
    )
    noise: Annotated[float, Field(ge=0, le=3)] = Field(
        default=0.0,
        description="of its restore rate in time: sigma of lognormal factors that change every `noise_s` of `[faults]`",
    )
    process_per_s: Rate = Field(default=10_000.0, description="records per second that a thread processes")
    tags: dict[str, str] = Field(default={})
    capacity: Annotated[float, Field(ge=LEAST_CAPACITY, le=MOST_CAPACITY)] = 1.0
    joins: bool = Field(default=False, description="not there at the start: an event lets them join")
    disk: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0,
        description="share of the logged tasks of which a joining client has part of the state",
    )


class Start(Frozen):
    """The copies of one client at the start."""

    client: NotEmpty
    active: SortedTaskIds = ()
    standby: SortedTaskIds = ()


_TagKeys = Annotated[tuple[NotEmpty, ...], Field(strict=False), AfterValidator(check_repeats)]


class ChangedConfigs(Frozen):
    """Configs that an event changes; fields that are left out keep their values."""

    num_standby_replicas: Int32 | None = None
    max_warmup_replicas: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    rack_aware_assignment_tags: _TagKeys | None = None


class ScenarioEvent(Frozen):
    """An event that happens to clients or to the application."""

    at: Seconds
    do: EventKind
    clients: Annotated[tuple[NotEmpty, ...], Field(strict=False)] = Field(default=(), description="ids; empty: `zone`")
    zone: str | None = Field(default=None, description="all clients with this value of `zone_tag`")
    down_s: Seconds | None = Field(
        default=None,
        description=f"seconds until they are back, as the same processes; null: never, or {RESTART_S:g} for a restart",
    )
    keeps_disk: bool = Field(default=True, description="whether they come back with their state")
    every_s: Seconds = Field(default=60.0, description="rolling-restart: seconds from one client to the next")
    threads: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="add-threads, remove-threads: how many of each client; null: one"
    )
    subtopologies: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)] = Field(
        default=(), description="add-subtopologies: numbers, of those that join"
    )
    configs: ChangedConfigs | None = Field(default=None, description="configure: the configs that change")


class Scenario(Frozen):
    """The whole content of a scenario file."""

    name: NotEmpty
    about: str = ""
    seed: Annotated[int, Field(ge=0, le=GREATEST_SEED)] = 0
    duration_s: Seconds
    warm_start: bool = Field(default=True, description="the group begins balanced and restored; false: with empty disks")
    own_start: bool = Field(
        default=False,
        description="the assignor that plays computes the warm start; false: cp-sat does, for every assignor",
    )
    zone_tag: str = "zone"
    configs: AssignmentConfigs = AssignmentConfigs()
    options: Options = Options()
    group: Group = Group()
    faults: Faults = Faults()
    subtopologies: Annotated[tuple[Subtopologies, ...], Field(strict=False, min_length=1)]
    clients: Annotated[tuple[Clients, ...], Field(strict=False, min_length=1)]
    start: Annotated[tuple[Start, ...], Field(strict=False)] = Field(
        default=(), description="each client's copies at the start, in sync; empty: a balanced assignment"
    )
    events: Annotated[tuple[ScenarioEvent, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        for number, kind in enumerate(self.clients):
            if kind.ids and kind.model_fields_set & {"name", "count"}:
                raise cross_check_error("ids together with name or count", "either", f".clients[{number}]")
        self._check_watch()
        self._check_faults()
        names = sorted(name for name, _ in self.list_clients())
        twice = next((name for before, name in pairwise(names) if name == before), None)
        if twice is not None:
            raise cross_check_error(f"{quote(twice)} a second time", "each id once", ".clients")
        if all(kind.joins for _, kind in self.list_clients()):
            raise cross_check_error("joins for all", "some client that is there at the start", ".clients")
        known = set(names)
        starting, placed = set[str](), set[str]()
        for number, given in enumerate(self.start):
            if given.client not in known:
                raise cross_check_error(quote(given.client), "the id of a client", f".start[{number}].client")
            if given.client in starting:
                raise cross_check_error(f"{quote(given.client)} a second time", "each client once", f".start[{number}].client")
            again = next((task for task in given.active if task in placed), None)
            if again is not None:
                raise cross_check_error(f"task {again} a second time", "each task active once", f".start[{number}].active")
            starting.add(given.client)
            placed.update(given.active)
            strange = next((task for task in (*given.active, *given.standby) if task not in self.task_ids), None)
            if strange is not None:
                raise cross_check_error(quote(strange), "a task of the scenario", f".start[{number}]")
        if all(group.joins for group in self.subtopologies):
            raise cross_check_error("joins for all", "some subtopology that is there at the start", ".subtopologies")
        for number, tasks in enumerate(self.subtopologies):
            if tasks.factors == "uniform" and tasks.spread > 1:
                raise cross_check_error(str(tasks.spread), "at most 1 with uniform factors", f".subtopologies[{number}].spread")
        check_events(self)
        return self

    def _check_watch(self) -> None:
        """Check that `watch_s` and `emulated_warmups` fit the protocol: only `streams` has them, and a watcher needs
        warm-ups."""
        group = self.group
        if group.emulated_warmups and group.protocol != "streams":
            raise cross_check_error("true", f"false with protocol {group.protocol}", ".group.emulated_warmups")
        if group.watch_s is not None and not group.emulated_warmups:
            raise cross_check_error(str(group.watch_s), "null without emulated_warmups", ".group.watch_s")

    def _check_faults(self) -> None:
        """Check that joins have no delays under `streams`, where members do not join and no rebalance waits for them."""
        if self.faults.delays_joins and self.group.protocol == "streams":
            field = "heartbeats" if self.faults.heartbeats else "late"
            found, allowed = ("true", "false") if self.faults.heartbeats else (str(self.faults.late), "0")
            raise cross_check_error(found, f"{allowed} with protocol streams", f".faults.{field}")

    @cached_property
    def task_ids(self) -> frozenset[str]:
        """Return the ids of all tasks; subtopologies are numbered in their order."""
        partitions = [group.partitions for group in self.subtopologies for _ in range(group.count)]
        return frozenset(f"{number}_{partition}" for number, most in enumerate(partitions) for partition in range(most))

    def list_subtopologies(self) -> Iterator[Subtopologies]:
        """Return the kind of every subtopology, in the order of their numbers."""
        return (group for group in self.subtopologies for _ in range(group.count))

    def list_clients(self) -> Iterator[tuple[str, Clients]]:
        """Yield id and kind of every client of the scenario, present at the start or not."""
        for kind in self.clients:
            if kind.ids:
                yield from ((name, kind) for name in kind.ids)
                continue
            digits = len(str(kind.count))
            for number in range(1, kind.count + 1):
                yield f"{kind.name}{number:0{digits}d}", kind


_APPLICATION_EVENTS = ("add-subtopologies", "configure")
_ABSENCES = ("crash", "leave", "restart", "rolling-restart", "zone-fails")
_USERS_OF_FIELD = {
    "threads": ("add-threads", "remove-threads"),
    "subtopologies": ("add-subtopologies",),
    "configs": ("configure",),
    "down_s": _ABSENCES,
    "keeps_disk": _ABSENCES,
    "every_s": ("rolling-restart",),
}
"""Optional field of an event → the events that use it."""


def check_events(scenario: Scenario) -> None:
    """Check the events. PydanticCustomError for the first that names an unknown client, zone or subtopology, lacks a required
    field, or has a field of other events."""
    known = {name for name, _ in scenario.list_clients()}
    zones = {kind.tags[scenario.zone_tag] for kind in scenario.clients if scenario.zone_tag in kind.tags}
    joining = [number for number, group in enumerate(scenario.list_subtopologies()) if group.joins]
    for number, event in enumerate(scenario.events):
        place = f".events[{number}]"
        if event.at >= scenario.duration_s:
            allowed = f"a time before the end, {format_duration(scenario.duration_s)}"
            raise cross_check_error(format_duration(event.at), allowed, f"{place}.at")
        unknown = next((client for client in event.clients if client not in known), None)
        if unknown is not None:
            raise cross_check_error(quote(unknown), f"the id of a client: {_list_some(sorted(known))}", f"{place}.clients")
        if event.do in _APPLICATION_EVENTS:
            if event.clients or event.zone is not None:
                raise cross_check_error(f"clients or a zone with {event.do}", "neither", place)
        elif bool(event.clients) == (event.zone is not None):
            raise cross_check_error("both" if event.clients else "neither", "either clients or a zone", place)
        if event.zone is not None and event.zone not in zones:
            allowed = f"a client's value of tag {scenario.zone_tag!r} ({_list_some(sorted(zones)) or 'no client has one'})"
            raise cross_check_error(quote(event.zone), allowed, f"{place}.zone")
        for name, deeds in _USERS_OF_FIELD.items():
            if getattr(event, name) != ScenarioEvent.model_fields[name].default and event.do not in deeds:
                raise cross_check_error(f"{name} with {event.do}", f"{name} with {' or '.join(deeds)}", place)
        if event.do == "leave" and scenario.group.protocol == "learner" and event.down_s is not None:
            raise cross_check_error(
                "down_s", "none: with protocol learner it drains, and does not come back", f"{place}.down_s"
            )
        strange = next((number for number in event.subtopologies if number not in joining), None)
        if strange is not None:
            allowed = f"numbers of subtopologies that join ({', '.join(map(str, joining)) or 'none'})"
            raise cross_check_error(str(strange), allowed, f"{place}.subtopologies")
        if event.do == "add-subtopologies" and not event.subtopologies:
            raise cross_check_error("none", "numbers of subtopologies that join", f"{place}.subtopologies")
        if event.do == "configure" and not (event.configs and event.configs.model_fields_set):
            raise cross_check_error("none", ", ".join(ChangedConfigs.model_fields), f"{place}.configs")
    _check_threads(scenario)


def _list_some(names: list[str]) -> str:
    shown = names[:_SHOWN_IDS]
    return ", ".join([*shown, f"and {len(names) - len(shown):,} more"] if len(names) > len(shown) else shown)


def _check_threads(scenario: Scenario) -> None:
    """Check that every client keeps at least one thread."""
    threads = {name: kind.threads for name, kind in scenario.list_clients()}
    zones = {name: kind.tags.get(scenario.zone_tag) for name, kind in scenario.list_clients()}
    for number, event in sorted(enumerate(scenario.events), key=lambda item: item[1].at):
        if event.do in ("add-threads", "remove-threads"):
            more = (event.threads or 1) * (1 if event.do == "add-threads" else -1)
            for name in event.clients or [name for name, zone in zones.items() if zone == event.zone]:
                threads[name] += more
                if threads[name] < 1:
                    place = f".events[{number}].threads"
                    raise cross_check_error(f"{-more} of {quote(name)}, which has {threads[name] - more}", "fewer", place)


_LIBRARY = Path(str(files("optassign.simulation.timed") / "library"))


def list_library() -> list[str]:
    """Return the names of the scenarios in the package."""
    return sorted(path.stem for path in _LIBRARY.glob("*.toml"))


def find_scenario(scenario: Scenario | str | PathLike[str]) -> Scenario:
    """Return a given scenario, or read the scenario at a path or of a library name.

    Raises:
        TypeError: for any other type.
        InputError: for a scenario that cannot be read.
    """
    if isinstance(scenario, Scenario):
        return scenario
    if not isinstance(scenario, str | PathLike):
        raise TypeError(f"scenario: found {type(scenario).__name__}; allowed: a Scenario, a path or a name")
    return read_scenario(fspath(scenario))


def under_consecutive_seeds(scenario: Scenario, number: int) -> Iterator[Scenario]:
    """Yield the scenario under `number` consecutive seeds, from its own on; 0 follows the greatest seed."""
    for count in range(number):
        yield scenario.model_copy(update={"seed": (scenario.seed + count) % (GREATEST_SEED + 1)})


def read_scenario(name: str) -> Scenario:
    """Return the scenario of a file, or the library scenario of that name. InputError for any error in it."""
    path = Path(name)
    if not path.exists() and name in list_library():
        path = _LIBRARY / f"{name}.toml"
    if not path.exists():
        allowed = f"a file with a scenario in TOML, or one of {', '.join(list_library())}"
        raise InputError(name, "", "no such file", allowed)
    table = read_toml(path, "a scenario in TOML")
    try:
        return Scenario.model_validate(table)
    except ValidationError as error:
        raise from_validation(error, table, Scenario, str(path)) from None
