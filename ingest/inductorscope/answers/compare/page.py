"""The page that compares two runs, and its rows."""

from __future__ import annotations

from typing import Literal

import msgspec

from inductorscope.analyze.compare.kernels import Change, Known
from inductorscope.analyze.compare.waterfall import Bar
from inductorscope.analyze.measure.judge import Answer
from inductorscope.analyze.verdicts import Level
from inductorscope.answers.compare.compiling import CompilingRows
from inductorscope.answers.compare.history import Levels
from inductorscope.answers.compare.inputs import InputRow, SourceRow
from inductorscope.answers.compare.measured import MeasuredShown
from inductorscope.answers.compare.step import Step
from inductorscope.answers.machine.compared import MachineDifference
from inductorscope.fields import Hidden, Microseconds, Prose


class Said(msgspec.Struct, frozen=True):
    """A sentence, and the part of the page with its evidence."""

    level: Level
    label: str
    text: Prose
    to: Hidden[str]


class ComparedRun(msgspec.Struct, frozen=True):
    """One of the two runs."""

    id: str
    name: str
    torch_version: str | None
    device: str | None
    compiled_ms: float | None
    kernels: int
    graphs: int


class KernelCalls(msgspec.Struct, frozen=True):
    """A kernel's calls in a group."""

    graph: str
    kernel: str
    handle: int
    kind: str
    category: str
    calls: int
    launches: float | None
    time_us: float | None


class GroupRow(msgspec.Struct, frozen=True):
    """Kernels of both runs that do the same work between them, per step."""

    a: list[KernelCalls]
    b: list[KernelCalls]
    change: Change
    known: Known
    certainty: str
    """How sure, in the explorer's words: `exact` or `inferred`; empty without a counterpart."""
    moved: bool
    nodes: int
    """Number of FX nodes of A that it computes."""
    a_us: float | None
    b_us: float | None
    more_us: float | None
    """None if a run does not time them."""
    parts: dict[str, Microseconds]
    """The group's part of the step's difference, by part of the waterfall."""
    notes: list[Prose] = msgspec.field(default_factory=list)
    """Why its kernels are not one, and which settings differ; of the groups that differ most."""
    line: str = ""
    """The user's line of most of its nodes, `model.py:12`, in B if B has the group."""


class PeakBar(msgspec.Struct, frozen=True):
    """A part of the difference of two peaks, in bytes."""

    title: str
    more_bytes: int
    buffers: int


class Peak(msgspec.Struct, frozen=True):
    """The graph of a run whose wrapper allocates most, and the bytes at its peak."""

    graph: str
    bytes: int


class PeakStep(msgspec.Struct, frozen=True):
    """From A's peak to B's; the bars sum to the difference."""

    a: Peak
    b: Peak
    bars: list[PeakBar]


class GraphPair(msgspec.Struct, frozen=True):
    """Two graphs that are the same, or a graph that only one run has."""

    a: str | None
    b: str | None
    same_nodes: int
    gone_nodes: int
    """Nodes of A that B has in no graph."""
    new_nodes: int
    elsewhere: int
    """Nodes of A that B has in another graph."""
    a_kernels: int
    b_kernels: int
    a_peak: int | None
    b_peak: int | None


class NodeRow(msgspec.Struct, frozen=True):
    """An FX node that only one run has."""

    side: Literal["a", "b"]
    graph: str
    name: str
    target: str
    type: str
    path: str | None
    line: int | None
    """In the run that has the node."""


class ComparePage(msgspec.Struct, frozen=True):
    """Two runs `/compare/{run}/{other}`; `a` is the first, `b` the second."""

    a: ComparedRun
    b: ComparedRun
    same: bool
    """Whether nothing differs."""
    said: list[Said]
    """What differs, in sentences, the most important first."""
    inputs: list[InputRow]
    sources: list[SourceRow]
    step: Step
    verdict: Answer
    """Whether the difference of times is real. Processes of one program differ more than the steps
    of one process, so without a measurement nobody can tell."""
    measured: MeasuredShown
    levels: Levels | None
    """Of the steps of all runs of this name; None if both have other names, or few runs have it."""
    bars: list[Bar]
    """From A's step to B's; they sum to the difference."""
    groups: list[GroupRow]
    """Those that differ in code or time, the largest difference first."""
    group_count: int
    """Number of all groups."""
    changed: int
    """Number of those that differ in code."""
    machine: list[MachineDifference]
    """Machine code of kernels with one counterpart, where it differs."""
    graphs: list[GraphPair]
    peak: PeakStep | None
    """Memory; None if a run's wrappers are not known."""
    nodes: list[NodeRow]
    node_count: int
    compiling: CompilingRows
    markdown: Hidden[str]
    """The same as Markdown, for a pull request."""
