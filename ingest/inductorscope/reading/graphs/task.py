"""What is given to the process that reads a graph, and what it returns."""

from collections.abc import Collection
from pathlib import Path

import msgspec

from inductorscope.formats.vocabulary import (
    CODE,
    DYNAMO,
    IR_POST,
    IR_PRE,
    KEPT_GRAPHS,
    KERNEL_INFORMATION,
    PRE_GRAD,
    PROVENANCE,
    PROVENANCE_KERNELS,
    PROVENANCE_NODES,
    STAGES,
)
from inductorscope.reading.graphs.sources import Quotes
from inductorscope.reading.notes import Notes
from inductorscope.store.contents.packing import Packed
from inductorscope.store.runs.draft import KernelDraft, PackedLinks

FX_STAGES = tuple(stage.id for stage in STAGES if stage.nodes)
BEFORE = (DYNAMO, PRE_GRAD)
"""Stages that are also read for the links of Dynamo's nodes. The first also quotes all source
lines."""
IR_STAGES = (IR_PRE, IR_POST)
PROVENANCES = (PROVENANCE, KERNEL_INFORMATION, PROVENANCE_KERNELS, PROVENANCE_NODES)
"""Roles of files that say which nodes a kernel computes, the best first."""
OTHERS = {*IR_STAGES, *PROVENANCES, CODE}
"""Roles that are parsed in addition to FX texts."""


class GraphContent(msgspec.Struct):
    """What the texts of a graph contain; graphs with the same texts share it."""

    aot_id: str | None = None
    node_count: int = 0
    wrapper: tuple[int | None, int | None] = (None, None)
    nodes: dict[str, tuple[int, bytes]] = msgspec.field(default_factory=dict)
    kernels: list[KernelDraft] = msgspec.field(default_factory=list)
    links: PackedLinks | None = None
    sources: dict[str, int] = msgspec.field(default_factory=dict)
    devices: set[str] = msgspec.field(default_factory=set)


class Given(msgspec.Struct):
    """One text: its digest, and its bytes, or the file or stored content to read them from
    (`task_texts`)."""

    label: str
    digest: str
    data: bytes | None = None
    size: int = 0
    file: Path | None = None
    packed: Packed | None = None


class Task(msgspec.Struct):
    """The texts of one graph, to be read."""

    slug: str
    texts: dict[str, Given]
    """Text by role."""
    record: dict[str, object] | None = None
    """The record that the capture made of the graph's lines."""
    align: bool = True
    """Whether to align lines of kernels with nodes now, rather than later."""

    @property
    def size(self) -> int:
        """Total size of the texts in bytes."""
        return sum(given.size or len(given.data or b"") for given in self.texts.values())


class Outcome(msgspec.Struct):
    """The result of a task."""

    content: GraphContent
    notes: Notes
    quotes: Quotes
    failed: str = ""
    """Why a text could not be read or parsed; empty if all were."""


def worth_reading(roles: Collection[str], *, align: bool = True) -> set[str]:
    """Returns the roles to parse: the FX texts that links or quotes need, or any FX text if there
    is none of those, and all other texts that are parsed. Without aligning, one of Dynamo's graphs
    is enough for all quotes."""
    found = [role for role in KEPT_GRAPHS if role in roles]
    before = [role for role in BEFORE if role in roles]
    graphs = {*(before if align else before[:1]), *found} if found else set(FX_STAGES)
    return {role for role in roles if role in graphs or role in OTHERS}
