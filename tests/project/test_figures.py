"""Tests that figures in README and docs are those of the studies' data, and that no cited study is older than its subject.

figures.json lists each figure: its page, its text, and its cell (study, table, cells of the row, column; `per` for another
unit, `part` if a cell has several numbers). `given` are sizes and settings, which are not measured.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from optassign_benchmarks.dependencies import digest_sources, list_changed
from optassign_benchmarks.results import (
    ANSWERS,
    FOLDER,
    RENEWALS,
    StoredStudy,
    answers_digest,
    format_cell,
    list_older_than,
    read_renewals,
    read_studies,
)

ROOT = Path(__file__).resolve().parents[2]
LISTED = json.loads((Path(__file__).with_name("figures.json")).read_text(encoding="utf-8"))
STUDIES = read_studies(ROOT / FOLDER)
COMPLETE = ["README.md", *sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs/evaluation").glob("*.md"))]
"""Pages on which each number has to be listed."""
PICTURES = sorted({entry["page"] for entry in LISTED["figures"] if entry["page"].endswith(".svg")})
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NO_FIGURE = re.compile(
    r"```.*?```|`[^`]*`|<[^>]*>|\]\([^)]*\)|^#[^\n]*$"
    r"|[\d,–]+ × [\d,]+(?: × \d)?|(?<![\w.,])\d(?![\w%]|[.,]\d| ?(?:s|ms|h|%|MiB|minutes?|hours?|times|×)(?!\w))"
    r"|(?:Kafka|Streams|Java|Python|JDK|broker|KIP|[Dd]ecision)[ -]\d[\d.]*(?: to \d[\d.]*)?"
    r"|\bR\d+|4\.[0-4]\.\d",
    re.DOTALL | re.MULTILINE,
)


def find_cell(study: StoredStudy, entry: dict[str, Any]) -> str:
    """Return the text of the cell that an entry names. Raise AssertionError if no row or several rows fit."""
    table = study.tables[entry.get("table", 0)]
    wanted, cells = entry["row"], [[format_cell(cell) for cell in row] for row in table.rows]
    begins = [row for row, of_row in zip(table.rows, cells, strict=True) if of_row[: len(wanted)] == wanted]
    rows = begins or [row for row, of_row in zip(table.rows, cells, strict=True) if set(wanted) <= set(of_row)]
    assert len(rows) == 1, f"{len(rows)} rows with {entry['row']}"
    column = entry["column"]
    return format_cell(rows[0][column if isinstance(column, int) else table.columns.index(column)])


def as_said(cell: str, entry: dict[str, Any]) -> str:
    """Return the number of a cell in the unit and with the digits of the page."""
    message = _NUMBER.search(entry["says"])
    assert message, entry
    decimals = len(message[0].partition(".")[2])
    value = float(_NUMBER.findall(cell)[entry.get("part", 0)].replace(",", "")) / entry.get("per", 1)
    return f"{value:,.{decimals}f}" if "," in message[0] or value < 1000 else f"{value:.{decimals}f}"


def read(page: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return " ".join(text.split())


@pytest.mark.parametrize("entry", LISTED["figures"], ids=lambda entry: f"{entry['page']}: {entry['says']}")
def test_a_figure_is_that_of_the_data(entry: dict[str, Any]) -> None:
    message = _NUMBER.search(entry["says"])
    assert message
    assert message[0] == as_said(find_cell(STUDIES[entry["study"]], entry), entry)
    assert re.search(rf"(?<![\w.,]){re.escape(entry['says'])}(?![\w]|[.,]\d)", read(entry["page"])), "not on the page any more"


@pytest.mark.parametrize("page", COMPLETE)
def test_each_number_is_listed_or_given(page: str) -> None:
    known = [entry["says"] for entry in LISTED["figures"] if entry["page"] == page] + LISTED["given"].get(page, [])
    text = " ".join(_NO_FIGURE.sub(" ", (ROOT / page).read_text(encoding="utf-8")).split())
    for says in sorted(known, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.,]){re.escape(_NO_FIGURE.sub(' ', says).strip())}(?![\w]|[.,]\d)", " ", text)
    assert [text[max(0, m.start() - 40) : m.end() + 25] for m in _NUMBER.finditer(text)] == []


def test_no_figure_is_older_than_the_answers_it_measures() -> None:
    renewals = read_renewals(ROOT / RENEWALS)
    cited = sorted({entry["study"] for entry in LISTED["figures"] if entry["study"] not in LISTED["older"]})
    older = {name: [r.what for r in list_older_than(name, STUDIES[name], renewals)] for name in cited}
    assert {name: reasons for name, reasons in older.items() if reasons} == {}, "run these studies again with --write"


def test_no_figure_is_older_than_its_study_or_the_planner() -> None:
    """Exceptions are in `earlier` of figures.json, with reasons; their pages say so."""
    cited = {entry["study"] for entry in LISTED["figures"]} - LISTED["earlier"].keys()
    changed = {name: list_changed(name, STUDIES[name].sources) for name in sorted(cited)}
    assert {name: what for name, what in changed.items() if what} == {}, "run these studies again with --write"
    assert LISTED["earlier"].keys() <= STUDIES.keys()


def test_a_change_of_sources_is_found_and_shown() -> None:
    study = STUDIES["jvm-planner"]
    now = digest_sources("jvm-planner")
    assert list_changed("jvm-planner", now) == []
    changed = list_changed("jvm-planner", {**now, "the planner in Java": "0" * 12})
    assert changed == ["the planner in Java"]
    assert "Measured on an earlier version of the planner in Java." in study.to_page(changed=changed)
    assert "earlier version" not in study.to_page()


def test_changes_of_comments_and_docstrings_do_not_count() -> None:
    text = (ROOT / "benchmarks/optassign_benchmarks/studies/weights.py").read_text(encoding="utf-8")
    now = digest_sources("weights")["the study"]
    path = "benchmarks/optassign_benchmarks/studies/weights.py"
    assert digest_sources("weights", {path: f'"""Another text."""\n# why\n{text}'}.get)["the study"] == now
    assert digest_sources("weights", {path: f"{text}\nMORE = 1\n"}.get)["the study"] != now


def test_tables_use_one_name_for_each_concept() -> None:
    for name, study in STUDIES.items():
        tables = [line for line in study.to_page().splitlines() if line.startswith("|")]
        cells = {cell.strip() for line in tables for cell in line.strip("|").split("|")}
        assert not cells & {"high-availability", "kafka-high-availability"}, name
        heads = [line for line, after in pairwise(tables) if set(after) <= set("|- ")]
        assert not re.search(r"\b(clients?|plans?|high-availability)\b", " ".join(heads)), name


def test_studies_that_may_be_older_are() -> None:
    renewals = read_renewals(ROOT / RENEWALS)
    assert all(list_older_than(name, STUDIES[name], renewals) for name in LISTED["older"])


def test_the_last_renewal_is_that_of_the_answers_on_file() -> None:
    renewals = read_renewals(ROOT / RENEWALS)
    assert renewals[-1].digest == answers_digest(ROOT / ANSWERS), "python -m optassign_benchmarks.answers --write --because …"
    assert {name for renewal in renewals for name in renewal.touches} <= {*STUDIES, "*"}


def test_a_wrong_figure_is_found() -> None:
    entry: dict[str, Any] = {"page": "README.md", "says": "12.8 hours", "study": "thousand", "row": ["20", "high-availability"]}
    entry |= {"column": "out of balance, seconds", "per": 3600}
    assert as_said(find_cell(STUDIES["thousand"], entry), entry) == "12.9"
