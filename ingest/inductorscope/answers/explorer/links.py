"""The links of a graph as the explorer reads them; they are stored packed in this form."""

from __future__ import annotations

import msgspec


class StageLinks(msgspec.Struct, frozen=True):
    """References of one stage as parallel columns sorted by line."""

    lines: list[int]
    entities: list[int]
    """Indices into `entities`."""
    confidence: list[int]
    """1 kernel, 2 inferred, 3 exact."""
    call: list[int]
    """Index of the `call:` entity that the reference is valid for, or -1 for every call."""
    digest: str = ""
    """Digest of the text whose lines these are: no other text of the stage has these references."""


class Links(msgspec.Struct, frozen=True):
    """All references of one graph."""

    engine: str
    entities: list[str]
    stages: dict[str, StageLinks]


NO_LINKS = Links(engine="", entities=[], stages={})
