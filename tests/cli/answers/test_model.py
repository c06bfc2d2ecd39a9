"""Tests of `optassign model`: another solver reads the file and finds the optimum that the report proves.
They test `optassign.analysis.model_files` and `optassign.files`."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest
from command_line import run_here
from ortools.sat.python import cp_model

from optassign.analysis.export import ExportError, export_model
from optassign.assignor import assign
from optassign.formats.configs import Limit, Options, Weights
from optassign.formats.state import ApplicationState
from optassign.generating import Shape, generate

ENDS = (".mps", ".lp", ".txt")


def find_optimum(path: Path) -> int:
    """Return the minimum of the file's model, found by HiGHS, or by CP-SAT for CP-SAT's text format."""
    if path.suffix == ".txt":
        model, decided = cp_model.CpModel(), cp_model.CpSolver()
        assert model.proto.parse_text_format(path.read_text())
        assert decided.solve(model) == cp_model.OPTIMAL
        return round(decided.objective_value)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return round(solver.getInfo().objective_function_value)


@pytest.mark.parametrize("shape", ["scale-out", "partial"])
def test_other_solvers_find_the_proven_optima(shape: Shape, tmp_path: Path) -> None:
    state = generate(shape, 36, 3, 1, 6, seed=1)
    plan = {goal.name: goal.bound for goal in assign(state).report.goals if goal.stage == "plan"}
    assert plan
    for number, (goal, bound) in enumerate(plan.items()):
        path = tmp_path / f"{goal}{ENDS[number % 3]}"
        written = export_model(state, path, goal)
        assert (written.optimum, find_optimum(path)) == (bound, bound), goal
        assert written.is_exact
        assert list(written.fixed) == list(plan)[:number]


@pytest.mark.parametrize("end", ENDS)
def test_weighted_sums_and_limits_are_in_the_model(end: str, tmp_path: Path) -> None:
    state = generate("scale-out", 36, 3, 1, 6, seed=1)
    limit = Limit(kind="forbid", subtopologies=("0",), clients=(state.clients[0].process_id,))
    weighted = with_options(state, Options(preset="weighted", limits=(limit,)))
    path = tmp_path / f"sum{end}"
    written = export_model(weighted, path)
    assert written.goal == "weighted_cost"
    assert find_optimum(path) == written.optimum


def test_a_group_balanced_by_load_has_a_model_of_its_other_goals(tmp_path: Path) -> None:
    state = generate("scale-out", 36, 3, 1, 6, seed=1)
    weights = {task.id: 1.0 + number % 5 for number, task in enumerate(state.tasks)}
    path = tmp_path / "load.mps"
    written = export_model(with_options(state, Options(task_weights=weights)), path)
    assert written.goal == "restore_work"
    assert find_optimum(path) == written.optimum


def test_weights_without_exact_sums_have_no_model(tmp_path: Path) -> None:
    state = generate("scale-out", 12, 3, 1, seed=1)
    wide = with_options(state, Options(preset="weighted", weights=Weights(instance=1e300, subtopology=1e-300)))
    with pytest.raises(ExportError, match="weights: found that the weights have the ratio"):
        export_model(wide, tmp_path / "sum.lp")


def test_only_a_proven_optimum_is_given(tmp_path: Path) -> None:
    """`disk` is a knapsack, whose bound is seldom reached: goals after `disk` then have no model."""
    state = with_options(generate("scale-out", 60, 7, 1, 12, seed=1), Options(goals=("disk", "restore_work")))
    assert export_model(state, tmp_path / "disk.mps", time_limit=1.0).optimum is None
    told = "goal: found restore_work, which comes after disk; allowed: disk, or more than 1 s"
    with pytest.raises(ExportError, match=told):
        export_model(state, tmp_path / "work.mps", "restore_work", time_limit=1.0)


def test_a_model_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is replaced as a whole: without it, a full disk would leave half a model."""
    path = tmp_path / "model.lp"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr("os.replace", fail_to_replace)
    with pytest.raises(OSError, match="no room"):
        export_model(generate("scale-out", 36, 3, 1, 6, seed=1), path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("model.lp", "old")]


def fail_to_replace(*paths: object) -> None:
    raise OSError("no room")


def test_an_unwritable_model_is_refused(tmp_path: Path) -> None:
    state = generate("scale-out", 36, 3, 1, 6, seed=1)
    with pytest.raises(ExportError, match=r"path: found 'model.xml'; allowed: an end of \.mps, \.lp, \.txt"):
        export_model(state, "model.xml")
    with pytest.raises(ExportError, match="goal: found 'disk'; allowed: restore_work, "):
        export_model(state, tmp_path / "model.mps", "disk")


def test_the_command_says_what_a_solver_should_find(capsys: pytest.CaptureFixture[str], scale_out: str, tmp_path: Path) -> None:
    path = tmp_path / "target.lp"
    code, out, err = run_here(capsys, "model", scale_out, "--goal", "copies_not_caught_up", "--output", str(path))
    assert (code, err) == (0, "")
    assert f"least value: {find_optimum(path)}" in out
    assert "kept by rows: restore_work ≤ " in out
    code, _, err = run_here(capsys, "model", scale_out, "--output", str(tmp_path / "target.xml"))
    assert code == 2
    assert "--output: found" in err


def with_options(state: ApplicationState, options: Options) -> ApplicationState:
    return state.model_copy(update={"options": options})
