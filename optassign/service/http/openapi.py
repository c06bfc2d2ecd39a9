"""What /openapi.json says: FastAPI knows the pages; bodies and headers, which our own code reads, are described here."""

import json
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.schema import json_schema
from optassign.service.http.holding_openapi import SCHEMAS
from optassign.service.http.request_headers import LONGEST_DEADLINE_MS, PROTOCOL

__all__ = ["APPLIED", "ASSIGN", "COMPARE", "HEALTHZ", "METRICS", "READYZ", "describe_pages"]

_SNAPSHOT: dict[str, Any] = {
    "format": 1,
    "application": "orders",
    "configs": {"num_standby_replicas": 0},
    "tasks": [{"id": "0_0", "stateful": True}, {"id": "0_1", "stateful": True}],
    "clients": [
        {"process_id": "a", "threads": 1, "previous_active": ["0_0", "0_1"], "lags": {"0_0": -2, "0_1": -2}},
        {"process_id": "b", "threads": 1, "previous_standby": ["0_1"], "lags": {"0_1": 12}},
    ],
}
_ANSWER = TaskAssignment(
    assignor="cp-sat",
    clients=(
        KafkaStreamsAssignment(process_id="a", active=("0_0",)),
        KafkaStreamsAssignment(process_id="b", active=("0_1",)),
    ),
)
_REPORT = {
    "application": "orders",
    "why": "no answer within 2000 ms",
    "applied": json.loads(_ANSWER.model_dump_json()),
    "snapshot": _SNAPSHOT,
}
_ERROR = {"error": "the request cannot be read", "where": "tasks[0].id", "found": "7", "allowed": "a string"}
_ERRORS = {
    400: "A header or the body is wrong",
    401: "The token is missing or wrong",
    403: "The token is not for this application, or not for all",
    408: "The body did not arrive before the deadline",
    413: "Body, tasks × clients or names over the limit",
    415: "Neither JSON nor a known encoding",
    500: "A bug: nobody has an answer",
    503: "Shutting down, or too busy; `Retry-After` says when to come again",
}
_REF = "#/components/schemas/"
_JSON = "application/json"
_ABOUT = "Kafka Streams task assignment as an optimisation problem: the service behind the plug-in."


def _describe_content(name: str, example: Any) -> dict[str, Any]:
    return {_JSON: {"schema": {"$ref": _REF + name}, "example": example}}


def _describe_error(about: str) -> dict[str, Any]:
    return {"description": about, "content": _describe_content("Error", _ERROR)}


def _describe_header(name: str, schema: dict[str, Any], about: str, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": required, "schema": schema, "description": about}


_MODE = {"type": "string", "enum": ["active", "shadow"], "default": "active"}
_MILLISECONDS = {"type": "integer", "minimum": 1, "maximum": LONGEST_DEADLINE_MS}
_ENCODING = _describe_header("Content-Encoding", {"type": "string", "enum": ["identity", "gzip"]}, "of the body")
_BODY = {"required": True, "content": _describe_content("ApplicationState", _SNAPSHOT)}
_REFUSALS: dict[int | str, dict[str, Any]] = {status: _describe_error(about) for status, about in _ERRORS.items()}

_ALL_REFUSALS = {str(status): refusal for status, refusal in _REFUSALS.items()} | {
    "404": _describe_error("No such application, client, rebalance or page")
}
_OF_APPLICATIONS = ("/v1/history", "/v1/applications")
"""Pages about applications that may not exist."""

_REQUEST_HEADERS = [
    _describe_header("Optassign-Protocol", {"type": "string", "enum": [PROTOCOL]}, "what the plug-in speaks", required=True),
    _describe_header("Optassign-Deadline-Ms", _MILLISECONDS, "until the answer is of no use any more"),
    _describe_header("Optassign-Mode", _MODE, "shadow: not to be remembered"),
    _describe_header("Optassign-Remembered-At", {"type": "integer"}, "when `remembered` was decided, ms since 1970"),
    _describe_header("Optassign-Plugin", {"type": "string"}, "version of the plug-in"),
    _ENCODING,
]
_REBALANCE = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}
ASSIGN: dict[str, Any] = {
    "summary": "Answer one rebalance",
    "description": "See docs/reference/http.md.",
    "responses": {
        200: {
            "description": "The assignment",
            "content": _describe_content("TaskAssignment", json.loads(_ANSWER.model_dump_json())),
            "headers": {
                "Optassign-Answered-At": {
                    "schema": {"type": "integer"},
                    "description": "to be sent back as Optassign-Remembered-At",
                }
            },
        },
        **_REFUSALS,
    },
    "openapi_extra": {
        "requestBody": _BODY,
        "parameters": [
            *_REQUEST_HEADERS,
            _describe_header("Optassign-Rebalance", _REBALANCE, "the plug-in's id of the rebalance, for a report to come"),
        ],
    },
}
_OBJECT = {"content": {_JSON: {"schema": {"type": "object"}}}}
APPLIED: dict[str, Any] = {
    "summary": "Tell what was applied in place of the service's answer",
    "description": "See docs/reference/http.md. One at a time.",
    "responses": {200: {"description": "Both answers in a few numbers", **_OBJECT}, **_REFUSALS},
    "openapi_extra": {
        "requestBody": {"required": True, "content": _describe_content("AppliedReport", _REPORT)},
        "parameters": [
            *_REQUEST_HEADERS,
            _describe_header("Optassign-Rebalance", _REBALANCE, "the plug-in's id of the rebalance", required=True),
            _describe_header("Optassign-Applied-At", {"type": "integer"}, "when it was decided, ms since 1970", required=True),
            _describe_header("Optassign-Age-Ms", {"type": "integer"}, "since Kafka took it; default: 0"),
        ],
    },
}
COMPARE: dict[str, Any] = {
    "summary": "The same rebalance under several assignors, side by side",
    "description": "What `optassign compare --format json` prints. One at a time.",
    "responses": {200: {"description": "The comparison", **_OBJECT}, **_REFUSALS},
    "openapi_extra": {
        "requestBody": _BODY,
        "parameters": [
            {
                "name": "assignors",
                "in": "query",
                "schema": {"type": "string"},
                "description": "names, separated by commas; default: all that need no JDK",
            },
            _describe_header("Optassign-Deadline-Ms", _MILLISECONDS, "of solving, for each assignor; default: 10 s"),
            _ENCODING,
        ],
    },
}
HEALTHZ: dict[str, Any] = {"summary": "Whether the process is alive"}
READYZ: dict[str, Any] = {
    "summary": "Whether workers are warm and the service is not shutting down",
    "responses": {200: {"description": "Ready"}, 503: _describe_error("Not ready")},
}
METRICS: dict[str, Any] = {
    "summary": "Metrics for Prometheus",
    "responses": {200: {"description": "Prometheus text format", "content": {"text/plain": {"schema": {"type": "string"}}}}},
}


def describe_pages(app: FastAPI) -> dict[str, Any]:
    """The description of all pages, made when it is first asked for."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, routes=app.routes, description=_ABOUT)
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        for which in ("state", "assignment"):
            schemas.update(_list_schemas(which))
        text = {"type": "string"}
        schemas["Error"] = {
            "title": "Error",
            "type": "object",
            "required": ["error"],
            "properties": {"error": text, "where": text, "found": text, "allowed": text},
        }
        schemas["AppliedReport"] = {
            "title": "AppliedReport",
            "type": "object",
            "required": ["applied", "snapshot"],
            "properties": {
                "application": text,
                "why": text,
                "applied": {"$ref": _REF + "TaskAssignment"},
                "snapshot": {"$ref": _REF + "ApplicationState"},
            },
        }
        schemas.update(SCHEMAS)
        for path, operations in found["paths"].items():
            if path.startswith(_OF_APPLICATIONS):
                for operation in operations.values():
                    operation["responses"] = {**_ALL_REFUSALS, **operation["responses"]}
        app.openapi_schema = found
    return app.openapi_schema


def _list_schemas(which: Literal["state", "assignment"]) -> dict[str, Any]:
    """The types of a format by name. Over HTTP unknown fields are ignored, so they are not forbidden here."""
    schema = json_schema(which)
    del schema["$schema"]
    found = {**schema.pop("$defs"), schema["title"]: schema}
    return {name: _move_references(node) for name, node in found.items()}


def _move_references(node: Any) -> Any:
    """A part of a JSON schema as OpenAPI wants it: with other references, and open to unknown fields."""
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if not (key == "additionalProperties" and value is False)}
        return {
            key: _REF + value.rpartition("/")[2] if key == "$ref" else _move_references(value)
            for key, value in kept.items()
            if key != "patternProperties"
        }
    return [_move_references(value) for value in node] if isinstance(node, list) else node
