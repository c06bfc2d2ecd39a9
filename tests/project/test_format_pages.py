"""Tests of the pages of docs/schema: their tables are those of the types, and their examples work."""

import json
import re
import shlex
from pathlib import Path

import pytest
from command_line import run_here

from optassign.formats.configs import Options
from optassign.formats.json_input import read_state
from optassign.formats.toml_input import read_options
from optassign.schema import Which, add_tables, json_schema, tables, write
from optassign.schema import text as write_schema

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schema"


def read_page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def find_blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", read_page(name), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("which", ["state", "assignment", "recording"])
def test_the_committed_copies_are_current(which: Which, tmp_path: Path) -> None:
    committed = FOLDER / f"{which}.json"
    assert committed.read_text(encoding="utf-8") == write_schema(which), "python -m optassign.schema docs/schema"
    write(tmp_path)
    assert (tmp_path / f"{which}.json").read_text(encoding="utf-8") == write_schema(which)


@pytest.mark.parametrize("name", tables())
def test_tables_are_those_of_the_types(name: str) -> None:
    page = read_page(name)
    assert add_tables(page, tables()[name]) == page, "python -m optassign.schema docs/schema"


def test_every_field_of_a_snapshot_is_in_a_table() -> None:
    shown = tables()
    for name, node in json_schema("state")["$defs"].items():
        page = next((page for page, made in shown.items() if f"## {name}\n" in made), None)
        if "properties" in node:
            assert page is not None, name
            for field in node["properties"]:
                assert f"| `{field}` |" in shown[page], f"{name}.{field}"


def test_fields_of_snapshot_and_options_are_described() -> None:
    """Only fields whose name and type explain them have no text."""
    plain = {"configs", "options", "tasks", "clients", "topic", "partition", "changelog", "racks"}
    for name in ("state", "options"):
        rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", tables()[name], re.MULTILINE)
        assert {field for field, meaning in rows if not meaning.strip()} - plain == set()


def test_the_example_of_a_snapshot_can_be_assigned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = find_blocks("state", "json")
    Path("snapshot.json").write_text(example, encoding="utf-8")
    assert len(read_state("snapshot.json").tasks) == 4
    for line in "".join(find_blocks("state", "console")).splitlines():
        program, *arguments = shlex.split(line.removeprefix("$ "))
        assert program == "optassign"
        code, out, err = run_here(capsys, *arguments)
        assert code == 0, err
        assert "orders-c" in out


def test_the_examples_of_options_can_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("snapshot.json").write_text(find_blocks("state", "json")[0], encoding="utf-8")
    found = []
    for text in find_blocks("options", "toml"):
        Path("options.toml").write_text(text, encoding="utf-8")
        found.append(read_options(Path("options.toml")))
        (line,) = "".join(find_blocks("options", "console")).splitlines()
        code, _, err = run_here(capsys, *shlex.split(line.removeprefix("$ "))[1:])
        assert code == 0, err
    (as_json,) = find_blocks("options", "json")
    assert found[1] == Options.model_validate(json.loads(as_json)), "the same in both notations"
    assert found[0].goals == ("restore_work", "tag_spread", "copies_not_caught_up", "active_migrations")
