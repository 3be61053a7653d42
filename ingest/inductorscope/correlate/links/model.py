"""The model of links: the entities that each line of each stage refers to.

Entities are strings, `kind:name`, unique within one graph:

    fx:add_3            a node of the post-grad FX graph
    rd:add_3            a node of the graph Inductor received (`readable`) that is no post-grad node
    op:op7.load_2       an `ops.*` call in a loop body of the scheduler node op7
    buf:buf3            a buffer
    call:NAME:3         one call of a kernel in the wrapper
    kernel:NAME         a kernel's definition
    src:PATH:26         a line of the user's source

Each reference has a certainty.
"""

from enum import IntEnum

import msgspec

ENGINE = "29"
"""Version of the link engine; links stored under another version are recomputed."""
CALLS = f"{ENGINE}-calls"
"""Version of links from texts and Inductor's maps only: lines of kernels are not yet aligned with
operations and nodes, nor Dynamo's nodes with post-grad nodes."""


class Confidence(IntEnum):
    """How a reference is known. Higher means more certain."""

    kernel = 1
    """Only the kernel is known, from provenance or comments; not the line."""
    inferred = 2
    """Aligned by operation and data flow."""
    exact = 3
    """Recorded while the code was generated, or written in the text itself."""


class StageLinks(msgspec.Struct, gc=False):
    """References of one stage's text, as parallel columns sorted by line."""

    lines: list[int]
    entities: list[int]
    """Indices into `GraphLinks.entities`."""
    confidence: list[int]
    """1 kernel, 2 inferred, 3 exact."""
    call: list[int]
    """Index of the `call:` entity that the reference is valid for, or -1 for every call."""
    digest: str = ""
    """Digest of the text whose lines these are: no other text of the stage has these references;
    empty for a source."""


class Coverage(msgspec.Struct):
    """How many computing lines of kernels, and nodes of the FX graph, are explained."""

    lines: int = 0
    lines_exact: int = 0
    lines_inferred: int = 0
    lines_kernel: int = 0
    nodes: int = 0
    nodes_exact: int = 0
    nodes_inferred: int = 0
    nodes_kernel: int = 0


class GraphLinks(msgspec.Struct):
    """All references of one graph. Stage keys are stage ids; sources are `source:PATH`;
    kernels and wrapper share the stage `code`, whose lines are those of `output_code.py`."""

    entities: list[str] = msgspec.field(default_factory=list)
    stages: dict[str, StageLinks] = msgspec.field(default_factory=dict)
    coverage: Coverage = msgspec.field(default_factory=Coverage)
    notes: list[str] = msgspec.field(default_factory=list)
    """What could not be linked, and why, as sentences."""
    engine: str = ENGINE
