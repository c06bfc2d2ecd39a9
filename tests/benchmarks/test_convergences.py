"""Tests of the records of convergences: how a case is played, and which rows count as wrong."""

from math import inf
from typing import Any

import pytest

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating.dealing import NotBalancedError
from optassign.simulation.convergence import converge
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.runner import StudyCase, StudyRow, run
from optassign_benchmarks.studies.convergences import CONVERGENCE, find_ninth_decile

SPEC = Spec("scale-out", 24, 4, seed=3, memory=True)


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("growth", [0.0, 0.5])
def test_a_case_is_played_as_it_says(memory: bool, growth: float) -> None:
    state = SPEC.generate()
    assert state.remembered is not None
    how = {"memory": memory, "growth": growth, "seed": 3}
    (row,) = run([StudyCase(SPEC, {"shape": SPEC.shape}, how)], ["cp-sat"], ["convergence"])
    played = converge(state, memory=memory, growth=growth, seed=3)
    assert (row.shape, row.assignor) == ("scale-out", "cp-sat")
    moves = (row.converged_moved_active, row.converged_moved_more_than_once, row.converged_moves_repeated)
    assert moves == (played.moved_active, played.moved_more_than_once, played.moves_repeated)
    restored = (row.converged_restored_offsets, row.minimum, row.converged_rebalances)
    assert restored == (played.restored_offsets, played.lower_bound, played.rebalances)
    first = assign(state if memory else state.model_copy(update={"remembered": None}))
    (goal,) = (goal for goal in first.report.goals if (goal.stage, goal.name) == ("plan", "active_migrations"))
    assert (row.converged_planned_moves, row.converged_least_moves) == (goal.value, goal.bound)


def test_rows_come_in_the_order_of_cases_and_assignors_also_from_several_processes() -> None:
    cases = [StudyCase(Spec("scale-out", 12, 3, seed=seed), {"seed": seed}) for seed in (5, 4, 6)]
    one, two = (list(run(cases, ("cp-sat", "sticky"), ("answer",), jobs=jobs)) for jobs in (1, 2))
    assert [(row.seed, row.assignor) for row in two] == [(seed, name) for seed in (5, 4, 6) for name in ("cp-sat", "sticky")]
    assert [{**row, "seconds": 0} for row in one] == [{**row, "seconds": 0} for row in two]


def test_no_case_is_played_without_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Spec) -> ApplicationState:
        raise NotBalancedError

    monkeypatch.setattr(Spec, "generate", fail)
    assert list(run([StudyCase(SPEC)], ["greedy"], ["convergence"])) == []


def make_row(assignor: str = "cp-sat", shape: str = "scale-out", **changed: Any) -> StudyRow:
    """Return a good row of the study `convergence`, with changes."""
    good = {"restored_offsets": 7, "rebalances": 9, "violations": {}, "stable": True}
    measured = {f"converged_{name}": value for name, value in (good | changed).items()}
    return StudyRow({"case": "c", "shape": shape, "assignor": assignor, "minimum": 7, "allowed": 9, **measured})


@pytest.mark.parametrize(
    ("assignor", "shape", "changed", "message"),
    [
        ("cp-sat", "scale-out", {}, ""),
        ("cp-sat", "scale-out", {"rebalances": 10}, "c: cp-sat 1.000 in 10 of 9, greedy"),
        ("cp-sat", "scale-out", {"restored_offsets": 8}, "cp-sat 1.143"),
        ("cp-sat", "partial", {"restored_offsets": 8, "rebalances": 10}, ""),
        ("cp-sat", "partial", {"stable": False}, "stable: False, True"),
        ("greedy", "scale-out", {"restored_offsets": 9, "rebalances": 10}, ""),
        ("greedy", "scale-out", {"restored_offsets": 14}, "greedy 2.000"),
        ("greedy", "partial", {"violations": {"R3": 1}}, "stable: True, True"),
    ],
)
def test_a_wrong_row_is_reported(assignor: str, shape: str, changed: dict[str, Any], message: str) -> None:
    rows = [make_row(name, shape, **(changed if name == assignor else {})) for name in ("cp-sat", "greedy")]
    lines = list(CONVERGENCE.demands(rows))
    assert len(lines) == bool(message)
    assert message in "".join(lines)


@pytest.mark.parametrize(("pairs", "ratio"), [([], 1.0), ([(3, 3)] * 9 + [(9, 3)], 1.0), ([(3, 2)] * 9, 1.5), ([(1, 0)], inf)])
def test_one_of_ten_pairs_may_exceed_the_ninth_decile(pairs: list[tuple[int, int]], ratio: float) -> None:
    assert find_ninth_decile(pairs) == ratio
