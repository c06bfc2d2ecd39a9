"""Second passes of cooperative rebalances (KIP-429): what changes between the passes, with memory and without."""

from __future__ import annotations

from collections import Counter
from itertools import product

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generate import SHAPES
from optassign.simulation.successors import find_revoked, make_restored_snapshot, make_second_pass_snapshot
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.tables import Table, make_table

_MOST_PASSES = 8


def run(seeds: int = 3) -> tuple[list[Table], list[str]]:
    """A row for each assignor, shape and fate of state: passes played, answers that differ with memory, passes without memory.

    Wrong: a second pass that does not confirm the first although memory and state are there, and passes that go on.
    """
    rows: list[tuple[object, ...]] = []
    wrong: list[str] = []
    for assignor, shape, survives in product(("cp-sat", "greedy"), SHAPES, (True, False)):
        different, played, further = 0, 0, Counter[int]()
        for spec in (Spec(shape, 60, 8, s, threads=(1, 3), seed=n) for s in (0, 1, 2, 3) for n in range(seeds)):
            state = spec.generate()
            for _ in range(4):
                answer = assign(state, assignor)
                again = assign(make_second_pass_snapshot(state, answer, state_survives=survives), assignor)
                played += 1
                if _list_copies(answer) != _list_copies(again):
                    different += 1
                    if survives:  # otherwise R5 may overrule R10: the old owner, a standby now, lags more than others
                        wrong.append(f"{assignor} with memory: {spec.name}")
                passes = count_passes_without_memory(state, assignor, survives)
                further[passes] += 1
                if passes > 2 and assignor == "cp-sat":
                    wrong.append(f"{assignor} without memory: {spec.name}: {passes} more; state of the old owner: {survives}")
                if all(client.followup_rebalance_ms is None for client in answer.clients):
                    break
                state = make_restored_snapshot(state, answer)
        spread = ", ".join(f"{n}: {times}" for n, times in sorted(further.items()))
        rows.append((assignor, shape, "kept" if survives else "not shown", played, different, spread))
    head = (
        "assignor",
        "shape",
        "state of the old owner",
        "second passes",
        "differ with memory",
        "without memory, rebalances more: times",
    )
    return [make_table(head, rows)], wrong


def count_passes_without_memory(state: ApplicationState, assignor: str, survives: bool) -> int:
    """How many rebalances follow the first until no owner has to give a task away (KIP-429); at most _MOST_PASSES."""
    state = state.model_copy(update={"remembered": None})
    answer = assign(state, assignor)
    passes = 0
    while find_revoked(state, answer) and passes < _MOST_PASSES:
        state = make_second_pass_snapshot(state, answer, memory=False, state_survives=survives)
        answer = assign(state, assignor)
        passes += 1
    return passes


def _list_copies(answer: TaskAssignment) -> list[object]:
    return [(c.process_id, c.active, c.standby, c.warmup, c.followup_rebalance_ms) for c in answer.clients]
