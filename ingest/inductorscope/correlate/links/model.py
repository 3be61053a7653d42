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

from collections.abc import Iterable, Iterator
from enum import IntEnum

import msgspec

ENGINE = "33"
"""Version of the link engine; links stored under another version are recomputed."""
CALLS = f"{ENGINE}-calls"
"""Version of links from texts and Inductor's maps only: lines of kernels are not yet aligned with
operations and nodes, nor Dynamo's nodes with post-grad nodes."""
# A reference as one number that sorts by its parts: line, entity, call site + 1. Graphs have
# hundreds of thousands of references; numbers are faster to store and sort than tuples.
_BITS = 24
_LINE = 1 << 2 * _BITS
_MASK = (1 << _BITS) - 1


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

    def references(self) -> Iterator[tuple[int, int, int]]:
        """Line, entity and certainty of each reference."""
        return zip(self.lines, self.entities, self.confidence, strict=True)


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


class Collector:
    """Builds `GraphLinks`: interns entities, sorts by line, keeps the highest certainty. The order
    in which references arrive does not matter."""

    def __init__(self) -> None:
        self.links = GraphLinks()
        self._ids: dict[str, int] = {}
        self._references: dict[str, dict[int, Confidence]] = {}

    def entity(self, name: str) -> int:
        number = self._ids.get(name)
        if number is None:
            number = self._ids[name] = len(self.links.entities)
            if number >= _MASK:
                raise OverflowError(f"A graph refers to more than {_MASK:,} entities.")
            self.links.entities.append(name)
        return number

    def stage(self, stage: str) -> dict[int, Confidence]:
        """The references of a stage; adds the stage, even if nothing in it is linked."""
        references = self._references.get(stage)
        if references is None:
            references = self._references[stage] = {}
        return references

    def add(
        self, stage: str, line: int, entity: str, confidence: Confidence, call: str | None = None
    ) -> None:
        references = self._references.get(stage)
        if references is None:
            references = self.stage(stage)
        number = self._ids.get(entity)
        if number is None:
            number = self.entity(entity)
        key = line * _LINE + (number << _BITS)
        if call is not None:
            key += self.entity(call) + 1
        if references.get(key, 0) < confidence:
            references[key] = confidence

    def add_lines(self, stage: str, references: Iterable[tuple[int, str]]) -> None:
        """Each line refers to its entity, as the text states."""
        known = self.stage(stage)
        ids = self._ids
        exact = Confidence.exact  # the highest certainty: no comparison needed
        for line, entity in references:
            number = ids.get(entity)
            if number is None:
                number = self.entity(entity)
            known[line * _LINE + (number << _BITS)] = exact

    def add_exact(self, stage: str, first: int, last: int, entity: str) -> None:
        """Each of the lines refers to the entity, as the text states."""
        keys = range(first * _LINE, (last + 1) * _LINE, _LINE)
        number = self.entity(entity) << _BITS
        exact = Confidence.exact  # the highest certainty: no comparison needed
        self.stage(stage).update({key + number: exact for key in keys})

    def finish(self) -> GraphLinks:
        for stage in list(self._references):
            references = self._references.pop(stage)  # of all stages, they take much memory
            keys = sorted(references)
            self.links.stages[stage] = StageLinks(
                lines=[key >> 2 * _BITS for key in keys],
                entities=[key >> _BITS & _MASK for key in keys],
                confidence=[int(references[key]) for key in keys],
                call=[(key & _MASK) - 1 for key in keys],
            )
        return self.links
