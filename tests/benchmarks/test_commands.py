"""The commands of the benchmarks: the studies that they list, the machine that they describe, the answers that they guard."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from optassign_benchmarks.__main__ import STUDIES, main
from optassign_benchmarks.answers import DIGESTS, list_cases
from optassign_benchmarks.tables import DOCUMENT, describe_machine, replace_table, to_markdown

ROOT = Path(__file__).parents[2]


def test_every_study_is_a_module_and_has_its_place_in_the_document() -> None:
    folder = ROOT / "benchmarks" / "optassign_benchmarks" / "studies"
    files = [path for path in folder.glob("*/*.py") if path.stem != "__init__"]
    assert sorted(STUDIES.values()) == sorted(f"{path.parent.name}.{path.stem}" for path in files)
    document = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    for name in STUDIES:
        assert document.count(f"<!-- {name} -->\n") == document.count(f"<!-- /{name} -->") == 1, name


def test_listing_the_studies_imports_none() -> None:
    code = "import sys; import optassign_benchmarks.__main__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in loaded if name.startswith("optassign_benchmarks.studies")]
    assert not {"pyspark", "confluent_kafka", "fastapi", "ortools"}.intersection(loaded)
    assert all(find_spec(f"optassign_benchmarks.studies.{module}") for module in STUDIES.values())


@pytest.mark.parametrize(
    ("present", "usable", "told"),
    [(1, 1, ", 1 core,"), (4, 4, ", 4 cores,"), (64, 2, ", 2 of 64 cores,")],
)
def test_the_machine_is_described_as_it_is(present: int, usable: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    ("study", "asked", "printed"),
    [
        ("long", [], "long`; M\n\nwhole"),
        ("long", ["--quick"], "long --quick`; M\n\nless"),
        ("short", ["--quick"], "short`; M\n\nall"),
    ],
)
def test_only_studies_with_a_smaller_run_are_run_smaller(
    study: str, asked: list[str], printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_long(*, quick: bool = False) -> tuple[str, list[str]]:
        return "less" if quick else "whole", []

    for name, run in (("long", run_long), ("short", lambda: ("all", []))):
        monkeypatch.setitem(STUDIES, name, name)
        monkeypatch.setitem(sys.modules, f"optassign_benchmarks.studies.{name}", SimpleNamespace(run=run))
    monkeypatch.setattr("optassign_benchmarks.__main__.describe_machine", lambda: "M")
    monkeypatch.setattr(sys, "argv", ["benchmarks", study, *asked])
    assert main() == 0
    assert capsys.readouterr().out == f"`python -m optassign_benchmarks {printed}\n"


def test_the_digests_on_file_are_those_of_all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    on_file = [line.split("\t")[:-1] for line in DIGESTS.read_text(encoding="utf-8").splitlines()]
    no_group = [name for name, *assignor in on_file if not assignor]
    expected = []
    for case in list_cases():
        expected += [[case.name]] if case.name in no_group else [[case.name, assignor] for assignor in case.assignors]
    assert on_file == expected


def test_the_digests_cannot_be_renewed_in_part() -> None:
    command = [sys.executable, "-m", "optassign_benchmarks.answers", "--every", "10", "--write"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 2
    assert "allowed: --write alone" in result.stderr
