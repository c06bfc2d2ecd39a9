"""The headers of requests, as types that FastAPI reads, checks and describes (docs/reference/http.md)."""

from typing import Annotated, Literal

from fastapi import Header
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from optassign.formats.base import INT64_MAX
from optassign.recordings.recording import BROKER_AGENT
from optassign_models.policy.constants import LONGEST_AGE_MS, LONGEST_TIMEOUT_MS, LONGEST_VERSION

__all__ = ["PROTOCOL", "BodyHead", "ProgressHead", "ReportHead", "RequestHead", "RequiresProtocol"]

PROTOCOL: Literal["1"] = "1"

_Milliseconds = Annotated[int, Field(ge=0, le=INT64_MAX)]
_Rebalance = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9._-]{1,64}$")]
_ID = "the id of the rebalance: 1 to 64 letters, digits and ._-"
_UTF_8 = ("", "charset=utf-8", 'charset="utf-8"')
"""Parameters of a content type that change nothing about JSON."""
RequiresProtocol = Annotated[
    Literal["1"], Header(alias="Optassign-Protocol", description="another site's page in a browser cannot send it")
]
"""The parameter of pages that change something, so that another site's page in a browser cannot ask for them."""


def _simplify(text: str) -> str:
    """Return the value of a header in lower case, without parameters that change nothing."""
    kind, *parameters = [part.strip().lower() for part in text.split(";")]
    return kind if all(each in _UTF_8 for each in parameters) else text


class BodyHead(BaseModel):
    """The headers of a request with a snapshot."""

    model_config = ConfigDict(frozen=True)

    content_type: Annotated[Literal["application/json"], BeforeValidator(_simplify)] = Field(alias="Content-Type")
    content_encoding: Annotated[Literal["identity", "gzip"], BeforeValidator(_simplify)] = Field(
        default="identity", alias="Content-Encoding"
    )
    deadline_ms: int | None = Field(
        default=None,
        alias="Optassign-Deadline-Ms",
        ge=1,
        le=LONGEST_TIMEOUT_MS,
        description="milliseconds until the answer is of no use any more",
    )

    @property
    def is_gzip(self) -> bool:
        """Whether the body is compressed."""
        return self.content_encoding == "gzip"

    def find_deadline(self, default: float) -> float:
        """Return the seconds from the arrival of the request until its deadline."""
        return default if self.deadline_ms is None else self.deadline_ms / 1000


class ProgressHead(BodyHead):
    """An instance's headers next to a report on progress."""

    protocol: Literal["1"] = Field(alias="Optassign-Protocol", description="the protocol's version")


class RequestHead(BodyHead):
    """A plug-in's headers next to a snapshot."""

    protocol: Literal["1"] = Field(alias="Optassign-Protocol", description="the protocol's version")
    mode: Literal["active", "shadow"] = Field(default="active", alias="Optassign-Mode", description="shadow: not remembered")
    remembered_at: _Milliseconds | None = Field(
        default=None, alias="Optassign-Remembered-At", description="when `remembered` was decided, ms since 1970"
    )
    version: str | None = Field(default=None, alias="Optassign-Plugin", description="version of the plug-in")
    agent: str = Field(default="", alias="User-Agent")
    rebalance: _Rebalance | None = Field(default=None, alias="Optassign-Rebalance", description=_ID)

    @property
    def is_brokers(self) -> bool:
        """Whether the assignor in a broker asks."""
        return self.agent.startswith(BROKER_AGENT)

    @property
    def plugin(self) -> str | None:
        """The version of the plug-in; of the brokers' assignor with its name before it."""
        version = self.agent if self.is_brokers else self.version
        return None if version is None else version[:LONGEST_VERSION]

    @property
    def runs_followups(self) -> bool:
        """Whether the answer is applied to a group that rebalances when its follow-up is due."""
        return self.mode == "active" and not self.is_brokers


class ReportHead(RequestHead):
    """A plug-in's headers next to a report; the deadline is the one that the service's answer would have had."""

    rebalance: _Rebalance = Field(alias="Optassign-Rebalance", description=_ID)
    applied_at: _Milliseconds = Field(alias="Optassign-Applied-At", description="when it was decided, ms since 1970")
    age_ms: int = Field(default=0, alias="Optassign-Age-Ms", ge=0, le=LONGEST_AGE_MS, description="ms since Kafka applied it")
