"""The objects of a JSON Schema as Markdown tables: fields with type, default and meaning, for the pages of docs/schema."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["list_objects", "make_tables"]

Schema = dict[str, Any]


def list_objects(schema: Schema, root: str | None = None) -> dict[str, Schema]:
    """Name -> node of the objects of the schema, or of the definition in it that `root` names: the whole before its parts."""
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
    """A heading and a table for each object. `elsewhere`: object -> the page that has it, so that it is only linked to."""
    parts = []
    for heading, node in objects.items():
        if heading not in elsewhere:
            parts.append(f"## {heading}\n\n{_plain(node.get('description', ''))}\n\n{_table(node)}\n")
    page = "\n".join(parts)
    return re.sub(r"\]\(#(\w+):(\w+)\)", lambda found: f"]({elsewhere.get(found[1], '')}#{found[2]})", page)


def _table(node: Schema) -> str:
    rows = ["| field | type | default | |", "|---|---|---|---|"]
    for name, field in node["properties"].items():
        default = "required" if name in node.get("required", ()) else _default(field.get("default"))
        rows.append(f"| `{name}` | {_type(field)} | {default} | {_meaning(field)} |")
    return "\n".join(rows)


def _default(value: Any) -> str:
    if value is None or value in ({}, []):
        return "" if value is None else "empty"
    return "its fields' defaults" if isinstance(value, dict) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _options(field: Schema) -> list[Schema]:
    return [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]


def _type(field: Schema) -> str:
    return " or ".join(dict.fromkeys(_type_of_one(option) for option in _options(field)))


def _type_of_one(node: Schema) -> str:
    if "anyOf" in node:
        return _type(node)
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return f"[{name}](#{name}:{name.lower()})" if name != "JsonValue" else "anything"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    if node.get("type") == "array":
        return f"list of {_type(node['items'])}" if "items" in node else "list"
    if node.get("type") == "object":
        inner = node.get("additionalProperties")
        return f"name → {_type(inner)}" if isinstance(inner, dict) else "object"
    return f"{node.get('type', 'anything')}{_limits(node)}"


def _limits(node: Schema) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if node.get("exclusiveMinimum") is not None:
        return f" > {node['exclusiveMinimum']}" + (f", ≤ {_number(high)}" if high is not None else "")
    if low is not None and high is not None:
        return f", {_number(low)} to {_number(high)}"
    return f" ≥ {_number(low)}" if low is not None else ""


def _number(value: float) -> str:
    powers = {2**63 - 1: "2⁶³ − 1", 2**31 - 1: "2³¹ − 1"}
    return powers.get(int(value), f"{value:g}").replace("-", "−", 1)


def _meaning(field: Schema) -> str:
    """The field's own description, or that of what it lists."""
    return _plain(field.get("description") or next((o["description"] for o in _options(field) if "description" in o), ""))


def _plain(text: str) -> str:
    """Text for a cell of a table; a cited page becomes a link."""

    def link(found: re.Match[str]) -> str:
        page, heading = found.groups()
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        return f"[{heading}](../{page}.md#{anchor})"

    text = re.sub(r'docs/([\w/-]+)\.md, "([^"]+)"', link, text)
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
