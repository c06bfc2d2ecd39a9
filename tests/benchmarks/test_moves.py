"""The study of moves: what comes of one snapshot, and what of it is not as it should be."""

from dataclasses import replace
from typing import Any

import pytest

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generate.dealing import NotBalancedError
from optassign.simulation.convergence import converge
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.studies.episodes import moves
from optassign_benchmarks.studies.episodes.moves import Job, Outcome, play
from optassign_benchmarks.tables import to_markdown

SPEC = Spec("scale-out", 40, 5, seed=3, memory=True)


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("growth", [0.0, 0.5])
def test_a_job_is_played_as_it_says(memory: bool, growth: float) -> None:
    state = SPEC.generate()
    assert state.remembered is not None
    found = play(Job(SPEC, "cp-sat", memory, growth))
    assert found is not None
    played = converge(state, memory=memory, growth=growth, seed=3)
    tasks = {task for step in played.history for task in step.moved}
    assert (found.moves, found.twice, found.tasks) == (played.moved_active, played.moved_more_than_once, len(tasks))
    assert (found.restored, found.bound, found.rebalances) == (played.restored_offsets, played.lower_bound, played.rebalances)
    first = assign(state if memory else state.model_copy(update={"remembered": None}))
    (goal,) = (goal for goal in first.report.goals if (goal.stage, goal.name) == ("plan", "active_migrations"))
    assert (found.planned, found.least) == (goal.value, goal.bound)


def test_where_there_is_no_group_nothing_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Spec) -> ApplicationState:
        raise NotBalancedError

    monkeypatch.setattr(Spec, "generate", fail)
    assert play(Job(SPEC, "greedy", True, 0.0)) is None


GOOD = Outcome(
    planned=100, least=100, moves=104, logged=104, twice=2, repeated=2, restored=7, bound=7, rebalances=9, answers=10,
    imbalance=5, violations=0, settled=True, rests=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("assignor", "shape", "changed", "said"),
    [
        ("cp-sat", "scale-out", {}, ""),
        ("cp-sat", "scale-out", {"moves": 106}, "106 moves, where the first plan needs 100 at least"),
        ("cp-sat", "scale-out", {"moves": 106, "least": None}, ""),
        ("cp-sat", "scale-out", {"twice": 3, "repeated": 3}, "3 of 101 tasks moved more than once"),
        ("cp-sat", "partial", {"moves": 150, "twice": 40}, ""),
        ("greedy", "scale-out", {"moves": 150, "twice": 40}, ""),
        ("greedy", "partial", {"violations": 1}, "1 rules broken"),
        ("cp-sat", "partial", {"settled": False}, "settled: False"),
        ("cp-sat", "partial", {"rests": False}, "rests: False"),
        ("sticky", "scale-out", {"violations": 1, "rests": False}, ""),
    ],
)
def test_what_is_not_as_it_should_be(assignor: str, shape: Any, changed: dict[str, Any], said: str) -> None:
    job = Job(replace(SPEC, shape=shape), assignor, True, 0.0)
    lines = list(moves._find_wrong({job: replace(GOOD, **changed)}))
    assert len(lines) == bool(said)
    assert said in "".join(lines)


def test_both_tables_have_a_cell_for_every_column() -> None:
    jobs = [Job(SPEC, name, True, 0.0) for name in ("cp-sat", "sticky")]
    outcomes = {jobs[0]: GOOD, jobs[1]: replace(GOOD, planned=None, restored=21, settled=False)}
    for table in (moves._make_table(outcomes), moves._make_small_table(outcomes)):
        head, _, *rows = to_markdown(table.columns, table.rows).splitlines()
        assert len(rows) == 2
        assert {row.count("|") for row in rows} == {head.count("|")}
        assert "| 1.00 |" in rows[0]
        assert "| 3.00 |" in rows[1]
