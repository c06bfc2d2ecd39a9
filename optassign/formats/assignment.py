"""The answer: `TaskAssignment` with the copies of each client, the target and the report (KIP-924's names as released).

Task ids are only checked for their form: an answer that breaks a rule can be read, so that `validate` can report it.
"""

import math
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field

from optassign.display import make_frame, make_html
from optassign.formats.base import (
    Count,
    Format,
    Frozen,
    NotEmpty,
    SortedTaskIds,
    TaskIdText,
    Time,
    cross_check_error,
    is_empty,
    is_none,
    quote,
)

if TYPE_CHECKING:
    from optassign.display import DataFrame

Stage = Literal["now", "plan", "rebalance", "warmups"]
Role = Literal["active", "standby"]
EvidenceName = Literal["bound", "once", "steady"]


class KafkaStreamsAssignment(Frozen):
    """One client's copies. To Kafka a warm-up is a standby; here it is separate, because it counts separately."""

    process_id: NotEmpty
    active: SortedTaskIds = ()
    standby: SortedTaskIds = ()
    warmup: SortedTaskIds = ()
    followup_rebalance_ms: Count | None = Field(default=None, description="delay of the requested follow-up, ms; null: none")


class TargetAssignment(Frozen):
    """One client's copies in the target assignment."""

    process_id: NotEmpty
    active: SortedTaskIds = ()
    standby: SortedTaskIds = ()


class GoalReport(Frozen):
    """One goal of one stage: its value, a solver's bound, and whether these prove it optimal, given the goals before it."""

    stage: Stage
    name: NotEmpty
    value: int | float
    bound: int | float | None = Field(default=None, description="a solver's or a relaxation's bound; null: unknown")
    gap: float | None = None
    proven: bool = False


class WarmupProgress(Frozen):
    """A warm-up: its lag (offsets) when last seen, and the number of answers for which that has not fallen (R11)."""

    task: TaskIdText
    process_id: NotEmpty
    lag: Count | None = Field(default=None, description="offsets left to replay; null: unknown")
    answers_without_progress: Count = 0
    under_way_ms: Count = Field(default=0, description="time since it was first assigned, ms")


class ClientPace(Frozen):
    """A client's restore rate so far: offsets in this many milliseconds, the mean of agreeing measurements."""

    process_id: NotEmpty
    offsets: Count
    ms: Count
    evidence: EvidenceName = Field(
        default="once",
        description="bound: the client was done at each answer, so it may be faster; once: measured once; steady: twice alike",
    )


class Pace(Frozen):
    """Restore rates of clients, learned from the times between answers; they determine the next follow-up."""

    taken_at: Time = Field(description="time of the snapshot, ISO 8601")
    clients: Annotated[tuple[ClientPace, ...], Field(strict=False, fail_fast=True)] = ()
    looks: Count = Field(default=0, description="consecutive answers at which no copy had come nearer")
    counted_at: Time | None = Field(default=None, description="when answers without progress were last counted")


class SourceRate(Frozen):
    """The growth of the source partitions of one task."""

    task: TaskIdText
    end_offset: Count = Field(description="sum over its source partitions")
    per_second: Annotated[float, Field(ge=0)] | None = Field(default=None, description="records; null: unknown yet")
    measured: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="weight of the measured time, halved every eight hours: 0.5 after eight hours, at most 1"
    )


class SourceRates(Frozen):
    """Input rates learned from the times between snapshots, if the options weigh tasks by them (`options.weigh_by`)."""

    taken_at: Time = Field(description="time of the snapshot with these offsets, ISO 8601")
    tasks: Annotated[tuple[SourceRate, ...], Field(strict=False, fail_fast=True)] = ()


class Waiting(Frozen):
    """A target copy for which the follow-up waits."""

    task: TaskIdText
    process_id: NotEmpty
    role: Role
    lag: Count | None = Field(default=None, description="offsets left to replay; null: unknown")
    slot: bool = Field(default=False, description="true: it is restored now; false: it waits for a slot")


class Termination(Frozen):
    """Why solving ended, and which limit ended it, separately (as in MathOpt)."""

    reason: NotEmpty = Field(default="feasible", description="optimal, feasible, limit, fallback, rest, confirmed, ...")
    limit: NotEmpty = Field(default="none", description="none, time, ...")
    detail: str = ""


class Dropped(Frozen):
    """Numbers of entries left out of a snapshot because their tasks do not exist (any more)."""

    previous: Count = Field(default=0, description="previous and consumers' tasks not in `tasks`")
    lags: Count = Field(default=0, description="lags of tasks not in `tasks`")
    lags_not_logged: Count = Field(default=0, description="lags of tasks without a changelog")
    remembered: Count = Field(default=0, description="entries of the remembered answer about tasks not in `tasks`")


class DrainReport(Frozen):
    """The state of a draining client."""

    process_id: NotEmpty
    active: Count = Field(default=0, description="active tasks in this answer")
    standby: Count = Field(default=0, description="standbys in this answer")
    may_stop: bool = Field(default=False, description="it has no copies, and owns no task any more")
    stays: bool = Field(default=False, description="other clients have no room: it keeps tasks on target")


class LimitReport(Frozen):
    """The outcome of a limit (docs/reference/rules.md, "Limits")."""

    name: NotEmpty
    kept: bool = Field(description="by answer and target")
    gave_way: bool = Field(default=False, description="it cannot be kept, so it binds neither answer nor target")
    why: str = Field(default="", description="why it is not kept, or not kept yet")


class Report(Frozen):
    """How an answer was found, and how good it is known to be."""

    goals: Annotated[tuple[GoalReport, ...], Field(strict=False, fail_fast=True)] = ()
    found_by: str = Field(default="", description="the stage that found the answer: greedy, flow, cp-sat, ...")
    proved_by: str | None = None
    termination: Termination = Termination()
    seconds: Annotated[dict[str, Annotated[float, Field(ge=0)]], Field(fail_fast=True)] = Field(
        default={}, description="seconds per stage"
    )
    waiting: Annotated[tuple[Waiting, ...], Field(strict=False, fail_fast=True)] = ()
    warmup_progress: Annotated[tuple[WarmupProgress, ...], Field(strict=False, fail_fast=True)] = ()
    pace: Pace | None = Field(default=None, description="restore rates; null: the snapshots have no times")
    rates: SourceRates | None = Field(
        default=None, exclude_if=is_none, description="input rates; left out unless options.weigh_by is rates"
    )
    to_balance_ms: Count | None = Field(
        default=None,
        description="estimated time until the target is reached, which offload uses; null: no copy is waited for",
    )
    stalled: bool = Field(default=False, description="the target is not reached, and no copy comes nearer")
    balanced: bool = False
    dropped: Dropped = Dropped()
    notes: Annotated[tuple[str, ...], Field(strict=False, fail_fast=True)] = ()
    drains: Annotated[tuple[DrainReport, ...], Field(strict=False, fail_fast=True)] = Field(
        default=(), exclude_if=is_empty, description="draining clients; left out if none drains"
    )
    limits: Annotated[tuple[LimitReport, ...], Field(strict=False, fail_fast=True)] = Field(
        default=(), exclude_if=is_empty, description="limits of the options, in order; left out without any"
    )

    def without_times(self) -> Self:
        """Return the report without seconds, equal between two runs on the same problem (R9)."""
        return self.model_copy(update={"seconds": {}})


_Client = TypeVar("_Client", KafkaStreamsAssignment, TargetAssignment)


def _by_process_id(clients: tuple[_Client, ...]) -> tuple[_Client, ...]:
    seen: set[str] = set()
    for i, client in enumerate(clients):
        if client.process_id in seen:
            raise cross_check_error(f"{quote(client.process_id)} a second time", "each process id once", f"[{i}].process_id")
        seen.add(client.process_id)
    return tuple(sorted(clients, key=lambda client: client.process_id))


class TaskAssignment(Frozen):
    """The answer to one rebalance: a `KafkaStreamsAssignment` for every client of the snapshot, by process id."""

    format: Format = 1
    assignor: NotEmpty
    clients: Annotated[tuple[KafkaStreamsAssignment, ...], Field(strict=False, fail_fast=True), AfterValidator(_by_process_id)]
    plan: (
        Annotated[tuple[TargetAssignment, ...], Field(strict=False, fail_fast=True), AfterValidator(_by_process_id)] | None
    ) = Field(default=None, description="target assignment; null: this answer is the target")
    report: Report = Report()

    @property
    def by_process_id(self) -> dict[str, KafkaStreamsAssignment]:
        """Process id → copies of that client."""
        return {client.process_id: client for client in self.clients}

    def without_times(self) -> Self:
        """Return the answer without seconds, equal between two runs on the same problem (R9)."""
        return self.model_copy(update={"report": self.report.without_times()})

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with a row for each copy: task, client, role (`active`, `standby` or `warmup`).

        Raises:
            MissingPackageError: without pandas.

        Examples:
            >>> import optassign
            >>> answer = optassign.assign(optassign.generate("steady", tasks=12, clients=3, standbys=0, seed=1))
            >>> int((answer.to_frame()["role"] == "active").sum())
            12
        """
        rows = (
            {"task": task, "client": client.process_id, "role": role}
            for client in self.clients
            for role in ("active", "standby", "warmup")
            for task in getattr(client, role)
        )
        return make_frame(rows, ("task", "client", "role"))

    def _repr_html_(self) -> str:
        active = sum(len(client.active) for client in self.clients)
        copies = sum(len(client.standby) + len(client.warmup) for client in self.clients)
        title = f"{self.assignor}: {active:,} active tasks and {copies:,} other copies on {len(self.clients):,} clients"
        rows = [(goal.stage, goal.name, goal.value, goal.bound, goal.proven) for goal in self.report.goals]
        return make_html(title, ("stage", "goal", "value", "bound", "proven") if rows else (), rows)

    @property
    def seconds_elsewhere(self) -> float | None:
        """Seconds of the call alone, without the transfer, if the assignor ran in another process; otherwise None."""
        return self.report.seconds.get("assign")


def restore_work_bound(answer: TaskAssignment) -> int | None:
    """Return the proven lower bound of goal (b), of the target or of the answer that is its own target.

    None if the target has goals before (b): its bound then holds only for targets as good in these. If the answer is its own
    target, the bound always holds, because R3 to R5 fix its restore work.
    """
    planned = [goal for goal in answer.report.goals if goal.stage == "plan"]
    if planned and planned[0].name != "restore_work":
        return None
    for goal in (*planned[:1], *(goal for goal in answer.report.goals if goal.stage == "now")):
        if goal.name == "restore_work":
            # Offsets are whole numbers; a float may exceed one by rounding.
            return goal.bound if isinstance(goal.bound, int | None) else math.ceil(goal.bound * (1 - 1e-9))
    return None
