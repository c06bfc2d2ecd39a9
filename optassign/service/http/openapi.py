"""The parts of /openapi.json that FastAPI does not see: bodies are streams, which the pages read within their limits."""

from typing import Annotated, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.service.views.progress import ProgressReport

__all__ = ["REFUSALS", "AppliedReport", "NextProgress", "Operator", "describe_body", "describe_pages"]

LONGEST_BY = 100
"""Most characters of an operator's name, which is shown in one line."""

_REF = "#/components/schemas/{model}"
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


class Error(BaseModel):
    """The reason for a refusal."""

    error: str
    where: str | None = None
    found: str | None = None
    allowed: str | None = None


class AppliedReport(BaseModel):
    """An assignment that was applied in place of the service's answer."""

    application: str | None = None
    why: str = ""
    applied: TaskAssignment
    snapshot: ApplicationState


class NextProgress(BaseModel):
    """The reply to a report on progress."""

    next_ms: int
    """Milliseconds until the instance's next report."""


class Operator(BaseModel):
    """The name of the operator, for log and lists."""

    by: Annotated[str, Field(min_length=1, max_length=LONGEST_BY)] | None = None


_BODIES: tuple[type[BaseModel], ...] = (ApplicationState, AppliedReport, Operator, ProgressReport)
REFUSALS: dict[int | str, dict[str, Any]] = {
    "default": {"model": Error, "description": "The reason for the refusal; docs/reference/http.md lists the statuses"}
}
"""The `responses` of all pages, for FastAPI."""


def describe_body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """Return the description of a page's body, for `openapi_extra` of FastAPI. ValueError for a model that /openapi.json
    lacks."""
    if model not in _BODIES:
        raise ValueError(f"found {model.__name__}; allowed: one of {', '.join(each.__name__ for each in _BODIES)}")
    content: dict[str, Any] = {"schema": {"$ref": _REF.format(model=model.__name__)}}
    if model is ApplicationState:
        content["example"] = _SNAPSHOT
    return {"requestBody": {"required": required, "content": {"application/json": content}}}


def describe_pages(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's description of all pages with the types of bodies; computed once."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            separate_input_output_schemas=app.separate_input_output_schemas,
        )
        _, bodies = models_json_schema([(model, "validation") for model in _BODIES], ref_template=_REF)
        found["components"]["schemas"] |= bodies["$defs"]
        app.openapi_schema = found
    return app.openapi_schema
