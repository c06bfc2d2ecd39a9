"""Tests of sweeps on a real cluster: the results of one core, and no row lost or doubled if a worker or the driver dies."""

import os
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command_line import run_here
from spark_cluster import (
    FAILING_ASSIGNORS,
    Cluster,
    kill,
    list_master_options,
    read_rows,
    start_optassign,
    wait_for,
    wait_for_end,
)

from optassign_benchmarks.spark.presets import Sweep, SweepLimits
from optassign_benchmarks.spark.sweep import row_key
from optassign_benchmarks.spark.tables import RESULTS, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS = SweepLimits(answer_limit=10.0, convergence_limit=60.0, memory_limit=2048)
POISONS = ("raises", "eats", "hangs", "crashes")
SWEEP = Sweep(
    name="tiny",
    shapes=("scale-out",),
    sizes=((12, 3),),
    assignors=("cp-sat", "greedy", "sticky", *POISONS),
    converge_up_to=12,
    limits=LIMITS,
)
GRID = """
name = "tiny"
shapes = ["scale-out"]
sizes = [[12, 3]]
converge_up_to = 12
[limits]
answer_limit = 10.0
convergence_limit = 60.0
memory_limit = 2048
"""
PATIENT = GRID.replace("answer_limit = 10.0", "answer_limit = 600.0").replace("converge_up_to = 12", "converge_up_to = 0")
FOLDER = "OPTASSIGN_TEST_FOLDER"
"""The environment variable with the folder in which the waiting assignor creates its files."""
TIMES = {"seconds", "converged_seconds", "converged_most_seconds", "converged_total_seconds", "host", "started", "peak_memory"}


def register_options(*names: str) -> list[str]:
    return [option for name in names for option in ("--register", f"{name}=failing_assignors:{name.capitalize()}")]


def write_command(folder: Path, master: str, *assignors: str, grid: str = GRID) -> list[str]:
    path = folder / "grid.toml"
    path.write_text(grid)
    poisons = [name for name in assignors if name in (*POISONS, "waits", "recovers")]
    return [
        "benchmark",
        "run",
        *("--grid", str(path), "--output", str(folder / "out"), "--assignors", ",".join(assignors)),
        *register_options(*poisons),
        *list_master_options(master, "--py-files", FAILING_ASSIGNORS),
        *("--conf", f"spark.executorEnv.{FOLDER}={folder}"),  # executors have the environment of their worker
    ]


def run(folder: Path, master: str, *assignors: str, grid: str = GRID, env: dict[str, str] | None = None) -> Any:
    environment = dict(env or os.environ, PYTHONPATH=str(Path(FAILING_ASSIGNORS).parent))
    return start_optassign(*write_command(folder, master, *assignors, grid=grid), env=environment)


@pytest.fixture(scope="module")
def on_the_cluster(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    out, err = wait_for_end(run(folder, cluster.master, *SWEEP.list_assignors()))
    last = err.splitlines()[-1]
    assert "7 rows solved, 7 are there, 4 not ok (2 failed, 1 out-of-memory, 1 timeout)" in last
    again = f"optassign benchmark continue {folder / 'out'} --run {out.strip()} --master {cluster.master} --conf "
    assert f"to solve the failures again: `{again}" in last
    assert last.endswith(f" --py-files {FAILING_ASSIGNORS} --failed`")  # without its modules no assignor could be registered
    assert out.startswith("tiny-")
    return folder / "out"


@pytest.mark.long
def test_results_are_those_of_one_core(on_the_cluster: Path, spark: "SparkSession", tmp_path: Path) -> None:
    from optassign_benchmarks.spark.runs import Run, find_run
    from optassign_benchmarks.spark.storage import Storage
    from optassign_benchmarks.spark.sweep import run_sweep

    spark.sparkContext.addPyFile(FAILING_ASSIGNORS)
    there = find_run(Storage(spark, str(on_the_cluster)), None)
    here = Run("sweep", "tiny", there.assignors, there.limits, there.sweep, registered=there.registered)
    assert run_sweep(spark, Storage(spark, str(tmp_path)), here) == 7
    assert drop_times(read_rows(on_the_cluster, "results")) == drop_times(read_rows(tmp_path, "results"))


def drop_times(rows: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return sorted((row["key"], {name: value for name, value in row.items() if name not in TIMES}) for row in rows)


def test_a_failure_is_a_row(on_the_cluster: Path) -> None:
    rows = read_rows(on_the_cluster, "results")
    assert Counter((row["assignor"], row["status"]) for row in rows) == {
        ("cp-sat", "ok"): 1,
        ("greedy", "ok"): 1,
        ("sticky", "ok"): 1,
        ("raises", "failed"): 1,
        ("crashes", "failed"): 1,
        ("eats", "out-of-memory"): 1,
        ("hangs", "timeout"): 1,
    }
    for row in rows:
        assert (row["error"] is None) == (row["status"] == "ok")
        assert (row["restore_work"] is None) == (row["status"] != "ok")
        assert (row["converged_stable"] is None) == (row["status"] != "ok")


def test_files_have_the_documented_columns(on_the_cluster: Path, spark: "SparkSession") -> None:
    (folder,) = on_the_cluster.glob("table=results/run=*")
    assert spark.read.parquet(str(folder)).schema == spark_schema(RESULTS)


@pytest.mark.usefixtures("commands_here")
def test_an_existing_run_is_not_started_again(on_the_cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run_here(capsys, *write_command(on_the_cluster.parent, "local[1]", *SWEEP.list_assignors()))
    assert (code, "allowed: `optassign benchmark continue" in err) == (2, True)


@pytest.mark.long
def test_a_killed_worker_loses_no_row_and_doubles_none(cluster: Cluster, tmp_path: Path) -> None:
    grid = PATIENT.replace("[[12, 3]]", "[[12, 3], [15, 3], [18, 3]]")
    process = run(tmp_path, cluster.master, "waits", "sticky", grid=grid, env=waiting_environment(tmp_path))
    wait_for(lambda: len(list_begun(tmp_path)) == 2, "a row is being solved on each worker", process)
    cluster.kill_worker()
    try:
        (tmp_path / "go").touch()
        wait_for_end(process)
    finally:
        cluster.add_worker()
    assert len(list_begun(tmp_path)) == 4  # three rows, one of them twice
    rows = read_rows(tmp_path / "out", "results")
    assert len(rows) == 6
    assert {row["key"] for row in rows} == {
        row_key(spec, name) for spec in parse_grid(grid, tmp_path).specs() for name in ("waits", "sticky")
    }
    assert {row["status"] for row in rows} == {"ok"}


@pytest.mark.long
def test_resume_continues_after_a_killed_driver(tmp_path: Path) -> None:
    # Rows begin with the longest: cp-sat and greedy have finished when the waiting assignor begins.
    process = run(tmp_path, "local[1]", "cp-sat", "greedy", "waits", grid=PATIENT, env=waiting_environment(tmp_path))
    wait_for(lambda: list_begun(tmp_path), "the row is being solved", process)
    kill(process)
    parts = list(tmp_path.glob("out/table=results/run=*/*.parquet"))
    before = {row["assignor"]: row["seconds"] for row in read_rows(tmp_path / "out", "results")}
    assert set(before) == {"cp-sat", "greedy"}
    (tmp_path / "go").touch()
    assert "1 row solved, 3 are there, all ok" in resume(tmp_path)
    rows = read_rows(tmp_path / "out", "results")
    assert Counter(row["assignor"] for row in rows) == {"cp-sat": 1, "greedy": 1, "waits": 1}
    assert len(parts) == 2  # a row that was solved before the driver was killed keeps its measures
    assert before == {row["assignor"]: row["seconds"] for row in rows if row["assignor"] != "waits"}
    assert len(list(tmp_path.glob("out/table=results/run=*/*.parquet"))) == 1
    assert not list(tmp_path.glob("out/table=results/run=*/_*"))


@pytest.mark.long
def test_an_interrupted_sweep_says_so_in_one_line(tmp_path: Path) -> None:
    process = run(tmp_path, "local[1]", "waits", env=waiting_environment(tmp_path), grid=PATIENT)
    wait_for(lambda: list_begun(tmp_path), "the row is being solved", process)
    process.send_signal(signal.SIGINT)  # only to the command: a terminal would also end the JVM
    out, err = wait_for_end(process, code=130)
    assert (out, "Traceback" in err) == ("", False), err
    assert f"benchmark: interrupted; to continue: `optassign benchmark continue {tmp_path / 'out'}" in err.splitlines()[-1]


@pytest.mark.long
def test_failures_are_solved_again_on_request(tmp_path: Path) -> None:
    _, err = wait_for_end(run(tmp_path, "local[1]", "recovers", "sticky", env=waiting_environment(tmp_path)))
    assert "2 rows solved, 2 are there, 1 not ok (1 failed)" in err.splitlines()[-1]
    assert "0 rows solved, 2 are there, 1 not ok (1 failed)" in resume(tmp_path)
    before = {row["assignor"]: row for row in read_rows(tmp_path / "out", "results")}
    assert before["recovers"]["error"] == "answering: RuntimeError: not yet"
    (tmp_path / "go").touch()
    assert "1 row solved, 2 are there, all ok" in resume(tmp_path, "--failed")
    after = {row["assignor"]: row for row in read_rows(tmp_path / "out", "results")}
    assert after["sticky"] == before["sticky"]
    assert (after["recovers"]["status"], after["recovers"]["error"]) == ("ok", None)
    assert len(read_rows(tmp_path / "out", "results")) == 2


def resume(folder: Path, *options: str) -> str:
    """Continue the sweep; return the last line of the output."""
    environment = dict(waiting_environment(folder), PYTHONPATH=str(Path(FAILING_ASSIGNORS).parent))
    spark = list_master_options("local[1]", "--py-files", FAILING_ASSIGNORS)
    _, err = wait_for_end(start_optassign("benchmark", "continue", str(folder / "out"), *options, *spark, env=environment))
    return err.splitlines()[-1]


def waiting_environment(folder: Path) -> dict[str, str]:
    return dict(os.environ, **{FOLDER: str(folder)})


def list_begun(folder: Path) -> list[Path]:
    return list(folder.glob("begun-*"))


def parse_grid(grid: str, folder: Path) -> Sweep:
    from optassign_benchmarks.spark.presets import read_sweep

    path = folder / "again.toml"
    path.write_text(grid)
    sweep = read_sweep(path)
    assert isinstance(sweep, Sweep)
    return sweep
