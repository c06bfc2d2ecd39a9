"""Tests that the reference lists each key, event and command of the code, and that generated tables are current."""

import re
from pathlib import Path

import pytest
import reference_tables

from optassign.goals.order import find_plan_goals

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def read_section(page: str, heading: str) -> str:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def find_keys(section: str) -> set[str]:
    return set(re.findall(r"`(optassign\.[\w.]+)`", section))


def find_constants(pattern: str, java: str) -> set[str]:
    return set(re.findall(pattern, reference_tables._read_java(java)))


@pytest.mark.parametrize("name", reference_tables.MADE)
def test_tables_are_committed_as_they_are_made(name: str) -> None:
    page = reference_tables.GENERATED / f"{name}.md"
    made = reference_tables.make_page(name)
    assert page.read_text(encoding="utf-8") == made, "make tables"
    assert made.count("\n| ") > 5


@pytest.mark.parametrize("name", reference_tables.MADE)
def test_the_reference_links_to_each_table(name: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")]
    assert sum(f"(generated/{name}.md)" in page for page in pages) == 1


def test_commands_and_their_options_are_listed() -> None:
    made = reference_tables.list_commands()
    assert "## `optassign assign`\n" in made
    assert "| `--time-limit TIME` |" in made
    assert "%(" not in made


def test_keys_of_the_plug_in_have_defaults_and_meanings() -> None:
    rows = [row.strip("| ").split(" | ") for row in reference_tables.list_plugin_keys().splitlines()[2:]]
    assert {cells[0].strip("`") for cells in rows} == find_constants(r'"(optassign\.[\w.]+)"', "ConfigKeys") | {
        "optassign.url",
        "optassign.token",
        "optassign.token.file",
    }
    by_key = {cells[0].strip("`"): cells for cells in rows}
    assert by_key["optassign.timeout.ms"][1:3] == ["int", "`2000`"]
    assert all(len(cells) == 4 and cells[3].strip() for cells in rows)


def test_keys_of_the_watcher_are_those_of_its_settings() -> None:
    keys = find_constants(r'static final String \w+ = "(optassign\.\w[\w.]+)"', "Settings")
    assert find_keys(read_section("configuration.md", "Watcher")) == keys


def test_keys_of_the_broker_are_those_of_its_config() -> None:
    keys = find_constants(r'static final String \w+ = "(optassign\.[\w.]+)"', "BrokerConfig")
    keys |= find_constants(r'static final String \w+ = "(optassign\.[\w.]+)"', "BrokerEndpoint")
    found = find_keys(read_section("configuration.md", "Broker's jar"))
    assert found == keys | {"optassign.url", "optassign.token", "optassign.token.file"}


def test_defaults_of_broker_and_watcher_are_those_of_the_code() -> None:
    limits = read_java_numbers("Limits")
    default = reference_tables._read_java("Limits").partition("DEFAULT = new Limits(")[2].partition(")")[0]
    named = re.findall(r"(?<!\.)\b[A-Z_]{2,}\b", default)
    assert len(named) == 8
    watcher = read_section("configuration.md", "Watcher")
    assert [name for name in named if f"| `{limits[name]}` |" not in watcher] == []
    broker, warmups = read_section("configuration.md", "Broker's jar"), read_java_numbers("BrokerConfig")["DEFAULT_WARMUPS"]
    assert re.search(rf"`optassign.max.warmup.replicas`[^|]*\| `{warmups}` \|", broker)


def read_java_numbers(name: str) -> dict[str, int]:
    """Return the whole constants of a class in Java."""
    found = re.findall(r"static final \w+ (\w+) = ([\d_]+);", reference_tables._read_java(name))
    return {constant: int(value) for constant, value in found}


def test_configured_goals_are_listed_in_their_order() -> None:
    table = read_section("rules.md", "Configured goals").partition("\n#")[0]
    configured = [name for name, goal in find_plan_goals().items() if goal.is_configured]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == configured


def test_each_event_of_the_service_is_described() -> None:
    described = set(
        re.findall(r"`([a-z_]+)`", "\n".join(re.findall(r"^\| (`[^|]*) \|", read_section("logs.md", "Service"), re.M)))
    )
    assert described - reference_tables.list_log_events() == {"log", "log_limited"}
    assert reference_tables.list_log_events() - described == set()
