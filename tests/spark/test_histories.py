"""Tests of random histories on a real cluster: a row has the grades of a local run, and the report sums them.
They test `optassign_benchmarks.spark.sweep_queries`."""

import json
from pathlib import Path

import pytest
from spark_cluster import Cluster, list_master_options, read_rows, start_optassign, wait_for_end
from spark_reports import PAGE, measure_tables, paste_queries, read_tables

from optassign.simulation.history import draw_history
from optassign.simulation.history_grades import GROUPS, Grades
from optassign.simulation.history_playing import play_history, play_suite
from optassign_benchmarks.spark.reports.query import format_value
from optassign_benchmarks.spark.tables import HISTORIES, STATUSES

ASSIGNORS = ("greedy", "sticky")
SEEDS = range(3, 6)
BEGIN = ("benchmark", "run", "--preset", "histories", "--seed", "3", "--count", "3", "--assignors", ",".join(ASSIGNORS))


@pytest.fixture(scope="module")
def played(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("histories")
    out, err = wait_for_end(start_optassign(*BEGIN, "--output", str(folder), *list_master_options(cluster.master)))
    assert out.startswith("histories-")
    assert "6 rows solved, 6 are there, all ok" in err.splitlines()[-1]
    wait_for_end(start_optassign("benchmark", "report", str(folder), *list_master_options("local[1]")))
    return folder


@pytest.mark.long
def test_each_history_and_assignor_is_a_row_with_its_grades(played: Path) -> None:
    rows = {(row["seed"], row["assignor"]): row for row in read_rows(played, "histories")}
    assert rows.keys() == {(seed, name) for seed in SEEDS for name in ASSIGNORS}
    for (seed, name), row in rows.items():
        history = draw_history("small", seed)
        grades = play_history(history, name)
        assert {field: row[field] for field in vars(grades) if field != "violations"} == {
            field: value for field, value in vars(grades).items() if field != "violations"
        }, str(history)
        assert dict(row["violations"]) == grades.violations
        assert row["history"] == str(history)
        assert row["status"] in STATUSES


def test_the_table_has_every_grade() -> None:
    names = [column.name for column in HISTORIES]
    assert set(vars(Grades())) <= set(names)


@pytest.mark.long
def test_the_report_has_the_grade_table_of_the_command_line(played: Path, tmp_path: Path) -> None:
    (path,) = played.glob("report-*.md")
    text = path.read_text()
    tables = read_tables(text)
    totals = {name: play_suite("small", SEEDS[0], len(SEEDS), name).total for name in ASSIGNORS}
    for title, columns in GROUPS.items():
        _, (head, *lines) = tables[title]
        assert head[:2] == ["assignor", "histories"]
        for line, (name, total) in zip(lines, totals.items(), strict=True):
            shown = []
            for column in columns:
                value = column.compute(total)
                shown.append(100 * value if column.is_share and value is not None else value)
            assert line[:2] == [name, "3"]
            assert line[2:] == [format_value(value) for value in shown]
    assert "`greedy` breaks a rule in 0 and does not settle in 0" in text
    assert "Histories in which optassign broke a rule" not in text
    query, lines = tables["Rules and rest"]
    (pasted,) = paste_queries([query], tmp_path)
    assert [row[:2] for row in pasted] == [line[:2] for line in lines[1:]]


@pytest.mark.long
def test_the_tables_fit_the_page(played: Path) -> None:
    (path,) = played.glob("report-*.html")
    assert {title: width for title, width in measure_tables(path.read_text()).items() if width > PAGE} == {}


def test_a_grid_names_a_suite_and_its_seeds(tmp_path: Path) -> None:
    from optassign.formats.input_errors import InputError
    from optassign_benchmarks.spark.presets import HistorySweep, read_sweep

    path = tmp_path / "grid.toml"
    path.write_text('name = "mine"\nhistories = "large"\nseed = 7\ncount = 2\n')
    sweep = read_sweep(path)
    assert isinstance(sweep, HistorySweep)
    assert [(spec.name, name) for spec, name in sweep.rows(("greedy",))] == [("large-7", "greedy"), ("large-8", "greedy")]
    path.write_text('name = "mine"\nhistories = "huge"\n')
    with pytest.raises(InputError, match="allowed: small or large"):
        read_sweep(path)
    path.write_text('name = "mine"\nhistories = "small"\nsizes = [[10, 2]]\n')
    with pytest.raises(InputError, match="found an unknown field"):
        read_sweep(path)


def test_seeds_are_of_histories_only(tmp_path: Path) -> None:
    given = ("benchmark", "run", "--preset", "smoke", "--count", "3", "--output", str(tmp_path / "out"))
    _, err = wait_for_end(start_optassign(*given), code=2)
    assert "--count: found it without --preset histories" in err


@pytest.mark.long
def test_the_run_can_be_continued(played: Path) -> None:
    (path,) = (played / "runs").glob("*.json")
    assert json.loads(path.read_text())["sweep"]["count"] == 3
    _, err = wait_for_end(start_optassign("benchmark", "continue", str(played), *list_master_options("local[1]")))
    assert "0 rows solved, 6 are there, all ok" in err.splitlines()[-1]
