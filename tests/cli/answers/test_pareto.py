"""Tests of `optassign pareto`: targets on the Pareto front, from the least restore work to balance."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import run_here, write_snapshot

from optassign.analysis import front as front_module
from optassign.analysis.front import ParetoFront, trace_pareto_front
from optassign.assignor import assign
from optassign.formats.configs import Options, Weights
from optassign.generating import generate

STATE = generate("partial", 60, 6, 1, 10, seed=1)


@pytest.fixture(scope="module")
def front() -> ParetoFront:
    return trace_pareto_front(STATE, 50, 60.0)


def test_the_front_ends_at_the_target_of_the_default_order(front: ParetoFront) -> None:
    plan = {goal.name: goal.value for goal in assign(STATE).report.goals if goal.stage == "plan"}
    last = front.points[-1]
    assert (last.imbalance, last.restore_work) == (0, plan["restore_work"])
    assert front.complete
    assert all(point.proven for point in front.points)
    for one, other in pairwise(front.points):
        assert one.imbalance > other.imbalance
        assert one.restore_work < other.restore_work


def test_a_front_with_an_unproven_search_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    find, searches = front_module._find, iter(range(1000))

    def find_without_one_proof(*given: object) -> object:
        point = find(*given)  # type: ignore[arg-type]
        return point if point is None or next(searches) != 2 else replace(point, proven=False)

    monkeypatch.setattr(front_module, "_find", find_without_one_proof)
    assert not trace_pareto_front(STATE, 50, 60.0).complete


def test_no_weights_find_a_target_beyond_the_front(front: ParetoFront) -> None:
    """With nearly all weight on stickiness, a target restores at least as much as the front's first target."""
    least = front.points[0]
    weighted = Options(preset="weighted", weights=Weights(instance=1e-6, subtopology=1e-6, stickiness=1))
    answer = assign(STATE.model_copy(update={"options": weighted}))
    work = next(goal.value for goal in answer.report.goals if goal.name == "restore_work")
    assert work is not None
    assert work >= least.restore_work


def test_the_command_prints_and_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, picture = write_snapshot(tmp_path / "snapshot.json", STATE), tmp_path / "front.svg"
    code, out, err = run_here(capsys, "pareto", str(path), "--points", "5", "--json", "--picture", str(picture))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert len(found["points"]) == 5
    assert not found["complete"]
    assert "restore work, offsets" in picture.read_text() or picture.stat().st_size > 1_000
    code, out, _ = run_here(capsys, "pareto", str(path), "--points", "5", "--format", "table")
    assert code == 0
    assert "There are more between these." in out
    heavy = Options(task_weights={"0": 3.0})
    loaded = write_snapshot(tmp_path / "loaded.json", STATE.model_copy(update={"options": heavy}))
    code, _, err = run_here(capsys, "pareto", str(loaded))
    assert (code, "SNAPSHOT: found tasks of unlike weight" in err) == (2, True)
