"""The answers of the pages under /v1/applications, as types by which FastAPI writes and describes them."""

from pydantic import BaseModel, Field

from optassign.formats.configs import Limit
from optassign.service.holding.held import DrainState

__all__ = ["AllHolds", "ApplicationHolds"]


class _Asked(BaseModel):
    """The author of a request, and its time, ISO 8601 in UTC."""

    by: str
    at: str


class _Drain(_Asked):
    """An instance that drains."""

    client: str
    state: DrainState = Field(description="as of the last answer")


class _QuietHours(BaseModel):
    """Hours in which nothing moves."""

    hours: list[str]
    time_zone: str
    now: bool
    ends_at: str | None


class ApplicationHolds(BaseModel):
    """The requests in force for an application."""

    application: str
    paused: _Asked | None
    quiet: _QuietHours | None
    forget_plan: _Asked | None
    drains: list[_Drain]
    limits: list[Limit]
    kept: bool = Field(description="across a restart of the service: there is a folder of recordings")
    last_rebalance: str | None = Field(description="null: none is known")
    next_rebalance: str | None = Field(description="when the follow-up is due; null: none is asked for")
    waits_for: str = Field(description="the reason for the follow-up; empty: there is none")


class AllHolds(BaseModel):
    """The requests in force for every application that the token is for."""

    applications: list[ApplicationHolds]
