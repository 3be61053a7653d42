"""The page that compares two runs, and its rows."""

from typing import Literal

import msgspec

from inductorscope.analyze.compare.kernels import Change, Known
from inductorscope.analyze.compare.waterfall import Bar
from inductorscope.analyze.measure.judge import Answer
from inductorscope.analyze.measure.result import Kernel
from inductorscope.analyze.verdicts import Level
from inductorscope.answers.compare.compiling import CompilingRows
from inductorscope.answers.compare.history import Levels
from inductorscope.answers.compare.inputs import InputRow, SourceRow
from inductorscope.answers.compare.measured import MeasuredShown
from inductorscope.answers.compare.step import Step
from inductorscope.answers.machine.compared import MachineDifference
from inductorscope.fields import Hidden, Microseconds, Prose


class Said(msgspec.Struct, frozen=True):
    """A sentence, and the part of the page with the evidence for it."""

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


class KernelCalls(Kernel, frozen=True):
    """A kernel's calls in a group."""

    category: str
    launches: float | None
    time_us: float | None


class GroupRow(msgspec.Struct, frozen=True):
    """Kernels of both runs that together do the same work, per step."""

    a: list[KernelCalls]
    b: list[KernelCalls]
    change: Change
    known: Known
    certainty: str
    """The certainty in the explorer's terms: `exact` or `inferred`; empty without a counterpart."""
    moved: bool
    nodes: int
    """Number of FX nodes of A that the group computes."""
    a_us: float | None
    b_us: float | None
    more_us: float | None
    """None if a run has no times of them."""
    parts: dict[str, Microseconds]
    """The group's part of the step's difference, by part of the waterfall chart."""
    notes: list[Prose] = msgspec.field(default_factory=list)
    """Why the kernels are not fused into one, and how launches and settings differ; only for the
    groups that differ most."""
    line: str = ""
    """The user's line that most of its nodes come from, `model.py:12`; taken from B if B has the
    group."""


class Peak(msgspec.Struct, frozen=True):
    """The graph of a run whose wrapper allocates most, and the bytes at its peak."""

    graph: str
    bytes: int


class PeakPair(msgspec.Struct, frozen=True):
    """The peaks of both runs."""

    a: Peak
    b: Peak


class GraphPair(msgspec.Struct, frozen=True):
    """Two graphs that are the same, or a graph that only one run has."""

    a: str | None
    b: str | None
    same_nodes: int
    gone_nodes: int
    """Nodes of A that are in no graph of B."""
    new_nodes: int
    elsewhere: int
    """Nodes of A that are in another graph of B."""
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
    """The line in the run that has the node."""


class Difference(msgspec.Struct, frozen=True):
    """How two runs differ, apart from what measurements and other runs say."""

    a: ComparedRun
    b: ComparedRun
    same: bool
    """Whether nothing differs."""
    inputs: list[InputRow]
    sources: list[SourceRow]
    step: Step
    bars: list[Bar]
    """The difference of the steps from A to B; the bars sum to it."""
    groups: list[GroupRow]
    """Groups that differ in code or time, the largest difference first."""
    group_count: int
    """Number of all groups."""
    changed: int
    """Number of groups that differ in code."""
    machine: list[MachineDifference]
    """Machine code of kernels with a single counterpart, if it differs."""
    graphs: list[GraphPair]
    peak: PeakPair | None
    """Memory; None if a run has no wrappers to read."""
    nodes: list[NodeRow]
    node_count: int
    compiling: CompilingRows


class ComparePage(Difference, frozen=True):
    """Two runs `/compare/{run}/{other}`; `a` is the first, `b` the second."""

    said: list[Said]
    """What differs, in sentences, the most important first."""
    verdict: Answer
    """Whether the difference in time is real. Processes of one program differ more than the steps
    of one process, so this is unknown without a measurement."""
    measured: MeasuredShown
    levels: Levels | None
    """The levels of the steps of all runs of this name; None if the runs have different names, or
    few runs have this one."""
