"""The part of /openapi.json on the pages under /v1/applications."""

from typing import Any

from optassign.service.http.request_headers import PROTOCOL

__all__ = ["DRAIN", "LIST", "SCHEMAS", "SHOW", "SWITCH_OFF", "SWITCH_ON", "UNDRAIN"]

_REF = "#/components/schemas/"
_TEXT: dict[str, Any] = {"type": "string"}
_ERRORS = {
    400: "A header, a name or the body is wrong",
    401: "The token is missing or wrong",
    403: "The token is not for this application, or may not operate",
    404: "No such drain, or no such client in the last rebalance",
    409: "Several clients have this name",
    408: "The body did not arrive in time",
    413: "Too many applications and drains, or the body is too long",
    503: "Shutting down, or the request cannot be saved",
}
_ASKED = {
    "type": ["object", "null"],
    "required": ["by", "at"],
    "properties": {"by": {**_TEXT, "description": "who asked"}, "at": {**_TEXT, "description": "when, ISO 8601 in UTC"}},
}
_DRAIN_STATES = ["waiting", "draining", "may_stop", "stays", "absent", "ambiguous"]
_NEXT = ("last_rebalance", "next_rebalance", "waits_for")
SCHEMAS: dict[str, Any] = {
    "ApplicationHolds": {
        "title": "ApplicationHolds",
        "type": "object",
        "required": ["application", "paused", "quiet", "forget_plan", "drains", "limits", "kept", *_NEXT],
        "properties": {
            "application": _TEXT,
            "paused": _ASKED,
            "quiet": {
                "type": ["object", "null"],
                "required": ["hours", "time_zone", "now", "ends_at"],
                "properties": {
                    "hours": {"type": "array", "items": _TEXT},
                    "time_zone": _TEXT,
                    "now": {"type": "boolean"},
                    "ends_at": {"type": ["string", "null"]},
                },
            },
            "forget_plan": _ASKED,
            "drains": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["client", "by", "at", "state"],
                    "properties": {
                        "client": _TEXT,
                        "by": _TEXT,
                        "at": _TEXT,
                        "state": {"type": "string", "enum": _DRAIN_STATES, "description": "as of the last answer"},
                    },
                },
            },
            "limits": {"type": "array", "items": {"$ref": _REF + "Limit"}},
            "kept": {"type": "boolean", "description": "across a restart of the service: there is a folder of recordings"},
            "last_rebalance": {"type": ["string", "null"], "description": "null: none is known"},
            "next_rebalance": {"type": ["string", "null"], "description": "when the follow-up is due; null: none is asked for"},
            "waits_for": {"type": "string", "description": "what the follow-up is for; empty: there is none"},
        },
    },
    "AllHolds": {
        "title": "AllHolds",
        "type": "object",
        "required": ["applications"],
        "properties": {"applications": {"type": "array", "items": {"$ref": _REF + "ApplicationHolds"}}},
    },
    "Operator": {
        "title": "Operator",
        "type": "object",
        "properties": {"by": {"type": "string", "minLength": 1, "maxLength": 100, "description": "who asks, for log and list"}},
    },
}


def _describe(summary: str, name: str, *errors: int) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": _REF + name}}}
    refused = {"application/json": {"schema": {"$ref": _REF + "Error"}}}
    found: dict[int | str, Any] = {200: {"description": "What is in force now", "content": content}}
    found |= {status: {"description": _ERRORS[status], "content": refused} for status in (401, *errors)}
    return {"summary": summary, "description": "See docs/how-to/pause-and-drain.md.", "responses": found}


def _describe_change(summary: str, *errors: int) -> dict[str, Any]:
    header = {
        "name": "Optassign-Protocol",
        "in": "header",
        "required": True,
        "schema": {"type": "string", "enum": [PROTOCOL]},
        "description": "so that no page in a browser can ask by itself",
    }
    body = {"required": False, "content": {"application/json": {"schema": {"$ref": _REF + "Operator"}}}}
    described = _describe(summary, "ApplicationHolds", 400, 403, 408, 413, 503, *errors)
    return {**described, "openapi_extra": {"parameters": [header], "requestBody": body}}


LIST = _describe("What is in force for every application that the token is for", "AllHolds", 503)
SHOW = _describe("What is in force for an application", "ApplicationHolds", 403, 503)
DRAIN = _describe_change("Drain a client, from the next rebalance on", 404, 409)
DRAIN["openapi_extra"]["parameters"].append(
    {
        "name": "wait",
        "in": "query",
        "required": False,
        "schema": {"type": "number", "minimum": 0, "maximum": 3600},
        "description": "seconds to wait until the client may stop",
    }
)
DRAIN["responses"][202] = {**DRAIN["responses"][200], "description": "It may not stop yet: the time of `wait` is over"}
UNDRAIN = _describe_change("Cancel a drain", 404)
SWITCH_ON = {
    "pause": _describe_change("Pause: only the tasks move that R1 to R5 force to"),
    "forget-plan": _describe_change("Replan: the next rebalance makes a new target assignment"),
}
SWITCH_OFF = {
    "pause": _describe_change("Resume"),
    "forget-plan": _describe_change("Cancel the request: keep the target assignment"),
}
