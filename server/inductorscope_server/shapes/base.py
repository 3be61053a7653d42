"""What all shapes share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

SafeInt = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A count that JavaScript holds exactly."""


class Shape(BaseModel):
    """A part of an answer; built from any object with attributes of the same names."""

    model_config = ConfigDict(from_attributes=True, frozen=True, extra="ignore")


class Sent(BaseModel):
    """A part of a request; unknown fields and wrong types are mistakes worth telling."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


Moment = Annotated[datetime, AfterValidator(_utc)]
"""A time with its zone; SQLite forgets it, and we store UTC only."""

Level = Literal["good", "note", "warn", "bad"]

Line = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f]*$")]
"""A line of text a person typed: no control characters, which databases refuse."""

JsonObject = dict[str, Any]


class Verdict(Shape):
    """One finding in plain words."""

    level: Level
    label: str
    """One word or two for a chip."""
    text: str
    """The sentence."""


class RunName(Shape):
    """Enough of a run to name it and link to it."""

    id: str
    name: str


class GraphName(Shape):
    """Enough of a graph to name it and link to it."""

    slug: str
    name: str
    direction: str


class Coverage(Shape):
    """How much of what computes is explained: lines of kernels, and nodes of the FX graph."""

    lines: int = 0
    lines_exact: int = 0
    lines_inferred: int = 0
    lines_kernel: int = 0
    nodes: int = 0
    nodes_exact: int = 0
    nodes_inferred: int = 0
    nodes_kernel: int = 0


class ErrorBody(BaseModel):
    """What went wrong, for a person."""

    what: str = Field(description="What happened, as a sentence.")
    limit: str | None = Field(None, description="The setting that set the limit, if one did.")
    do: str | None = Field(None, description="What to do about it.")
    where: str | None = Field(None, description="Which part of the request it is about.")


class ErrorAnswer(BaseModel):
    """Every error of the API has this shape."""

    error: ErrorBody
