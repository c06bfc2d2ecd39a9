"""Tests of the records of convergences: how a case is played, and which rows count as wrong."""

from typing import Any

import pytest

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating.dealing import NotBalancedError
from optassign.simulation.convergence import converge
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.results import to_markdown
from optassign_benchmarks.runner import StudyCase, StudyRow, run
from optassign_benchmarks.studies import convergences as study

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


GOOD = StudyRow(
    case="c", is_small=False, size="40 × 5", stateless="0%", memory="yes", changelogs="still", snapshot="s", minimum=7,
    converged_planned_moves=100, converged_least_moves=100, converged_moved_active=104, converged_moved_logged=104,
    converged_moved_more_than_once=2, converged_moves_repeated=2, converged_restored_offsets=7, converged_rebalances=9,
    converged_answers=10, converged_imbalance=5, converged_violations={}, converged_settled=True, converged_rests=True,
    converged_stable=True,
)  # fmt: skip


def make_row(assignor: str = "cp-sat", shape: str = "scale-out", **changed: Any) -> StudyRow:
    return StudyRow({**GOOD, "assignor": assignor, "shape": shape, **{f"converged_{name}": v for name, v in changed.items()}})


@pytest.mark.parametrize(
    ("assignor", "shape", "changed", "said"),
    [
        ("cp-sat", "scale-out", {}, ""),
        ("cp-sat", "scale-out", {"moved_active": 106}, "106 moves, where the first plan needs 100 at least"),
        ("cp-sat", "scale-out", {"moved_active": 106, "least_moves": None}, ""),
        ("cp-sat", "scale-out", {"moved_more_than_once": 3, "moves_repeated": 3}, "3 of 101 tasks moved more than once"),
        ("cp-sat", "partial", {"moved_active": 150, "moved_more_than_once": 40}, ""),
        ("greedy", "scale-out", {"moved_active": 150, "moved_more_than_once": 40}, ""),
        ("greedy", "partial", {"violations": {"R3": 1}}, "{'R3': 1}"),
        ("cp-sat", "partial", {"settled": False, "stable": False}, "settled: False"),
        ("cp-sat", "partial", {"rests": False, "stable": False}, "rests: False"),
        ("sticky", "scale-out", {"violations": {"R3": 1}, "rests": False}, ""),
    ],
)
def test_a_wrong_row_is_reported(assignor: str, shape: str, changed: dict[str, Any], said: str) -> None:
    lines = list(study.MOVES.demands([make_row(assignor, shape, **changed)]))
    assert len(lines) == bool(said)
    assert said in "".join(lines)


def test_both_tables_have_a_cell_for_every_column() -> None:
    rows = [make_row(), make_row("sticky", planned_moves=None, restored_offsets=21, settled=False)]
    for layout, is_small in zip(study.MOVES.layouts, (False, True), strict=True):
        table = layout.fill(StudyRow({**row, "is_small": is_small}) for row in rows)
        head, _, *lines = to_markdown(table.columns, table.rows).splitlines()
        assert len(lines) == 2
        assert {line.count("|") for line in lines} == {head.count("|")}
        assert "| 1.00 |" in lines[0]
        assert "| 3.00 |" in lines[1]
