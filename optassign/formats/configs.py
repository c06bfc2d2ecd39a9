"""`AssignmentConfigs` (Kafka's configs for assignment, with Kafka's defaults and limits) and optassign's own `Options`."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from optassign.formats.base import (
    INT64_MAX,
    Count,
    Frozen,
    Int32,
    NotEmpty,
    TaskIdText,
    Weight,
    cross_check_error,
    is_empty,
    is_none,
    quote,
)
from optassign.formats.task_id import INT32_MAX
from optassign_models.policy.constants import ACCEPTABLE_LAG, LEAST_LOAD_GAIN, LOAD_TOLERANCE, LOGGED_S, OFF_S, STATELESS_S

GoalName = Literal[
    "active_migrations",
    "active_moves",
    "actives_not_caught_up",
    "copies_not_caught_up",
    "disk",
    "load",
    "rack_cost",
    "rack_traffic",
    "restore_work",
    "standby_migrations",
    "tag_spread",
]
"""The goals that options may order: those of `optassign.goals.plan`, a higher room."""


def check_repeats(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names. A validation error if one comes twice."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise cross_check_error(f"{quote(name)} a second time", "each name once", f"[{i}]")
        seen.add(name)
    return names


class AssignmentConfigs(Frozen):
    """The configs of Kafka Streams that concern assignment (KIP-924), with Kafka's names, defaults and limits."""

    acceptable_recovery_lag: Count = Field(default=ACCEPTABLE_LAG, description="offsets; a copy that lags no more is caught up")
    max_warmup_replicas: Annotated[int, Field(ge=1, le=INT32_MAX, description="warm-ups at a time, of all tasks together")] = 2
    num_standby_replicas: Int32 = Field(default=0, description="standbys of each logged task")
    probing_rebalance_interval_ms: Annotated[int, Field(ge=60_000, le=INT64_MAX, description="until a follow-up, ms")] = 600_000
    rack_aware_assignment_strategy: Literal["none", "min_traffic", "balance_subtopology"] = Field(
        default="none", description="not none: goal rack_traffic joins"
    )
    rack_aware_assignment_tags: Annotated[
        tuple[NotEmpty, ...], Field(strict=False, fail_fast=True), AfterValidator(check_repeats)
    ] = Field(
        default=(),
        description="client tags in which copies of a task should differ, most important first: goal tag_spread",
    )
    rack_aware_traffic_cost: Int32 | None = Field(default=None, description="cost for Kafka's own assignors and goal rack_cost")
    rack_aware_non_overlap_cost: Int32 | None = Field(
        default=None, description="cost for Kafka's own assignors and goal rack_cost"
    )


SolverName = Literal["auto", "cp-sat", "highs"]
"""A solver of the target: CP-SAT, HiGHS with a proof by duals, or the one that suits the size."""


class Weights(Frozen):
    """Weights of preset `weighted`: the costs of one unit of imbalance per client and per subtopology, and of stickiness."""

    instance: Annotated[float, Field(ge=0, description="of one unit of imbalance of a client")] = 1000.0
    subtopology: Annotated[float, Field(ge=0, description="of one unit of imbalance of a client in a subtopology")] = 100.0
    stickiness: Annotated[
        float, Field(ge=0, description="of one move, or of restoring a hundredth of the mean whole changelog")
    ] = 1.0

    @property
    def exact(self) -> tuple[Fraction, Fraction, Fraction]:
        """The three weights in order, exactly as their decimal digits say."""
        return Fraction(repr(self.instance)), Fraction(repr(self.subtopology)), Fraction(repr(self.stickiness))


class OffloadPrices(Frozen):
    """The prices of a temporary offload (docs/reference/rules.md, "Temporary offload"): an active task may leave an overloaded
    client, and later move to its target client, if that saves more seconds of one surplus active task than this."""

    stateless: Annotated[int, Field(ge=0, le=OFF_S, description="seconds, for each extra move of a stateless task")] = (
        STATELESS_S
    )
    logged: Annotated[int, Field(ge=0, le=OFF_S, description="the same, for a logged task and its caught-up standby")] = (
        LOGGED_S
    )


LimitKind = Literal["most_active_moves", "most_copies", "most_state", "pin", "forbid"]
_KINDS_WITH_NUMBER = frozenset({"most_active_moves", "most_copies", "most_state"})
_KINDS_OF_PLACES = frozenset({"pin", "forbid"})
_Names = Annotated[tuple[NotEmpty, ...], Field(strict=False, fail_fast=True), AfterValidator(check_repeats)]


class Limit(Frozen):
    """An operator's limit (docs/reference/rules.md, "Limits"). It concerns all tasks and all clients unless it selects some."""

    kind: LimitKind = Field(description="what is limited; pin concerns active copies, forbid all copies")
    name: NotEmpty | None = Field(default=None, description="name in reports; null: kind and number in the list")
    most: Count | None = Field(
        default=None,
        description="active moves per rebalance; or per client copies (active and standby), or state in offsets",
    )
    tasks: Annotated[tuple[TaskIdText, ...], Field(strict=False, fail_fast=True), AfterValidator(check_repeats)] = Field(
        default=(), description="for pin and forbid: these tasks"
    )
    subtopologies: _Names = Field(default=(), description="for pin and forbid: the tasks of these, as 0 or name__0")
    clients: _Names = Field(default=(), description="these clients, by process id, client id or host")
    tags: Annotated[dict[str, str], Field(fail_fast=True)] = Field(default={}, description="clients with all of these tags")

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        if (self.most is None) == (self.kind in _KINDS_WITH_NUMBER):
            found = "no number" if self.most is None else str(self.most)
            raise cross_check_error(found, "a number" if self.most is None else f"none for {self.kind}", ".most")
        if self.kind == "most_active_moves" and self.most == 0:
            raise cross_check_error("0", "1 or more; pause the application to move nothing", ".most")
        if self.kind not in _KINDS_OF_PLACES and (self.tasks or self.subtopologies):
            field = "tasks" if self.tasks else "subtopologies"
            raise cross_check_error("some", f"none for {self.kind}, which applies to all tasks", f".{field}")
        if self.kind == "most_active_moves" and (self.clients or self.tags):
            field = "clients" if self.clients else "tags"
            raise cross_check_error("some", f"none for {self.kind}, which applies to the whole group", f".{field}")
        if self.kind in _KINDS_OF_PLACES and not (self.clients or self.tags):
            raise cross_check_error("neither", f"clients or tags for {self.kind}", ".clients")
        return self


def name_limits(limits: tuple[Limit, ...]) -> tuple[str, ...]:
    """Return each limit's name in reports: its own, otherwise its kind and its number from 1."""
    return tuple(limit.name or f"{limit.kind} (number {place})" for place, limit in enumerate(limits, start=1))


class Options(Frozen):
    """Options of optassign, not Kafka's: the meaning of balance, the order of goals (docs/reference/rules.md, "Balanced")."""

    balance_factor: Annotated[int, Field(ge=1, le=INT32_MAX, description="greater: wider shares of each client's counts")] = 1
    preset: Literal["lexicographic", "weighted"] = Field(
        default="lexicographic", description="lexicographic: within the shares, goal after goal; weighted: one weighted sum"
    )
    goals: Annotated[tuple[GoalName, ...], Field(strict=False, fail_fast=True), AfterValidator(check_repeats)] | None = Field(
        default=None, description="order of the target's goals; null: the preset's own"
    )
    weights: Weights = Field(default=Weights(), description="for preset weighted only")
    solver: SolverName = Field(
        default="auto", description="the solver of the target; auto: cp-sat for small groups, then highs first"
    )
    relief: OffloadPrices = Field(default=OffloadPrices(), description="prices of temporary offload; 1000000000: no offload")
    weigh_by: Literal["given", "changelog", "rates"] = Field(
        default="given",
        description="source of task weights: the snapshot; the size of changelogs; the growth of the input",
    )
    task_weights: Annotated[dict[str, Weight], Field(fail_fast=True)] = Field(
        default={}, exclude_if=is_empty, description="weight of a task, or of each task of a subtopology; takes precedence"
    )
    load_tolerance: Annotated[float, Field(ge=0, le=10)] = Field(
        default=LOAD_TOLERANCE,
        description="if weights differ: how far the greatest load may exceed the least possible, as a share",
    )
    standby_load: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0,
        exclude_if=is_empty,
        description="if weights differ: load of a standby, as a share of the active copy's weight",
    )
    min_gain: Annotated[float, Field(ge=0, le=10)] = Field(
        default=LEAST_LOAD_GAIN,
        description="least fall of the greatest load, in even spreads, for which tasks move",
    )
    followup: Literal["estimate", "interval"] = Field(
        default="estimate",
        description="when a follow-up is due: after the estimated restore time, or after the probing interval",
    )
    idle_followup_ms: Annotated[int, Field(ge=1_000, le=INT64_MAX)] | Literal[0] | None = Field(
        default=None,
        exclude_if=is_none,
        description="when a follow-up is due that waits for nothing but an operator's requests, ms; 0: never; null: what the"
        " service is set to, and never without one",
    )
    limits: Annotated[tuple[Limit, ...], Field(strict=False, fail_fast=True)] = Field(
        default=(), description="an operator's limits; if not all can be kept, the last gives way first"
    )
    hold: Literal["none", "paused", "quiet_hours"] = Field(
        default="none", description="not none: only R1 to R5 move tasks, and there are no warm-ups"
    )
    hold_ends_ms: Count | None = Field(default=None, description="until the hold ends, ms; null: until it is resumed")
    drain: _Names = Field(default=(), description="further clients to drain: process id, client id or host")
    forget_plan: bool = Field(default=False, description="ignore the remembered target")

    @model_validator(mode="after")
    def _name_each_limit_once(self) -> Self:
        check_repeats(name_limits(self.limits))
        return self
