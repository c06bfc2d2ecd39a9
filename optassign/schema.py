"""Make JSON Schemas of the formats from their types. `python -m optassign.schema FOLDER` writes them there.

Pages in the folder get the schemas' objects as tables, below the line `<!-- tables -->`.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.recordings.recording import Recording
from optassign.simulation.timed.scenario import Scenario

Schema = dict[str, Any]


def list_objects(schema: Schema, root: str | None = None) -> dict[str, Schema]:
    """Return name → node of each object of the schema or of its definition `root`, each before the objects that it includes."""
    found: dict[str, Schema] = {}

    def visit(title: str, node: Schema) -> None:
        if title not in found and "properties" in node:
            found[title] = node
            for inner in re.findall(r'"#/\$defs/(\w+)"', json.dumps(node["properties"])):
                visit(inner, schema["$defs"].get(inner, {}))

    title = schema["title"] if root is None else root
    visit(title, schema if root is None else schema["$defs"][root])
    return found


def make_tables(objects: Mapping[str, Schema], elsewhere: Mapping[str, str]) -> str:
    """Return a heading and a table for each object. `elsewhere`: object → page that has it, to which tables link."""
    parts = []
    for heading, node in objects.items():
        if heading not in elsewhere:
            parts.append(f"## {heading}\n\n{_plain(node.get('description', ''))}\n\n{_make_table(node)}\n")
    page = "\n".join(parts)
    return re.sub(r"\]\(#(\w+):(\w+)\)", lambda found: f"]({elsewhere.get(found[1], '')}#{found[2]})", page)


def _make_table(node: Schema) -> str:
    rows = ["| field | type | default | |", "|---|---|---|---|"]
    for name, field in node["properties"].items():
        default = "required" if name in node.get("required", ()) else _describe_default(field.get("default"))
        rows.append(f"| `{name}` | {_describe_type(field)} | {default} | {_meaning(field)} |")
    return "\n".join(rows)


def _describe_default(value: Any) -> str:
    if value is None or value in ({}, []):
        return "" if value is None else "empty"
    return "its fields' defaults" if isinstance(value, dict) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _list_alternatives(field: Schema) -> list[Schema]:
    return [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]


def _describe_type(field: Schema) -> str:
    return " or ".join(dict.fromkeys(_describe_alternative(option) for option in _list_alternatives(field)))


def _describe_alternative(node: Schema) -> str:
    if "anyOf" in node:
        return _describe_type(node)
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return f"[{name}](#{name}:{name.lower()})" if name != "JsonValue" else "anything"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    if node.get("type") == "array":
        return f"list of {_describe_type(node['items'])}" if "items" in node else "list"
    if node.get("type") == "object":
        inner = node.get("additionalProperties")
        return f"name → {_describe_type(inner)}" if isinstance(inner, dict) else "object"
    return f"{node.get('type', 'anything')}{_describe_limits(node)}"


def _describe_limits(node: Schema) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if node.get("exclusiveMinimum") is not None:
        return f" > {node['exclusiveMinimum']}" + (f", ≤ {_format_number(high)}" if high is not None else "")
    if low is not None and high is not None:
        return f", {_format_number(low)} to {_format_number(high)}"
    return f" ≥ {_format_number(low)}" if low is not None else ""


def _format_number(value: float) -> str:
    powers = {2**63 - 1: "2⁶³ − 1", 2**31 - 1: "2³¹ − 1"}
    return powers.get(int(value), f"{value:g}").replace("-", "−", 1)


def _meaning(field: Schema) -> str:
    """Return the field's description, or the first description among its alternatives; empty without one."""
    return _plain(
        field.get("description") or next((o["description"] for o in _list_alternatives(field) if "description" in o), "")
    )


def _plain(text: str) -> str:
    """Return text for a table cell; a cited page becomes a link."""

    def link(found: re.Match[str]) -> str:
        page, heading = found.groups()
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        return f"[{heading}](../{page}.md#{anchor})"

    text = re.sub(r'docs/([\w/-]+)\.md, "([^"]+)"', link, text)
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


_TYPES: dict[str, type[BaseModel]] = {
    "state": ApplicationState,
    "assignment": TaskAssignment,
    "recording": Recording,
    "scenario": Scenario,
}
Which = Literal["state", "assignment", "recording", "scenario"]
_PAGES: tuple[tuple[str, Which, str | None], ...] = (
    ("options", "state", "Options"),
    ("assignment", "assignment", None),
    ("state", "state", None),
    ("recording", "recording", None),
    ("scenario", "scenario", None),
)
"""Page, its schema, and the definition in the schema that the page shows; None: the whole schema."""
_MARK = "<!-- tables -->"


def json_schema(which: Which) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a snapshot, an answer, a recording or a scenario.

    It cannot express some checks: ids are unique, a client lists a task once, a subtopology is of one kind, 2.0 is no integer.
    KeyError for any other name.
    """
    schema = _TYPES[which].model_json_schema()
    schema["$defs"].pop("JsonValue", None)  # x_ fields accept any value
    for node in (schema, *schema["$defs"].values()):
        if "properties" in node:
            _add_rules_of_frozen(node)
    if "format" in schema["properties"] and "format" not in schema["required"]:
        schema["required"].insert(0, "format")  # optional in Python, required in JSON
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _add_rules_of_frozen(node: dict[str, Any]) -> None:
    """Add the rules of `Frozen` in place: null means default; x_ fields are kept, other unknown fields refused."""
    node["additionalProperties"] = False
    node["patternProperties"] = {"^x_": {}}
    for name, field in node["properties"].items():
        field.pop("title", None)  # pydantic's repeats the name
        if name not in node.get("required", ()) and {"type": "null"} not in field.get("anyOf", ()):
            about = {key: field.pop(key) for key in ("default", "description") if key in field}
            options = field.pop("anyOf") if set(field) == {"anyOf"} else [field]
            node["properties"][name] = {"anyOf": [*options, {"type": "null"}], **about}


def text(which: Which) -> str:
    """Return the schema as written to a file."""
    return json.dumps(json_schema(which), indent=1, ensure_ascii=False) + "\n"


def tables() -> dict[str, str]:
    """Return page → its tables. An object is on the first page that includes it; other pages link to it."""
    found: dict[str, str] = {}
    homes: dict[str, str] = {}
    for page, which, root in _PAGES:
        objects = list_objects(json_schema(which), root)
        found[page] = make_tables(objects, homes)
        homes |= {name: f"{page}.md" for name in objects if name not in homes}
    return found


def add_tables(page: str, made: str) -> str:
    """Return the page with its tables replaced. ValueError if it has no mark for them."""
    head, mark, _ = page.partition(_MARK)
    if not mark:
        raise ValueError(f"found no line {_MARK!r}; allowed: a page that has it where its tables begin")
    return f"{head}{mark}\n\n{made}"


def write(folder: Path) -> None:
    """Write a file for each format, and renew the tables of existing pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for which in get_args(Which):
        (folder / f"{which}.json").write_text(text(which), encoding="utf-8")
    for name, made in tables().items():
        page = folder / f"{name}.md"
        if page.exists():
            page.write_text(add_tables(page.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
