"""One rebalance under several assignors, side by side: rules, measures, seconds, and the convergence that follows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from optassign.assignor import TaskAssignor, describe_failure, find_traits, name_assignor
from optassign.display import make_frame, make_html
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState, Weights
from optassign.judging.convergences import Convergence
from optassign.judging.explanation_text import remark_on_input
from optassign.judging.metrics import Measures, measure, measure_weighted_cost
from optassign.measuring.described import to_json
from optassign.measuring.facts import Facts
from optassign.measuring.outlook import asks_to_go_on
from optassign.measuring.placement import previous_assignment

if TYPE_CHECKING:
    from optassign.display import DataFrame

RECORDED = "recorded"
"""The name of a recorded answer; it is not judged by the present promises of its assignor."""
NOT_APPLIED = "not_applied"
"""The name of the service's own answer to a recorded rebalance in which another answer was applied."""
PREVIOUS = "previous"
"""The name of the previous assignment in a comparison; it is not judged."""
_WEIGHTED = "cp-sat"
"""The assignor that serves preset `weighted`."""
_ALL_MUST_KEEP = frozenset({"format", "R1", "R2"})
"""The rules that a baseline promises; it may break the others."""


@dataclass(frozen=True, slots=True)
class WeightedCost:
    """The cost of an answer's target under preset `weighted`, in units of weights."""

    weights: Weights
    value: float
    bound: float | None
    """The proven least cost of any target; None if no bound is known."""


@dataclass(frozen=True, slots=True)
class ComparedAnswer:
    """One answer of a comparison."""

    name: str
    answer: TaskAssignment
    measures: Measures
    planned_work: int | None
    """Goal (b): offsets of the copies not caught up in the answer or on target, each copy once. None if the answer requests a
    follow-up without a target."""
    followup: bool
    waiting: int
    seconds: float | None
    played: Convergence | None
    is_baseline: bool
    weighted: WeightedCost | None = None
    """Only for an answer under preset `weighted`."""

    @property
    def broken(self) -> frozenset[str]:
        """The rules that the assignor promised to keep and broke."""
        found: set[str] = {*self.measures.violations, *(self.played.violations if self.played else ())}
        return frozenset(found & _ALL_MUST_KEEP) if self.is_baseline else frozenset(found)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All answers side by side."""

    columns: tuple[ComparedAnswer, ...]
    """The previous assignment, then the recorded answers, if any, then the answers."""
    failures: Mapping[str, str]
    """Assignor → why it gave no answer."""
    bound: int | None
    """The greatest proven lower bound of goal (b), for balanced targets of answers that keep the rules; None if nothing is
    proven."""
    bound_by: str | None
    """The assignor that proved the bound."""
    left_out: Mapping[str, str]
    """Assignor → why it was not asked."""
    remarks: tuple[str, ...]
    """Remarks on entries left out of the snapshot and on contradictions in it."""
    handed_over: int = 0
    """Tasks without an owner although others have one: given up in the first pass (KIP-429), or lost with an instance. The
    previous assignment is then known only in part, and its violations are left out."""

    @property
    def broken(self) -> bool:
        """Whether an assignor broke a rule that it promised to keep, gave no answer, or did not converge."""
        judged = [column for column in self.columns if column.name not in (PREVIOUS, RECORDED, NOT_APPLIED)]
        unsettled = any(column.played and not column.played.settled and not column.is_baseline for column in judged)
        return bool(self.failures) or unsettled or any(column.broken for column in judged)

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with a row for each answer, the previous assignment first.

        Columns are the measures (docs/reference/rules.md); a measure of several shares has a column for each, such as
        `imbalance_active`. Measures of a convergence begin with `converged_`.

        Raises:
            MissingPackageError: without pandas.

        Examples:
            >>> import optassign
            >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
            >>> list(optassign.compare(state, ["cp-sat", "sticky"]).to_frame()["assignor"])
            ['previous', 'cp-sat', 'sticky']
        """
        rows = [_flatten(column) for column in self.columns]
        return make_frame(rows, tuple(dict.fromkeys(name for row in rows for name in row)))

    def _repr_html_(self) -> str:
        bound = "none proven" if self.bound is None else f"{self.bound:,} offsets, by {self.bound_by}"
        rows = [tuple(_flatten(column).get(name) for name in _SHOWN) for column in self.columns]
        failed = [(name, why) for name, why in self.failures.items()]
        failures = make_html("no answer", ("assignor", "reason"), failed) if failed else ""
        return make_html(f"least restore work of a balanced target: {bound}", _SHOWN, rows) + failures

    def as_json(self) -> dict[str, Any]:
        """Return the JSON that `optassign compare` prints."""
        return {
            "restore_work_bound": self.bound,
            "restore_work_bound_by": self.bound_by,
            "assignors": {column.name: _column_as_json(column) for column in self.columns},
            "failures": dict(self.failures),
            "left_out": dict(self.left_out),
            "remarks": list(self.remarks),
            "handed_over": self.handed_over,
        }


def compare(
    state: ApplicationState,
    assignors: Sequence[str | TaskAssignor],
    ask: Callable[[str], tuple[TaskAssignment, float]],
    *,
    play: Callable[[str], Convergence] | None = None,
    left_out: Mapping[str, str] | None = None,
    recorded: TaskAssignment | None = None,
    not_applied: TaskAssignment | None = None,
) -> Comparison:
    """Ask each assignor, and return the judged answers side by side; assignors that raise are in `failures`.

    `ask`: assignor → (answer, seconds). `play`: assignor → convergence; None: not simulated. `left_out`: assignor → why it
    cannot be asked. `recorded`, `not_applied`: the answers of a recording, as columns of their own.
    """
    handed_over = _count_handed_over(state)
    before = _make_column(state, PREVIOUS, _previous_as_answer(state), None, None, False)
    columns = [replace(before, measures=replace(before.measures, violations={})) if handed_over else before]
    for name, given in ((RECORDED, recorded), (NOT_APPLIED, not_applied)):
        if given is not None:
            columns.append(_make_column(state, name, given, None, None, True))
    failures: dict[str, str] = {}
    bound, bound_by = None, None
    for assignor in assignors:
        name = name_assignor(assignor)
        try:
            answer, seconds = ask(name)
            played = play(name) if play is not None else None
        except (Exception, SystemExit) as error:  # an assignor may raise anything, or end; the others still answer
            failures[name] = describe_failure(error)
            continue
        columns.append(_make_column(state, name, answer, seconds, played, not find_traits(assignor).keeps_rules))
        proven = restore_work_bound(answer)
        if proven is not None and (bound is None or proven > bound):
            bound, bound_by = proven, name
    remarks = tuple(remark_on_input(state))
    return Comparison(tuple(columns), failures, bound, bound_by, left_out or {}, remarks, handed_over)


def compare_weights(
    comparison: Comparison,
    state: ApplicationState,
    vectors: Sequence[Weights],
    ask: Callable[[str, ApplicationState], tuple[TaskAssignment, float]],
    play: Callable[[str, ApplicationState], Convergence] | None = None,
) -> Comparison:
    """Return the comparison with one more column per vector of weights: cp-sat's answer under preset `weighted`.

    `ask` and `play` get the assignor, and the snapshot with preset and weights. The preset replaces an order of goals in the
    snapshot's options.
    """
    columns, failures = list(comparison.columns), dict(comparison.failures)
    for weights in dict.fromkeys(vectors):
        name = f"weighted {weights.instance:.10g},{weights.subtopology:.10g},{weights.stickiness:.10g}"
        options = state.options.model_copy(update={"preset": "weighted", "weights": weights, "goals": None})
        asked = state.model_copy(update={"options": options})
        try:
            answer, seconds = ask(_WEIGHTED, asked)
            played = play(_WEIGHTED, asked) if play is not None else None
            value = measure_weighted_cost(asked, answer)
        except Exception as error:  # as in `compare`
            failures[name] = describe_failure(error)
            continue
        bound = next((goal.bound for goal in answer.report.goals if goal.name == "weighted_cost"), None)
        cost = WeightedCost(weights, value, bound)
        columns.append(replace(_make_column(asked, name, answer, seconds, played, False), weighted=cost))
    return replace(comparison, columns=tuple(columns), failures=failures)


_SHOWN = ("assignor", "balanced", "active_moves", "restore_work", "planned_work", "warmups", "rules_broken", "seconds")
"""Columns shown in a notebook."""


def _flatten(column: ComparedAnswer) -> dict[str, Any]:
    """Return an answer's row in a frame: mappings become columns, lists are left out."""
    row: dict[str, Any] = {"assignor": column.name}
    for name, value in _column_as_json(column).items():
        if name == "violations":
            row["rules_broken"] = " ".join(value)
        elif name == "converge":
            row |= {f"converged_{key}": inner for key, inner in value.items() if not isinstance(inner, dict)}
        elif isinstance(value, Mapping):
            row |= {f"{name}_{key}": inner for key, inner in value.items()}
        elif not isinstance(value, list):
            row[name] = value
    return row


def _column_as_json(column: ComparedAnswer) -> dict[str, Any]:
    found: dict[str, Any] = {
        "seconds": column.seconds,
        "followup": column.followup,
        "waiting": column.waiting,
        "planned_work": column.planned_work,
        "balanced": column.measures.balanced,
        **asdict(column.measures),
        "notes": list(column.answer.report.notes),
    }
    if column.weighted is not None:
        cost = column.weighted
        found |= {"weights": cost.weights.model_dump(), "weighted_cost": cost.value, "weighted_cost_bound": cost.bound}
    if column.played is not None:
        found["converge"] = to_json(column.played)
    return found


def _make_column(
    state: ApplicationState,
    name: str,
    answer: TaskAssignment,
    seconds: float | None,
    played: Convergence | None,
    baseline: bool,
) -> ComparedAnswer:
    followup = asks_to_go_on(state, answer)
    return ComparedAnswer(
        name=name,
        answer=answer,
        measures=measure(state, answer),
        planned_work=None if followup and answer.plan is None else sum(Facts(state, answer).cold.values()),
        followup=followup,
        waiting=len(answer.report.waiting),
        seconds=seconds,
        played=played,
        is_baseline=baseline,
    )


def _count_handed_over(state: ApplicationState) -> int:
    """Return the number of tasks that no client owns; 0 if no task has an owner, as in a new application."""
    owned = {task for client in state.clients for task in client.previous_active}
    return sum(task.id not in owned for task in state.tasks) if owned else 0


def _previous_as_answer(state: ApplicationState) -> TaskAssignment:
    """Return the previous assignment as an answer; if standbys are unknown, with the standbys that clients list."""
    previous = previous_assignment(state)
    active: dict[str, list[str]] = {client.process_id: [] for client in state.clients}
    standby: dict[str, list[str]] = {client.process_id: [] for client in state.clients}
    for task, client in previous.active.items():
        active[client].append(task)
    if previous.standby is None:
        standby = {client.process_id: list(client.previous_standby) for client in state.clients}
    else:
        for task, clients in previous.standby.items():
            for client in clients:
                standby[client].append(task)
    return TaskAssignment(
        assignor=PREVIOUS,
        clients=tuple(
            KafkaStreamsAssignment(process_id=client, active=tuple(active[client]), standby=tuple(standby[client]))
            for client in active
        ),
    )
