"""JSON Schemas of the formats, made from the types. `python -m optassign.schema FOLDER` writes them there.

Pages in the folder get the schemas' objects as tables, below the line `<!-- tables -->`.
"""

import json
import sys
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.recordings.recording import Recording
from optassign.schema_tables import list_objects, make_tables
from optassign.simulation.timed.scenario import Scenario

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
"""Page, the schema that it is about, and which of its definitions if not all."""
_MARK = "<!-- tables -->"


def json_schema(which: Which) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a snapshot, an answer, a recording or a scenario.

    Some checks of reading are beyond it: ids are unique, a client does not list a task twice, a subtopology is of one kind, 2.0
    is no integer. KeyError for any other name.
    """
    schema = _TYPES[which].model_json_schema()
    schema["$defs"].pop("JsonValue", None)  # of x_ fields: anything
    for node in (schema, *schema["$defs"].values()):
        if "properties" in node:
            _as_it_is_read(node)
    if "format" in schema["properties"] and "format" not in schema["required"]:
        schema["required"].insert(0, "format")  # may be left out in Python, not in JSON
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _as_it_is_read(node: dict[str, Any]) -> None:
    """Say what `Frozen` does for all types: null means default; x_ fields are kept, other unknown ones refused."""
    node["additionalProperties"] = False
    node["patternProperties"] = {"^x_": {}}
    for name, field in node["properties"].items():
        field.pop("title", None)  # pydantic's repeats the name
        if name not in node.get("required", ()) and {"type": "null"} not in field.get("anyOf", ()):
            about = {key: field.pop(key) for key in ("default", "description") if key in field}
            options = field.pop("anyOf") if set(field) == {"anyOf"} else [field]
            node["properties"][name] = {"anyOf": [*options, {"type": "null"}], **about}


def text(which: Which) -> str:
    """The schema as it is written to a file."""
    return json.dumps(json_schema(which), indent=1, ensure_ascii=False) + "\n"


def tables() -> dict[str, str]:
    """Name of a page -> the tables on it. An object is on the first page that it is part of; the others link to it."""
    found: dict[str, str] = {}
    homes: dict[str, str] = {}
    for page, which, root in _PAGES:
        objects = list_objects(json_schema(which), root)
        found[page] = make_tables(objects, homes)
        homes |= {name: f"{page}.md" for name in objects if name not in homes}
    return found


def add_tables(page: str, made: str) -> str:
    """Replace the tables in the text of a page. ValueError if it has no line for them."""
    head, mark, _ = page.partition(_MARK)
    if not mark:
        raise ValueError(f"found no line {_MARK!r}; allowed: a page that has it where its tables begin")
    return f"{head}{mark}\n\n{made}"


def write(folder: Path) -> None:
    """Write one file for each format, and renew the tables of those pages that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for which in get_args(Which):
        (folder / f"{which}.json").write_text(text(which), encoding="utf-8")
    for name, made in tables().items():
        page = folder / f"{name}.md"
        if page.exists():
            page.write_text(add_tables(page.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
