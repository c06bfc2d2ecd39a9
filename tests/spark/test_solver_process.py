"""Tests of the solving process: any failure in it costs one row, and the next row is solved.
They test `optassign_benchmarks.spark.solver_main`."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from optassign_benchmarks.grid import Spec
from optassign_benchmarks.spark.solver_process import SolverJob, SolverLimits, SolverProcess
from optassign_benchmarks.spark.tables import RESULTS, arrow_schema, to_record_batch, to_record_batch_or_failures

SPEC = Spec("scale-out", 12, 3, seed=1)
LIMITS = SolverLimits(answer_limit=60.0, convergence_limit=60.0, memory_limit=2048)
NAMES = ("raises", "eats", "hangs", "crashes")
JOB = SolverJob(SPEC, ("greedy",), LIMITS, registered=tuple((name, f"failing_assignors:{name.capitalize()}") for name in NAMES))


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    process = SolverProcess()
    yield process
    process.close()


def test_measures_are_those_of_the_answer(solver: SolverProcess) -> None:
    from optassign import assign
    from optassign.goals.order import measure_goals
    from optassign.judging.metrics import measure

    outcome = solver.run(replace(JOB, assignors=("cp-sat",)))
    row, state = outcome.rows["cp-sat"], SPEC.generate()
    answer = assign(state, "cp-sat")
    measures = measure(state, answer)
    assert (row["status"], row["error"]) == ("ok", None)
    assert row["restore_work"] == measures.restore_work
    assert row["active_moves"] == measures.active_moves
    assert {name: row[f"imbalance_{name}"] for name in measures.imbalance} == dict(measures.imbalance)
    assert row["planned_work"] == measure_goals(state, answer)["plan"]["restore_work"]
    assert [goal["value"] for goal in row["goals"]] == [goal.value for goal in answer.report.goals]
    assert set(row) <= {column.name for column in RESULTS}


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("raises", "failed", "answering: RuntimeError: fails: by intent"),
        ("eats", "out-of-memory", "answering: more than 2048 MiB of address space"),
        ("hangs", "timeout", "answering: no end within 3 s"),
        ("crashes", "failed", "answering: the process ended by SIGABRT"),
    ],
)
def test_a_failure_is_a_status_and_the_next_job_is_served(solver: SolverProcess, name: str, status: str, error: str) -> None:
    limits = replace(LIMITS, answer_limit=3.0) if name == "hangs" else LIMITS
    outcome = solver.run(replace(JOB, limits=limits, assignors=("sticky", name, "greedy")))
    assert list(outcome.rows) == ["sticky", name, "greedy"]
    assert outcome.rows[name]["status"] == status
    assert outcome.rows[name]["error"].startswith(error)
    assert [outcome.rows[other]["status"] for other in ("sticky", "greedy")] == ["ok", "ok"]


def test_one_process_serves_one_job_after_another(solver: SolverProcess) -> None:
    solver.run(JOB)
    first = solver.pid
    solver.run(replace(JOB, assignors=("sticky", "raises")))
    assert solver.pid == first


def test_a_convergence_that_takes_too_long_keeps_the_first_answer(solver: SolverProcess) -> None:
    limits = replace(LIMITS, convergence_limit=1e-3)
    row = solver.run(replace(JOB, limits=limits, parts=("answer", "convergence"), assignors=("cp-sat",))).rows["cp-sat"]
    assert row["status"] == "timeout"
    assert row["error"].startswith("converging: ")
    assert row["seconds"] > 0
    assert "converged_rebalances" not in row


def test_a_snapshot_that_cannot_be_made_is_reported(solver: SolverProcess) -> None:
    outcome = solver.run(replace(JOB, source=Spec("steady", 1, 1, seed=1, subtopologies=5)))
    assert outcome.unreadable is not None
    assert "subtopologies: found 5" in outcome.unreadable.reason


def test_a_value_that_does_not_fit_its_column_fails_its_row_only() -> None:
    rows = [{"key": "a", "restore_work": 1 << 70}, {"key": "b", "restore_work": 7, "status": "ok"}]
    with pytest.raises(OverflowError):
        to_record_batch(rows, RESULTS)
    table = to_record_batch_or_failures(rows, RESULTS, ["key"])
    assert table.schema == arrow_schema(RESULTS)
    assert table.column("key").to_pylist() == ["a", "b"]
    assert table.column("status").to_pylist() == ["failed", "ok"]
    assert table.column("restore_work").to_pylist() == [None, 7]
