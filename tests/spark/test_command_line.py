"""Tests of `benchmark` and `replay`: refused arguments, imported modules, the search for runs, and reports.
They test `optassign.cli.commands.benchmarks.spark_runs`."""

import os
import re
import shutil
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

import pytest
from command_line import run_here
from spark_cluster import list_master_options, read_rows, start_optassign, wait_for_end

from optassign.measuring.balance import SHARE_NAMES
from optassign_benchmarks.spark.presets import Sweep
from optassign_benchmarks.spark.reports.query import format_value
from optassign_benchmarks.spark.solver_process import SolverLimits
from optassign_benchmarks.spark.tables import DOCUMENT, DOCUMENTED, column_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN = ("benchmark", "run", "--preset", "smoke")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*RUN, "--assignors", "best"), "--assignors: found 'best'; allowed: consumer-sticky"),
        ((*RUN, "--conf", "ui=off"), "--conf: found 'ui=off'; allowed: NAME=VALUE"),
        ((*RUN, "--register", "mine"), "--register: found 'mine'; allowed: [NAME=]MODULE:CLASS"),
        ((*RUN, "--register", "greedy=a:B"), "found 'greedy', which is taken"),
        (("benchmark", "run", "--grid", "none.toml"), "none.toml: found no such file"),
    ],
)
def test_errors_are_one_line_before_spark_starts(
    arguments: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run_here(capsys, *arguments, "--output", str(tmp_path / "out"))
    assert (code, len(err.splitlines())) == (2, 1)
    assert told in err
    assert not (tmp_path / "out").exists()


def test_without_a_jdk_one_line_says_so(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop("JAVA_HOME", None)
    _, err = wait_for_end(start_optassign(*RUN, "--output", str(tmp_path / "out"), env=environment), code=2)
    assert err == ("optassign benchmark: error: found no java by PATH; needed: a JDK 17 or later (Spark runs in a JVM)\n")


def test_an_old_jdk_is_reported(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    _, err = wait_for_end(start_optassign(*RUN, "--output", str(tmp_path / "out"), env=environment), code=2)
    assert "found Java 11 by JAVA_HOME; needed: a JDK 17 or later" in err


@pytest.mark.long
def test_a_missing_master_is_reported(java: None, tmp_path: Path) -> None:
    _, err = wait_for_end(start_optassign(*RUN, "--output", str(tmp_path / "out"), *list_master_options("nonsense")), code=2)
    assert "Spark does not start with master 'nonsense'" in err


@pytest.mark.long
def test_errors_of_spark_are_one_line(java: None, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    _, err = wait_for_end(
        start_optassign(*RUN, "--output", str(tmp_path / "file" / "out"), *list_master_options("local[1]")), code=1
    )
    output = re.fullmatch(r"optassign benchmark: error: Spark: (.*); more in (\S+)", err.splitlines()[-1])
    assert output is not None, err
    assert "Traceback" not in err
    log = Path(output[2])
    assert output[1].split(":")[0] in log.read_text()
    shutil.rmtree(log.parent)


@pytest.mark.long
def test_a_folder_without_recordings_is_reported(java: None, tmp_path: Path) -> None:
    _, err = wait_for_end(
        start_optassign("replay", str(tmp_path), "--output", str(tmp_path / "out"), *list_master_options("local[1]")), code=2
    )
    assert "RECORDINGS: found no recording in" in err


def test_the_document_has_all_columns() -> None:
    root = Path(__file__).parents[2]
    text = (root / DOCUMENT).read_text(encoding="utf-8")
    for name, columns in DOCUMENTED.items():
        (table,) = re.findall(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", text, re.DOTALL)
        assert table == column_table(columns), f"python -m {column_table.__module__}"


@pytest.mark.long
def test_runs_are_found_by_prefix_and_reported(spark: "SparkSession", tmp_path: Path) -> None:
    from optassign.formats.input_errors import InputError
    from optassign_benchmarks.spark.reports.report import make_report, to_html, to_markdown
    from optassign_benchmarks.spark.runs import Run, find_run
    from optassign_benchmarks.spark.storage import Storage
    from optassign_benchmarks.spark.sweep import run_sweep

    storage = Storage(spark, str(tmp_path))
    with pytest.raises(InputError, match="found no run"):
        find_run(storage, None)
    sweep = Sweep(
        name="one", shapes=("restart", "steady"), sizes=((12, 3), (20, 4)), assignors=("cp-sat", "sticky"), converge_up_to=20
    )
    run = Run("sweep", "one", sweep.list_assignors(), SolverLimits(), sweep)
    other = Run("sweep", "two", sweep.list_assignors(), SolverLimits(time_limit=5.0), sweep)
    for each in (run, other):
        each.save(storage)
    with pytest.raises(InputError, match="found 2 runs; allowed: --run with one of one-"):
        find_run(storage, None)
    assert find_run(storage, "one") == run
    assert run_sweep(spark, storage, run) == 8
    assert run_sweep(spark, storage, run) == 0

    rows = read_rows(tmp_path, "results")
    report = make_report(spark, storage, run)
    tables = {section.query.title: section for section in report.sections}
    bounds = {row["instance"]: row["restore_bound"] for row in rows if row["assignor"] == "cp-sat"}
    for name in ("cp-sat", "sticky"):
        mine = [row for row in rows if (row["assignor"], row["shape"]) == (name, "restart")]
        ratios = [row["converged_restored_offsets"] / bounds[row["instance"]] for row in mine]
        expected = (
            *("restart", name, 2, sum(row["converged_stable"] for row in mine), sum(row["converged_balanced"] for row in mine)),
            *(pytest.approx(median(ratios)), pytest.approx(min(ratios) + 0.9 * (max(ratios) - min(ratios)))),
            *(pytest.approx(max(ratios)), 0),
        )
        assert expected in tables["Restored offsets of a convergence, against the proven minimum"].rows
        for row in mine:
            seconds = [other["seconds"] for other in rows if (other["assignor"], other["tasks"]) == (name, row["tasks"])]
            line = next(line for line in tables["Seconds of one answer"].rows if line[:2] == (name, row["tasks"]))
            assert line[2:6] == (row["clients"], 2, min(seconds), pytest.approx(median(seconds)))
            assert line[-1] == max(seconds)
            moves = (float(row["converged_moved_active"]), float(row["converged_standby_migrations"]))
            rebalances = (row["converged_rebalances"], row["converged_rebalances"])
            line = ("restart", row["tasks"], row["clients"], name, 1, int(row["converged_stable"]), *rebalances, *moves)
            assert line in tables["Rebalances until the group is stable"].rows
            logged, twice = row["converged_moved_logged"], row["converged_moved_more_than_once"]
            share = row["converged_moves_repeated"] / moves[0] if moves[0] else None
            line = ("restart", row["tasks"], row["clients"], name, 1, moves[0], float(logged), float(twice), twice, share)
            assert line in tables["Moves until the group is stable"].rows
    for name in ("cp-sat", "sticky"):
        mine = [row for row in rows if (row["assignor"], row["shape"]) == (name, "restart")]
        reached = tables["Values of one answer, by goal"]
        means = dict(zip(reached.head, next(line for line in reached.rows if line[:2] == ("restart", name)), strict=True))
        assert means["active moves"] == pytest.approx(mean(100 * row["active_moves"] / row["tasks"] for row in mine))
        imbalance = [sum(row[f"imbalance_{share}"] for share in SHARE_NAMES) for row in mine]
        assert means["imbalance"] == pytest.approx(mean(100 * e / row["tasks"] for e, row in zip(imbalance, mine, strict=True)))
        assert means["subtopology balance"] == pytest.approx(mean(row["subtopology_balance"] for row in mine))
    html, markdown = to_html(report), to_markdown(report)
    assert f"parquet.`file:{tmp_path}/table=results` WHERE run = '{run.id}'" in markdown
    for section in report.sections:
        for line in section.rows:
            assert f"| {' | '.join(format_value(value) for value in line)} |" in markdown
            assert all(f">{format_value(value)}</td>" in html for value in line)
    assert run.id in html
    assert html.count("<svg") >= 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (1234567, "1,234,567"),
        (0.0123456, "0.0123"),
        (12.0, "12"),
        (1.5, "1.50"),
        (12345.6, "12,346"),
    ],
)
def test_numbers_are_formatted(value: object, text: str) -> None:
    assert format_value(value) == text
