"""Path and query parameters that addresses share."""

from typing import Annotated

from fastapi import Path, Query, params
from pydantic import BeforeValidator, Field, StringConstraints

LARGEST = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""
PLAIN = r"^[^\x00-\x1f]*$"
"""Matches text without control characters, which databases refuse."""


def _whole(value: object) -> object:
    """Accepts 2.0, because JSON does not distinguish integers from other numbers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
SafeInt = Annotated[Whole, Field(ge=0, le=LARGEST)]
Line = Annotated[str, StringConstraints(max_length=200, pattern=PLAIN)]
"""A line of text that a user typed."""


def text(description: str, most: int) -> params.Query:
    """Returns the query parameter of a text without control characters, of so many characters at
    most."""
    asked: params.Query = Query(description=description, max_length=most, pattern=PLAIN)
    return asked


First = Annotated[int, Query(description="Number of rows to skip.", ge=0, le=LARGEST)]

RunId = Annotated[
    str,
    Path(
        description="The run's id: the first 16 hex digits of its content's digest.",
        pattern="^[0-9a-f]{16}$",
        examples=["3f9a2c0b1d4e5f60"],
    ),
]
Slug = Annotated[
    str,
    Path(
        description="The graph's name in addresses.",
        min_length=1,
        max_length=255,
        examples=["model__0_forward_1.0"],
    ),
]
KernelKey = Annotated[
    str,
    Path(
        description="Name of a kernel, a colon, and the handle of one of its calls.",
        pattern="^[^/]+:[0-9]{1,9}$",
        max_length=2000,
        examples=["triton_poi_fused_add_0:1"],
    ),
]
Permalink = Annotated[
    str,
    Path(description="Derived from the code, the kernel and the call.", pattern="^[a-z2-7]{12}$"),
]
ArtifactId = Annotated[int, Path(description="Number of a stored file.", ge=1, le=LARGEST)]
JobId = Annotated[
    str, Path(description="The job's id.", min_length=1, max_length=40, pattern="^[0-9A-Za-z_-]+$")
]
UploadId = Annotated[
    str, Path(description="The upload's id.", min_length=1, max_length=32, pattern="^[0-9A-Za-z]+$")
]
FileIndex = Annotated[int, Path(description="Number of the file in the upload.", ge=0, le=LARGEST)]
Cursor = Annotated[str | None, text("`next_cursor` of the previous page.", 2000)]
