"""The effect of a weight: restore work against imbalance under preset `weighted`, for increasing stickiness.

A tenth of the clients has just joined. A plan with the least weighted sum is Pareto-optimal: no other plan improves one cost
without worsening the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby, pairwise

from optassign.assignor import assign
from optassign.formats.state import ApplicationState, Weights
from optassign.generating import generate
from optassign.judging.metrics import measure_weighted_cost
from optassign.measuring.balance import count_copies, measure_imbalance, measure_spread
from optassign.measuring.facts import Facts
from optassign.measuring.moves import find_moved_actives
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow, first

SIZES = ((200, 20), (1_000, 100))
STICKINESS = (0.1, 1.0, 10.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
"""The default is 1, with 1,000 for instances and 100 for subtopologies, which stay constant."""
STANDBYS, SEED, LIMIT_S = 1, 4, 60.0


def with_weights(state: ApplicationState, weights: Weights) -> ApplicationState:
    """Return the snapshot under preset `weighted`."""
    options = state.options.model_copy(update={"preset": "weighted", "weights": weights})
    return state.model_copy(update={"options": options})


def measure_plan(state: ApplicationState, assignor: str) -> dict[str, object]:
    """Return the plan's restore work and imbalance, both parts of the weighted sum, and whether the sum is proven least."""
    answer = assign(state, assignor, LIMIT_S)
    facts = Facts(state, answer)
    goals = [goal for goal in answer.report.goals if goal.name == "weighted_cost"]
    imbalance = list(measure_imbalance(state, facts.plan).values())
    return {
        "work": sum(facts.cold.values()),
        "copies": len(facts.cold),
        "moved": len(find_moved_actives(state, facts.plan)),
        "of_instances": sum(imbalance[:3]),
        "of_subtopologies": sum(imbalance[3:]),
        "apart": measure_spread(state, count_copies(state, facts.plan))["copies"],
        "cost_of_moves": measure_weighted_cost(with_weights(state, Weights(instance=0, subtopology=0)), answer),
        "cost_of_imbalance": measure_weighted_cost(with_weights(state, Weights(stickiness=0)), answer),
        # The report of a stable group has no sum: an earlier stage has compared the group with the least sum.
        "is_proven": all(goal.proven for goal in goals) if goals else answer.plan is None,
    }


def _add_shares(rows: list[StudyRow]) -> list[StudyRow]:
    """Add to each row its restore work ÷ that of the first row of its size."""
    for _, each in groupby(rows, lambda row: row.size):
        of_size = list(each)
        for row in of_size:
            row["share"] = row.work / of_size[0].work
    return rows


def _find_wrong(rows: list[StudyRow]) -> Iterator[str]:
    """Yield rows that are not proven, or whose cost of moves rises or cost of imbalance falls from the row before."""
    yield from (f"{row}: not proven" for row in rows if not row.is_proven)
    for before, row in pairwise(rows):
        if before.size == row.size and (
            row.cost_of_moves > before.cost_of_moves or row.cost_of_imbalance < before.cost_of_imbalance
        ):
            yield f"{row}: not on the front"


WEIGHTS = Study(
    cases=lambda quick: (
        StudyCase(
            partial(with_weights, generate("scale-out", tasks, clients, STANDBYS, seed=SEED), Weights(stickiness=stickiness)),
            {"size": f"{tasks:,} × {clients:,}", "stickiness": f"{stickiness:g}"},
        )
        for tasks, clients in (SIZES[:1] if quick else SIZES)
        for stickiness in STICKINESS
    ),
    assignors=("cp-sat",),
    parts=(measure_plan,),
    finish=_add_shares,
    layouts=(
        Layout(
            {"tasks × clients": "size", "stickiness": "stickiness"},
            {
                "offsets to restore": first("work"),
                "of the first row": lambda rows: f"{rows[0].share:.1%}",
                "copies to restore": first("copies"),
                "active tasks moved": first("moved"),
                "imbalance of instances": first("of_instances"),
                "of subtopologies": first("of_subtopologies"),
                "copies per thread, most − least": lambda rows: f"{rows[0].apart:.3g}",
                "proven": first("is_proven"),
            },
        ),
    ),
    demands=_find_wrong,
    jobs=1,
)
