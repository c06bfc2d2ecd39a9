"""Second passes of cooperative rebalances (KIP-429): what changes between the passes, with memory and without."""

from __future__ import annotations

from collections import Counter
from itertools import product

from optassign.assignor import assign
from optassign.benchmarks.grid import Spec
from optassign.benchmarks.tables import markdown
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generate import SHAPES
from optassign.simulation.convergence import after_restoration, second_pass

_MOST_PASSES = 8


def run(seeds: int = 3) -> tuple[str, list[str]]:
    """Rows per shape: passes played, answers that differ with memory, further passes without."""
    rows: list[tuple[object, ...]] = []
    bad: list[str] = []
    for assignor, shape, survives in product(("cp-sat", "greedy"), SHAPES, (True, False)):
        different, played, further = 0, 0, Counter[int]()
        for spec in (Spec(shape, 60, 8, s, threads=(1, 3), seed=n) for s in (0, 1, 2, 3) for n in range(seeds)):
            state = spec.generate()
            for _ in range(4):
                answer = assign(state, assignor)
                again = assign(second_pass(state, answer, state_survives=survives), assignor)
                played += 1
                if _copies(answer) != _copies(again):
                    different += 1
                    if survives:  # else R10 ends where the old owner, a standby now, is worse than a client left out (R5)
                        bad.append(f"{assignor} with memory: {spec.name}")
                passes = passes_without_memory(state, assignor, survives)
                further[passes] += 1
                if passes > 2 and assignor == "cp-sat":
                    bad.append(f"{assignor} without memory: {spec.name}: {passes} more; state of the old owner: {survives}")
                if all(client.followup_rebalance_ms is None for client in answer.clients):
                    break
                state = after_restoration(state, answer)
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
    return markdown(head, rows), bad


def passes_without_memory(state: ApplicationState, assignor: str, survives: bool) -> int:
    """Rebalances after the first until nobody has to give a task away."""
    state = state.model_copy(update={"remembered": None})
    answer = assign(state, assignor)
    passes = 0
    while revoked(state, answer) and passes < _MOST_PASSES:
        state = second_pass(state, answer, memory=False, state_survives=survives)
        answer = assign(state, assignor)
        passes += 1
    return passes


def revoked(state: ApplicationState, answer: TaskAssignment) -> int:
    """Tasks that their owners have to give away: what makes Kafka rebalance once more."""
    given = answer.by_process_id
    return sum(len(set(c.previous_active) - set(given[c.process_id].active)) for c in state.clients)


def _copies(answer: TaskAssignment) -> list[object]:
    return [(c.process_id, c.active, c.standby, c.warmup, c.followup_rebalance_ms) for c in answer.clients]
