"""Tests of the benchmarks' commands: the list of studies, the description of the machine, the digests of answers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from optassign_benchmarks import results
from optassign_benchmarks.__main__ import main
from optassign_benchmarks.answers import DIGESTS, list_cases
from optassign_benchmarks.repeated import RepeatedStudy
from optassign_benchmarks.results import (
    FOLDER,
    StoredStudy,
    describe_machine,
    list_older_than,
    make_table,
    read_renewals,
    read_study,
    replace_table,
    to_markdown,
    write_study,
)
from optassign_benchmarks.runner import PlayedRow, PlayedStudy, Study
from optassign_benchmarks.studies import STUDIES

ROOT = Path(__file__).parents[2]


def test_every_study_is_a_module_and_has_its_data() -> None:
    folder = ROOT / "benchmarks" / "optassign_benchmarks" / "studies"
    files = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py") if path.stem != "__init__"]
    modules = {module.partition(":")[0] for module in STUDIES.values()}
    part = "time_to_balance"  # its record is the first of TIME_TO_BALANCE_AND_FAULTS
    assert modules | {part} == {".".join(path.parts) for path in files}
    assert len(set(STUDIES.values())) == len(STUDIES)
    for name in STUDIES:
        study = read_study(name, ROOT / FOLDER)
        assert study.command.split(" --")[0] == f"python -m optassign_benchmarks {name}"
        assert study.title
        assert study.about
        assert study.tables


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_a_record(name: str) -> None:
    module, _, record = STUDIES[name].partition(":")
    found = getattr(import_module(f"optassign_benchmarks.studies.{module}"), record)
    assert all(
        isinstance(each, Study | PlayedStudy | RepeatedStudy) for each in (found if isinstance(found, tuple) else (found,))
    )


def test_a_played_study_has_a_line_for_each_row_in_the_order_of_its_cases() -> None:
    def play(opened: str, case: int) -> Iterator[PlayedRow]:
        for half in "ab":
            yield PlayedRow({"case": case, "half": half, "on": opened}, (f"{case} is wrong",) * (case == 2 and half == "b"))

    study = PlayedStudy(
        cases=lambda quick: range(2 if quick else 4),
        play=play,
        open=lambda quick: nullcontext("a broker"),
        at_once=3,
        caption=lambda quick: "quick" if quick else "whole",
    )
    (table,), wrong = study.run()
    assert table.columns == ("case", "half", "on")
    assert table.rows == tuple((case, half, "a broker") for case in range(4) for half in "ab")
    assert (table.caption, wrong) == ("whole", ["2 is wrong"])
    (table,), wrong = study.run(quick=True)
    assert (len(table.rows), table.caption, wrong) == (4, "quick", [])


def test_listing_the_studies_imports_none() -> None:
    code = "import sys; import optassign_benchmarks.__main__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in loaded if name.startswith("optassign_benchmarks.studies.")]
    assert not {"pyspark", "confluent_kafka", "fastapi", "ortools"}.intersection(loaded)
    assert all(find_spec(f"optassign_benchmarks.studies.{module.partition(':')[0]}") for module in STUDIES.values())


@pytest.mark.parametrize(
    ("present", "usable", "told"),
    [(1, 1, ", 1 core,"), (4, 4, ", 4 cores,"), (64, 2, ", 2 of 64 cores,")],
)
def test_the_machine_is_described(present: int, usable: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: present)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(usable)), raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.26, 1.0, 2.0))
    assert told in describe_machine()
    assert describe_machine().endswith("load 0.3 at the start")


def test_a_table_takes_the_place_between_its_marks(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text("before\n<!-- a -->\nold\n<!-- /a -->\nafter\n", encoding="utf-8")
    replace_table("a", to_markdown(("x", "y"), [(1234, 0.5), (True, "\\1")]), document)
    assert document.read_text(encoding="utf-8") == (
        "before\n<!-- a -->\n| x | y |\n| --- | --- |\n| 1,234 | 0.500 |\n| yes | \\1 |\n<!-- /a -->\nafter\n"
    )
    with pytest.raises(ValueError, match="no place marked 'b'"):
        replace_table("b", "", document)


@pytest.mark.parametrize(("asked", "printed"), [([], "studied`; M\n\nwhole"), (["--quick"], "studied --quick`; M\n\nless")])
def test_a_quick_run_says_so(
    asked: list[str], printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = PlayedStudy(
        cases=lambda quick: [1],
        play=lambda _, case: [PlayedRow({"case": case})],
        caption=lambda quick: "less" if quick else "whole",
    )
    monkeypatch.setitem(STUDIES, "studied", "studied:RECORD")
    monkeypatch.setitem(sys.modules, "optassign_benchmarks.studies.studied", SimpleNamespace(RECORD=record))
    monkeypatch.setattr("optassign_benchmarks.__main__.describe_machine", lambda: "M")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "studied", *asked])
    assert main() == 0
    assert capsys.readouterr().out.startswith(f"`python -m optassign_benchmarks {printed}\n")


def test_the_digests_on_file_are_those_of_all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    on_file = [line.split("\t")[:-1] for line in DIGESTS.read_text(encoding="utf-8").splitlines()]
    no_group = [name for name, *assignor in on_file if not assignor]
    expected = []
    for case in list_cases():
        expected += [[case.name]] if case.name in no_group else [[case.name, assignor] for assignor in case.assignors]
    assert on_file == expected


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (["--every", "10"], "--write without it"),
        ([], "--because TEXT --touches"),
        (["--because", "x"], "--because TEXT --touches"),
    ],
)
def test_the_digests_are_renewed_as_a_whole_and_with_a_reason(asked: list[str], allowed: str) -> None:
    command = [sys.executable, "-m", "optassign_benchmarks.answers", "--write", *asked]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 2
    assert allowed in " ".join(result.stderr.split())


def test_a_run_replaces_figures_and_keeps_what_is_written_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs" / "data").mkdir(parents=True)
    (tmp_path / "benchmarks" / "optassign_benchmarks").mkdir(parents=True)
    (tmp_path / "benchmarks" / "optassign_benchmarks" / "answers.txt").write_text("a\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    tables = [make_table(("x", "y"), [(1234, 0.5), ("a \\| b", True)], "Two rows")]
    write_study("new", tables, ["too slow"], "run it", "M")
    first = read_study("new")
    assert first.title == "new"
    (tmp_path / FOLDER / "new.json").write_text(
        first.model_copy(update={"title": "A title", "about": "How to read it."}).to_json(), encoding="utf-8"
    )
    write_study("new", [make_table(("z",), [(2,)])], [], "run it again", "M")
    second = read_study("new")
    assert (second.title, second.about, second.command) == ("A title", "How to read it.", "run it again")
    assert [table.rows for table in second.tables] == [((2,),)]
    page = first.to_page()
    assert page.startswith("# new\n\n`run it`, ")
    assert "Two rows\n\n| x | y |\n| --- | --- |\n| 1,234 | 0.500 |\n| a \\| b | yes |\n" in page
    assert page.endswith("demands:\n\n- too slow\n")


def test_figures_are_older_than_the_changes_that_touch_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, renewals = tmp_path / "answers.txt", tmp_path / "renewals.json"
    monkeypatch.setattr(results, "answers_digest", lambda: answers.read_text(encoding="utf-8"))
    renewals.write_text("[]", encoding="utf-8")
    for digest, touches in (("one", ["*"]), ("two", ["load"]), ("three", []), ("four", ["tags"])):
        answers.write_text(digest, encoding="utf-8")
        results.add_renewal(f"The change {digest}.", touches, renewals)

    def find_older(name: str, digest: str) -> list[str]:
        study = StoredStudy(title="T", about="", command="c", date="d", environment="e", answers=digest, tables=())
        return [renewal.digest for renewal in list_older_than(name, study, read_renewals(renewals))]

    assert find_older("load", "one") == ["two"]
    assert find_older("load", "two") == []
    assert find_older("tags", "two") == ["four"]
    assert find_older("speed", "") == ["one"], "older than the list"
