"""Export the model of a snapshot's target, so that any solver can check an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from optassign.analysis.model_files import FORMATS, name_variables, write_program
from optassign.assignor import check_snapshot
from optassign.assignors.cp_sat import choose_effort, choose_method
from optassign.errors import ArgumentError
from optassign.formats.state import ApplicationState
from optassign.translating.snapshot import read_situation
from optassign_models.policy.constants import SMALL_PAIRS, TIME_LIMIT
from optassign_models.problem import exact_sum
from optassign_models.results import Deadline
from optassign_models.solving.method import make_case
from optassign_models.solving.solver_methods import ask_for_plan, ask_under_load
from optassign_models.target.question import explain_excess
from optassign_models.target.search import has_few_pairs, solve_with_enough_steps
from optassign_models.target.solver import LinearForm, Optimum, price
from optassign_models.target.variables import Scope


class ExportError(ArgumentError):
    """A snapshot, goal or path for which no model exists."""


@dataclass(frozen=True)
class ExportedModel:
    """A file with a model, and the result that a solver should find."""

    path: Path
    goal: str
    """The goal that the model minimises."""
    optimum: int | None
    """The least value of the goal; None if it was not proven within the time limit, or if no placement keeps the shares."""
    fixed: dict[str, int]
    """Earlier goal in the order → its optimum, which a row of the model keeps."""
    variables: int
    rows: int
    is_exact: bool
    """Whether every pair of task and client is a candidate. Otherwise copies on interchangeable clients are merged into counts,
    and the optimum is a lower bound."""


def export_model(
    state: ApplicationState, path: str | Path, goal: str | None = None, time_limit: float = TIME_LIMIT
) -> ExportedModel:
    """Write the model of a snapshot's target to a file, and return its description.

    Args:
        path: its suffix selects the format: `.mps`, `.lp`, or `.txt` for the text of CP-SAT's message.
        goal: the goal to minimise, with the goals before it in the order at their optima; None: the first goal.
        time_limit: seconds for proving the optima.

    Raises:
        ExportError: for another suffix, a goal outside the snapshot's order or after a goal without a proven optimum, a large
            group with task weights, or weights without exact sums.
        OSError: if the file cannot be written.
        TypeError: for a snapshot of another type.

    Examples:
        >>> import optassign, tempfile
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = optassign.export_model(state, f"{folder}/target.mps")
        >>> model.goal
        'restore_work'
    """
    check_snapshot(state)
    path = Path(path)
    if path.suffix not in FORMATS:
        raise ExportError("path", repr(str(path)), f"an end of {', '.join(FORMATS)}")
    situation = read_situation(state)
    effort = choose_effort(situation, Deadline.after(time_limit))
    method = choose_method(situation, effort)
    case = make_case(method, situation.problem, situation.requests.limits)
    is_exact = has_few_pairs(case.problem)
    if case.load is None:
        question = ask_for_plan(case)
    elif is_exact:
        question = ask_under_load(case, case.search_least_imbalance().whole, case.limits.placements)
    else:
        raise ExportError("state", "a large group with weights of tasks, which has no one model", f"{SMALL_PAIRS:,} pairs")
    excess = explain_excess(question.problem, method.order.weights) if method.order.is_weighted else None
    if excess is not None:
        raise ExportError("weights", f"that {excess}", "weights with exact sums")
    names = [objective.name for objective in question.objectives]
    if goal is not None and goal not in names:
        raise ExportError("goal", repr(goal), ", ".join(names))
    at = 0 if goal is None else names.index(goal)
    _, program, optimum = solve_with_enough_steps(Scope.of(question.write_out() if is_exact else question), effort)
    forms = [price(program, objective) for objective in question.objectives[: at + 1]]
    proven = _list_proven(forms, optimum)
    if len(proven) < at and not (optimum is not None and optimum.is_impossible):
        open_ = names[len(proven)]
        raise ExportError("goal", f"{names[at]}, which comes after {open_}", f"{open_}, or more than {time_limit:g} s")
    matrix, fixed = program.matrix, dict(zip(names[:at], proven, strict=False))
    for form, value in zip(forms[:at], fixed.values(), strict=False):
        matrix = matrix.with_row(form.coefficients, (value - form.constant) // form.unit)
    variables = name_variables(program.v, len(matrix.low), situation.inventory.tasks)
    write_program(path, matrix, forms[at], variables, names[at])
    return ExportedModel(
        path=path,
        goal=names[at],
        optimum=proven[at] if len(proven) > at else None,
        fixed=fixed,
        variables=len(matrix.low),
        rows=len(matrix.row_low),
        is_exact=is_exact,
    )


def _list_proven(forms: Sequence[LinearForm], optimum: Optimum | None) -> list[int]:
    """Return the values of the leading forms that are at their bounds, and so proven optimal."""
    if optimum is None or optimum.values is None:
        return []
    reached = [form.total(exact_sum(form.coefficients, optimum.values)) for form in forms]
    pairs = zip(reached, optimum.bounds, strict=False)
    return [value for value, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
