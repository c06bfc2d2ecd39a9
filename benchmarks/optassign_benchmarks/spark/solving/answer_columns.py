"""One answer, one whole convergence, or one graded history as the columns of a row (tables/columns.py)."""

from __future__ import annotations

from typing import Any

from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.judging.metrics import measure
from optassign.measuring.facts import Facts
from optassign.simulation.convergence import Convergence
from optassign.simulation.histories.grades import Grades
from optassign.simulation.histories.history import History

__all__ = ["answer_columns", "convergence_columns", "history_columns"]


def answer_columns(state: ApplicationState, answer: TaskAssignment) -> dict[str, Any]:
    """The columns of one answer: all measures, and the contents of its report."""
    measures = measure(state, answer)
    simple = {
        name: getattr(measures, name)
        for name in type(measures).__dataclass_fields__
        if name not in ("violations", "spread", "imbalance")
    }
    followup = any(client.followup_rebalance_ms is not None for client in answer.clients)
    # If an answer asks for a follow-up and has no plan, the follow-up's result is not known.
    known = answer.plan is not None or not followup
    return {
        **simple,
        "violations": sorted(measures.violations.items()),
        "balanced": measures.balanced,
        **{f"imbalance_{name}": value for name, value in measures.imbalance.items()},
        **{f"spread_{name}": float(value) for name, value in measures.spread.items()},
        "planned_work": sum(Facts(state, answer).cold.values()) if known else None,
        "followup": followup,
        "waiting": len(answer.report.waiting),
        "restore_bound": restore_work_bound(answer),
        "goals": [
            {
                "stage": goal.stage,
                "name": goal.name,
                "value": float(goal.value),
                "bound": None if goal.bound is None else float(goal.bound),
                "gap": goal.gap,
                "proven": goal.proven,
            }
            for goal in answer.report.goals
        ],
        "found_by": answer.report.found_by,
        "termination": answer.report.termination.reason,
        "limit_reached": answer.report.termination.limit,
    }


def convergence_columns(played: Convergence) -> dict[str, Any]:
    """The columns of one convergence, all of its rebalances together."""
    return {
        "converged": played.stable,
        "rebalances": played.rebalances,
        "converged_active_moves": played.moved_active,
        "converged_active_moves_logged": played.moved_logged,
        "converged_moved_more_than_once": played.moved_more_than_once,
        "converged_moves_repeated": played.moves_repeated,
        "converged_standby_migrations": played.measures.standby_migrations,
        "converged_restored": played.restored_offsets,
        "converged_violations": sum(played.violations.values()),
        "converged_balanced": played.history[-1].measures.balanced,
        "converged_seconds": sum(step.seconds for step in played.history),
    }


def history_columns(history: History, grades: Grades) -> dict[str, Any]:
    """The columns of one history: what it was, and its grades."""
    return {"history": str(history), **vars(grades), "violations": sorted(grades.violations.items())}
