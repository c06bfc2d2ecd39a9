"""Simulate a group's next events to estimate their cost: optassign takes over, an instance joins or is lost, all restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from optassign.assignor import create
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.inspecting.inspected import Protocol
from optassign.simulation.convergence import limit_rebalances, play_until_stable
from optassign.simulation.successors import make_restored_snapshot
from optassign.simulation.timed.scenario import EVENT_BEGINS_S, Scenario
from optassign.simulation.timed.simulator import SimulatedRun, simulate
from optassign.simulation.timed.snapshots import Inputs, RecordedStart

OUTLOOK_S = 172800.0
"""Simulated seconds in which a group may become stable: restoring takes less than two days."""
EVERY_S = 180.0
"""Minimum seconds between two instances of a rolling restart, as in a deployment that waits until each instance runs."""
COMPARED_SLOTS = (1, 2, 4, 8, 16, 32, 64)
"""The compared values of `max.warmup.replicas`: doubling shows from which value on more warm-ups do not help."""
WORTH_SLOTS = 1.1
"""The best number of warm-ups is the least that takes at most this many times the shortest time: more load the brokers."""


OPTASSIGN = "cp-sat"
EVENTS = {
    "adopt": "optassign takes over",
    "scale-out": "an instance joins",
    "loss": "an instance is lost",
    "restart": "all instances restart, one by one",
}
"""Event → its text."""
_NEW = "new-instance"
_LEAST_PROBING_MS = 60_000
"""The least probing.rebalance.interval.ms that Kafka Streams accepts, which the tuned group has."""
_GROUPS: dict[tuple[Protocol, bool], dict[str, Any]] = {
    ("classic", False): {},
    ("classic", True): {},
    ("streams", False): {"protocol": "streams"},
    ("streams", True): {"protocol": "streams", "emulated_warmups": True, "watch_s": 10.0},
}
"""(protocol, whether optassign assigns) → the simulator's group; on brokers warm-ups are emulated (docs/how-to/broker.md)."""


@dataclass(frozen=True)
class Assumptions:
    """Inputs of the simulator in addition to the snapshot."""

    protocol: Protocol
    restore_per_s: float
    """Offsets per second that an instance restores."""
    session_timeout_s: float
    restart_s: float
    """Seconds for which an instance is away in a rolling restart."""
    is_static: bool = False
    """Whether all members are static: one that is back within the session time-out keeps its tasks (KIP-345)."""


@dataclass(frozen=True)
class TunedSettings:
    """Settings that make the group's own assignor fast: the number of warm-ups that pays, and a short interval."""

    max_warmup_replicas: int
    probing_rebalance_interval_ms: int


@dataclass(frozen=True)
class EventCost:
    """The cost of one event under one assignor."""

    event: str
    assignor: str
    seconds: float | None
    """Seconds from the event until no task moves or restores any more; None if longer than two days."""
    moves: int
    """Active tasks that moved from one living instance to another."""
    down_task_s: float
    """Task-seconds in which a task was not processed."""
    longest_down_s: float
    """The longest time in which one task was not processed."""
    restored: int
    """Offsets."""
    rebalances: int
    tuned: bool = False
    """Whether the group had the settings of `GroupOutlook.tuned`."""


@dataclass(frozen=True)
class WarmupChoice:
    """Duration of a scale-out by number of warm-ups."""

    assignor: str
    now: int
    """max.warmup.replicas of the snapshot."""
    seconds: Mapping[int, float | None]
    """max.warmup.replicas → seconds until the group is stable; None if longer than two days."""

    @property
    def best(self) -> int:
        """The least number that takes at most `WORTH_SLOTS` times the shortest time; `now` if all take longer than two days."""
        known = {slots: seconds for slots, seconds in self.seconds.items() if seconds is not None}
        if not known:
            return self.now
        return min(slots for slots, seconds in known.items() if seconds <= WORTH_SLOTS * min(known.values()))


@dataclass(frozen=True)
class GroupOutlook:
    """All costs, and the number of warm-ups that pays."""

    assignor: str
    """The assignor that is compared with optassign."""
    assumptions: Assumptions
    costs: tuple[EventCost, ...]
    warmups: tuple[WarmupChoice, ...]
    runs: tuple[SimulatedRun, ...]
    """The scale-out under both assignors, for pictures."""
    probing_rebalance_interval_ms: int
    """The group's present interval."""
    tuned: TunedSettings | None
    """None if the group has these settings already, or if its protocol has none."""

    def find(self, event: str, assignor: str, tuned: bool = False) -> EventCost | None:
        """Return the cost of an event; None if it was not simulated under this assignor and these settings."""
        return next((cost for cost in self.costs if (cost.event, cost.assignor, cost.tuned) == (event, assignor, tuned)), None)


def make_outlook(
    state: ApplicationState,
    applied: TaskAssignment,
    assignor: str,
    growth: Mapping[str, float],
    assumptions: Assumptions,
    on_run: Callable[[str], None] = lambda _: None,
) -> GroupOutlook:
    """Simulate each event on a stable group of these tasks and instances.

    `assignor`: the group's own. Under it, the group starts in the stable state that it reaches from `applied`. Under optassign,
    the takeover starts in that state too, and other events in the stable state under optassign. `growth`: task → offsets per
    second. `on_run` takes a text before each run.
    """
    on_run(f"finding where the group rests under {assignor}")
    now = make_restored_snapshot(state, applied, memory=False)
    own_rest = _find_rest(now, assignor)
    on_run("finding where the group rests under optassign")
    optassign_rest = _find_rest(own_rest.model_copy(update={"remembered": None}), OPTASSIGN)
    warmups = []
    for name, rest in ((assignor, own_rest), (OPTASSIGN, optassign_rest)):
        on_run(f"trying numbers of warm-ups under {name}")
        warmups.append(WarmupChoice(name, state.configs.max_warmup_replicas, dict(_try_slots(rest, name, growth, assumptions))))
    probing = state.configs.probing_rebalance_interval_ms
    settings = _find_tuned(state, warmups[0].best, assumptions.protocol)
    starts = [(assignor, own_rest, False), (OPTASSIGN, optassign_rest, False)]
    if settings is not None:
        configs = state.configs.model_copy(update=asdict(settings))
        starts.insert(1, (assignor, own_rest.model_copy(update={"configs": configs}), True))
    costs, runs = [], []
    for event in EVENTS:
        for name, rest, tuned in starts:
            if event == "adopt":
                if name == assignor:
                    continue
                rest = own_rest.model_copy(update={"remembered": None})
            on_run(f"{EVENTS[event]}, under {name}{', tuned' if tuned else ''}")
            played = _play(rest, name, event, growth, assumptions)
            costs.append(replace(_measure(event, name, played), tuned=tuned))
            runs += [played] if event == "scale-out" and not tuned else []
    return GroupOutlook(assignor, assumptions, tuple(costs), tuple(warmups), tuple(runs), probing, settings)


def _find_tuned(state: ApplicationState, best: int, protocol: Protocol) -> TunedSettings | None:
    """Return the settings of a tuned group; None if the group has them already, or if brokers assign."""
    now = state.configs
    slots, probing = max(best, now.max_warmup_replicas), min(now.probing_rebalance_interval_ms, _LEAST_PROBING_MS)
    if protocol != "classic" or (slots, probing) == (now.max_warmup_replicas, now.probing_rebalance_interval_ms):
        return None
    return TunedSettings(slots, probing)


def _find_rest(state: ApplicationState, assignor: str) -> ApplicationState:
    """Return the snapshot of the group once it is stable under this assignor, with its last answer remembered."""
    last = state
    for step in play_until_stable(create(assignor), state, limit=limit_rebalances(state)):
        if step.following is not None:
            last = step.following
    return last


def _try_slots(
    rest: ApplicationState, assignor: str, growth: Mapping[str, float], assumptions: Assumptions
) -> Iterator[tuple[int, float | None]]:
    """Yield (number of warm-ups, seconds of a scale-out or None), until a greater number changes nothing."""
    before: float | None = None
    for slots in sorted({*COMPARED_SLOTS, rest.configs.max_warmup_replicas}):
        configs = rest.configs.model_copy(update={"max_warmup_replicas": slots})
        cost = _measure(
            "scale-out",
            assignor,
            _play(rest.model_copy(update={"configs": configs}), assignor, "scale-out", growth, assumptions),
        )
        yield slots, cost.seconds
        if slots > rest.configs.max_warmup_replicas and cost.seconds is not None and cost.seconds == before:
            return
        before = cost.seconds


def _play(
    state: ApplicationState, assignor: str, event: str, growth: Mapping[str, float], assumptions: Assumptions
) -> SimulatedRun:
    groups = list(state.subtopologies.values())
    tasks = tuple(task for group in groups for task in group)
    threads = sum(client.threads for client in state.clients)
    # At least twice the input: the rate of processing is unknown, and must not cause a backlog.
    process = max(10_000.0, 2 * sum(growth.values()) / threads)
    kinds = [_describe(client, assumptions, process) for client in state.clients]
    if event == "scale-out":
        kinds.append({**_describe(_choose_like(state.clients), assumptions, process), "ids": [_NEW], "joins": True})
    scenario = Scenario.model_validate(
        {
            "name": EVENTS[event],
            "duration_s": OUTLOOK_S,
            "configs": state.configs,
            "group": {
                "session_timeout_s": assumptions.session_timeout_s,
                "static": assumptions.is_static,
                **_GROUPS[assumptions.protocol, assignor == OPTASSIGN],
            },
            "subtopologies": [{"partitions": len(group), "kind": group[0].kind} for group in groups],
            "clients": kinds,
            "events": list(_make_events(state, event, assumptions.restart_s)),
        }
    )
    return simulate(scenario, assignor, beginning=RecordedStart(tasks, (Inputs(0.0, growth),), state))


def _describe(client: KafkaStreamsState, assumptions: Assumptions, process_per_s: float) -> dict[str, Any]:
    return {
        "ids": [client.process_id],
        "threads": client.threads,
        "tags": dict(client.tags),
        "capacity": client.capacity,
        "restore_per_s": assumptions.restore_per_s,
        "process_per_s": process_per_s,
    }


def _choose_like(clients: Sequence[KafkaStreamsState]) -> KafkaStreamsState:
    """Return the model for a new instance: among the instances with the rarest tags, the median by number of threads."""
    number = Counter(tuple(sorted(client.tags.items())) for client in clients)
    rarest = min(number, key=lambda tags: (number[tags], tags))
    same_tags = [client for client in clients if tuple(sorted(client.tags.items())) == rarest]
    return sorted(same_tags, key=lambda client: client.threads)[len(same_tags) // 2]


def _make_events(state: ApplicationState, event: str, restart_s: float) -> Iterable[dict[str, Any]]:
    if event == "scale-out":
        yield {"at": EVENT_BEGINS_S, "do": "join", "clients": [_NEW]}
    elif event == "loss":
        yield {"at": EVENT_BEGINS_S, "do": "crash", "clients": [find_greatest(state)]}
    elif event == "restart":
        names = [client.process_id for client in state.clients]
        yield {
            "at": EVENT_BEGINS_S,
            "do": "rolling-restart",
            "clients": names,
            "every_s": max(EVERY_S, 2 * restart_s),  # an instance is back before the next one goes
            "down_s": restart_s,
        }


def find_greatest(state: ApplicationState) -> str:
    """Return the process id of the instance whose active tasks have the most state."""
    return max(
        state.clients, key=lambda c: (sum(state.full_lags.get(t, 0) for t in c.previous_active), c.process_id)
    ).process_id


def _measure(event: str, assignor: str, played: SimulatedRun) -> EventCost:
    measures = played.measures
    begin = 0.0 if event == "adopt" else EVENT_BEGINS_S
    rebalances = [each for each in played.events if each["event"] == "rebalance" and each["at"] >= begin]
    stable = not rebalances or rebalances[-1]["followup_s"] is None
    restoring = bool(measures.curve) and measures.curve[-1].restoring > 0
    return EventCost(
        event=event,
        assignor=assignor,
        seconds=max(0.0, measures.last_change_at - begin) if stable and not restoring else None,
        moves=measures.moves,
        down_task_s=measures.down_task_s,
        longest_down_s=measures.longest_down_s,
        restored=round(measures.restored),
        rebalances=len(rebalances),
    )
