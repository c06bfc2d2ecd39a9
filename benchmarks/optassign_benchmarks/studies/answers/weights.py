"""The effect of a weight: restore work against imbalance under preset `weighted`, as stickiness gets dearer.

A tenth of the clients has just joined. The least weighted sum lies on the Pareto front, so each row is a plan that no other
plan beats in both.
"""

from __future__ import annotations

from collections.abc import Iterator

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState, Weights
from optassign.generate import generate
from optassign.goals.plan.moves import find_moved_actives
from optassign.judging.metrics import measure_weighted_cost
from optassign.measuring.balance import counts, measure_imbalance, spread
from optassign.measuring.facts import Facts
from optassign_benchmarks.tables import Table, make_table

SIZES = ((200, 20), (1_000, 100))
STICKINESS = (0.1, 1.0, 10.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
"""The default is 1, with 1,000 for instances and 100 for subtopologies, which stay."""
STANDBYS, SEED, LIMIT_S = 1, 4, 60.0
_HEAD = (
    "tasks × clients",
    "stickiness",
    "offsets to restore",
    "of the first row",
    "copies to restore",
    "active tasks moved",
    "imbalance of instances",
    "of subtopologies",
    "copies per thread, most − least",
    "proven",
)


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """Return the table, and each row that is not proven or not on the front. quick: without the greater size."""
    rows: list[tuple[object, ...]] = []
    wrong = []
    for tasks, clients in SIZES[:1] if quick else SIZES:
        size, state = f"{tasks:,} × {clients:,}", generate("scale-out", tasks, clients, STANDBYS, seed=SEED)
        first, before = 0, (float("inf"), 0.0)
        for stickiness, answer, proven in ask_all(state):
            facts = Facts(state, answer)
            work, away = sum(facts.cold.values()), list(measure_imbalance(state, facts.plan).values())
            first = first or work
            reached = (
                _measure(state, answer, Weights(instance=0, subtopology=0)),
                _measure(state, answer, Weights(stickiness=0)),
            )
            if not proven:
                wrong.append(f"{size}, stickiness {stickiness:g}: not proven")
            if reached[0] > before[0] or reached[1] < before[1]:
                wrong.append(f"{size}, stickiness {stickiness:g}: not on the front")
            before = reached
            moved = len(find_moved_actives(state, facts.plan))
            apart = f"{spread(state, counts(state, facts.plan))['copies']:.3g}"
            costs = f"{work / first:.1%}", len(facts.cold), moved
            rows.append((size, f"{stickiness:g}", work, *costs, sum(away[:3]), sum(away[3:]), apart, proven))
    return [make_table(_HEAD, rows)], wrong


def ask_all(state: ApplicationState) -> Iterator[tuple[float, TaskAssignment, bool]]:
    """Yield each stickiness, the answer to it, and whether its sum is proven to be the least."""
    for stickiness in STICKINESS:
        answer = assign(_with_weights(state, Weights(stickiness=stickiness)), time_limit=LIMIT_S)
        goals = [goal for goal in answer.report.goals if goal.name == "weighted_cost"]
        # At rest the report has no sum: a stage before has compared the group with the least sum.
        yield stickiness, answer, all(goal.proven for goal in goals) if goals else answer.plan is None


def _measure(state: ApplicationState, answer: TaskAssignment, weights: Weights) -> float:
    return measure_weighted_cost(_with_weights(state, weights), answer)


def _with_weights(state: ApplicationState, weights: Weights) -> ApplicationState:
    options = state.options.model_copy(update={"preset": "weighted", "weights": weights})
    return state.model_copy(update={"options": options})
