"""JSON Schemas of the formats, made from the types. `python -m optassign.schema FOLDER` writes them there."""

import json
import sys
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.recordings.recording import Recording

_TYPES: dict[str, type[BaseModel]] = {
    "state": ApplicationState,
    "assignment": TaskAssignment,
    "recording": Recording,
}
Which = Literal["state", "assignment", "recording"]


def json_schema(which: Which) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a snapshot, an answer or a recording.

    What it cannot say, and reading checks all the same: ids are unique, a client does not list a task twice, a
    subtopology is of one kind, 2.0 is no integer. KeyError for any other name.
    """
    schema = _TYPES[which].model_json_schema()
    schema["$defs"].pop("JsonValue")  # of x_ fields: anything
    for node in (schema, *schema["$defs"].values()):
        if "properties" in node:
            _as_it_is_read(node)
    if "format" not in schema["required"]:
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


def write(folder: Path) -> None:
    """Write one file for each format."""
    folder.mkdir(parents=True, exist_ok=True)
    for which in get_args(Which):
        (folder / f"{which}.json").write_text(text(which), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
