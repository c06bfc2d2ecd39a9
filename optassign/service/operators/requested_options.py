"""Operators' requests for one rebalance, as options of the snapshot, and their outcome: plain values that pass between
processes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from optassign.formats.assignment import TaskAssignment
from optassign.formats.clients import KafkaStreamsState, find_clients
from optassign.formats.state import ApplicationState

__all__ = [
    "NO_REQUESTS",
    "DrainState",
    "RequestedOptions",
    "RequestsOutcome",
    "keep_names",
    "summarise_applied",
    "summarise_requests",
]


DrainState = Literal["waiting", "draining", "may_stop", "stays", "absent", "ambiguous"]
"""States of a drain. waiting: no rebalance yet; draining: under way; may_stop: done; stays: other clients have no room; absent:
no client has the name; ambiguous: several clients have the name."""


@dataclass(frozen=True)
class RequestedOptions:
    """Fields of a snapshot's `options`, with their defaults if no request is in force."""

    hold: Literal["none", "paused", "quiet_hours"] = "none"
    hold_ends_ms: int | None = None
    drain: tuple[str, ...] = ()
    forget_plan: bool = False
    limits: tuple[Mapping[str, Any], ...] = ()
    idle_followup_ms: int | None = None

    def put_into(self, data: Any) -> None:
        """Add the fields to the options of `data`, a snapshot as parsed JSON. Malformed data stays unchanged: validation
        refuses it later."""
        if not isinstance(data, dict) or self == RequestedOptions():
            return
        options = data.get("options")
        if options is not None and not isinstance(options, dict):
            return
        options = dict(options or {})
        if self.hold != "none":
            options |= {"hold": self.hold, "hold_ends_ms": self.hold_ends_ms}
        if self.forget_plan:
            options["forget_plan"] = True
        if self.idle_followup_ms is not None:
            options.setdefault("idle_followup_ms", self.idle_followup_ms)
        for name, more in (("drain", self.drain), ("limits", self.limits)):
            own = options.get(name) or []
            if more and isinstance(own, list):
                options[name] = [*own, *(one for one in more if one not in own)]
        data["options"] = options


@dataclass(frozen=True)
class RequestsOutcome:
    """The outcome of drains, pauses and limits in an answer, for metrics and log."""

    hold: str = "none"
    draining: int = 0
    may_stop: int = 0
    limits_not_kept: int = 0
    drains: Mapping[str, DrainState] = field(default_factory=dict)
    """Name in `options.drain` → state of the drain."""
    forgot_plan: bool = False
    """Whether the remembered target assignment was ignored."""
    clients: tuple[KafkaStreamsState, ...] = ()
    """Clients of the snapshot, reduced by `keep_names`."""
    log_fields: Mapping[str, str | list[str]] = field(default_factory=dict)
    """Fields of the log; empty if no request is in force."""


NO_REQUESTS = RequestsOutcome()


def summarise_requests(state: ApplicationState, answer: TaskAssignment) -> RequestsOutcome:
    """Return the outcome of the drains, pause and limits of `state` in its `answer`."""
    rows = {row.process_id: row for row in answer.report.drains}

    def find_state(name: str) -> DrainState:
        found = find_clients(state.clients, name)
        if len(found) != 1:
            return "ambiguous" if found else "absent"
        row = rows.get(found[0].process_id)
        if row is None:
            return "draining"
        return "may_stop" if row.may_stop else "stays" if row.stays else "draining"

    not_kept = [limit for limit in answer.report.limits if not limit.kept]
    log_fields: dict[str, str | list[str]] = {}
    if state.options.hold != "none":
        log_fields["hold"] = state.options.hold
    if rows:
        log_fields["drains"] = [
            f"{row.process_id}: {'may stop' if row.may_stop else f'{row.active} active, {row.standby} standby'}"
            for row in rows.values()
        ]
    if not_kept:
        log_fields["limits_not_kept"] = [f"{limit.name}: {limit.why}" for limit in not_kept]
    return RequestsOutcome(
        hold=state.options.hold,
        draining=len(rows),
        may_stop=sum(row.may_stop for row in rows.values()),
        limits_not_kept=len(not_kept),
        drains={name: find_state(name) for name in state.options.drain},
        forgot_plan=state.options.forget_plan,
        clients=keep_names(state.clients),
        log_fields=log_fields,
    )


def summarise_applied(state: ApplicationState, answer: TaskAssignment) -> RequestsOutcome:
    """Return the clients and the drains of `state` in an applied `answer`, whose assignor may know nothing of drains."""
    has_copies = {client.process_id for client in answer.clients if client.active or client.standby or client.warmup}
    has_copies.update(client.process_id for client in state.clients if client.previous_active)

    def find_state(name: str) -> DrainState:
        found = find_clients(state.clients, name)
        if len(found) != 1:
            return "ambiguous" if found else "absent"
        return "draining" if found[0].process_id in has_copies else "may_stop"

    drains = {name: find_state(name) for name in state.options.drain}
    return RequestsOutcome(drains=drains, clients=keep_names(state.clients))


def keep_names(clients: Iterable[KafkaStreamsState]) -> tuple[KafkaStreamsState, ...]:
    """Return the clients with only their names and threads."""
    return tuple(
        KafkaStreamsState(process_id=one.process_id, client_id=one.client_id, host=one.host, threads=one.threads)
        for one in clients
    )
