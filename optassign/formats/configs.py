"""`AssignmentConfigs` (Kafka's configs that concern assignment, Kafka's defaults and limits) and our own `Options`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from optassign.formats.base import INT64_MAX, Count, Frozen, Int32, NotEmpty, cross_check_error, quote
from optassign.formats.goal_names import GoalName
from optassign.formats.task_id import INT32_MAX


def _no_repeats(names: tuple[str, ...]) -> tuple[str, ...]:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise cross_check_error(f"{quote(name)} a second time", "each name once", f"[{i}]")
        seen.add(name)
    return names


class AssignmentConfigs(Frozen):
    """The configs of Kafka Streams that concern assignment (KIP-924), with Kafka's names, defaults and limits."""

    acceptable_recovery_lag: Count = Field(default=10_000, description="offsets; a copy that lags no more is caught up")
    max_warmup_replicas: Annotated[int, Field(ge=1, le=INT32_MAX, description="warm-ups at a time, of all tasks together")] = 2
    num_standby_replicas: Int32 = Field(default=0, description="standbys of each logged task")
    probing_rebalance_interval_ms: Annotated[int, Field(ge=60_000, le=INT64_MAX, description="until a follow-up, ms")] = 600_000
    rack_aware_assignment_strategy: Literal["none", "min_traffic", "balance_subtopology"] = Field(
        default="none", description="not none: goal rack_traffic joins"
    )
    rack_aware_assignment_tags: Annotated[
        tuple[NotEmpty, ...], Field(strict=False, fail_fast=True), AfterValidator(_no_repeats)
    ] = Field(
        default=(),
        description="client tags whose values the copies of a task shall differ in, most important first: goal tag_spread",
    )
    rack_aware_traffic_cost: Int32 | None = Field(default=None, description="of Kafka's own assignors")
    rack_aware_non_overlap_cost: Int32 | None = Field(default=None, description="of Kafka's own assignors")


class Weights(Frozen):
    """Weights of preset `weighted`: what one unit of excess per client, per subtopology, and of stickiness costs."""

    instance: Annotated[float, Field(ge=0, description="of one unit of excess of a client")] = 1000.0
    subtopology: Annotated[float, Field(ge=0, description="of one unit of excess of a client in a subtopology")] = 100.0
    stickiness: Annotated[
        float, Field(ge=0, description="of one move, or of restoring a hundredth of the mean whole changelog")
    ] = 1.0


class Options(Frozen):
    """Ours, not Kafka's: what counts as balanced and in which order goals are met (docs/rules.md, "Balanced")."""

    balance_factor: Annotated[int, Field(ge=1, le=INT32_MAX, description="greater: wider windows of each client's counts")] = 1
    preset: Literal["ordered", "weighted"] = Field(
        default="ordered", description="windows are kept, goals follow one another; or one sum, by weights"
    )
    goals: Annotated[tuple[GoalName, ...], Field(strict=False, fail_fast=True), AfterValidator(_no_repeats)] | None = Field(
        default=None, description="order of the plan's goals; null: the preset's own"
    )
    weights: Weights = Field(default=Weights(), description="of preset weighted; the other has none")
    followup: Literal["estimate", "interval"] = Field(
        default="estimate",
        description="when a follow-up is due: by the time that restoring is likely to take; or after the probing interval",
    )
