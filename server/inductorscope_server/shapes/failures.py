"""What went wrong in a run, and what was found out about it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inductorscope_server.shapes.base import JsonObject, Moment, RunName, Shape


class FrameShape(Shape):
    file: str
    line: int
    function: str
    code: str | None


class FoldShape(Shape):
    """Frames next to each other, shown or folded together."""

    shown: bool
    frames: list[FrameShape]


class FoldedShape(Shape):
    """One exception of a chain; `relation` says how the one before led to it."""

    kind: str
    message: str
    relation: Literal["", "cause", "context"]
    folds: list[FoldShape]
    left_out: int


class FixShape(Shape):
    """A fault of the machine and how to mend it."""

    what: str
    do: str
    evidence: str


class StepShape(Shape):
    """One link of the chain from the user's line to the kernel's."""

    stage: str
    title: str
    text: str
    line: int | None
    path: str


class ShownLineShape(Shape):
    number: int
    text: str
    marked: bool


class SuspectShape(Shape):
    """A definition that may be what is wrong, why, and whether that is sure."""

    name: str
    line: int
    text: str
    why: str
    sure: bool
    what: str
    chain: list[StepShape]


class PlacedErrorShape(Shape):
    """A compiler's error at its line of the output code."""

    severity: str
    message: str
    notes: list[str]
    graph: str
    kernel: str
    handle: int
    line: int
    start: int
    end: int
    how: str
    sure: bool
    others: int
    lines: list[ShownLineShape]
    chain: list[StepShape]
    suspects: list[SuspectShape]


class DiagnosticShape(Shape):
    """What a compiler said of a text that is not here."""

    severity: str
    message: str
    file: str
    at: int | None
    column: int | None
    function: str
    code: str
    marks: str
    tool: str


class LoweringArgumentShape(Shape):
    name: str
    text: str
    origin: str


class LoweringShape(Shape):
    target: str
    kind: str
    message: str
    arguments: list[LoweringArgumentShape]


class LoweredNodeShape(Shape):
    """A node that could not be lowered."""

    graph: str
    name: str
    text: str
    line: int
    sure: bool
    chain: list[StepShape]


class TritonShape(Shape):
    what: str
    message: str
    kernel: str
    line: int | None
    column: int | None
    excerpt: list[str]
    resource: str
    required: int | None
    limit: int | None


class CompileShape(Shape):
    number: int
    id: str
    rank: int | None
    occurrence: int


class FailureShape(Shape):
    """One failure, explained."""

    number: int
    component: str
    component_title: str
    title: str
    sentences: list[str]
    kinds: list[str]
    message: str
    fix: FixShape | None
    command: str
    errors: list[PlacedErrorShape]
    unplaced: list[DiagnosticShape]
    lowering: LoweringShape | None
    nodes: list[LoweredNodeShape]
    triton: TritonShape | None
    chain: list[FoldedShape]
    user: FrameShape | None
    user_artifact: int | None
    compile: CompileShape | None
    record: int | None
    cause: str
    """The operation to blame, as far as is known."""
    sure: bool


class PanelShape(Shape):
    """What one kind of diagnosis has to say of a run: its newest result, its newest job."""

    kind: str
    verdict: str
    complete: bool
    state: str
    message: str
    at: Moment | None
    job: str
    active: bool
    step: str


class DiagnosisLineShape(Shape):
    kind: str
    job_id: str
    created_at: Moment
    complete: bool
    state: str
    message: str | None
    summary: JsonObject


class FailuresPage(Shape):
    """Failures `/runs/{run}/failures`."""

    run: RunName
    failures: list[FailureShape]
    more: int
    dropped: int
    """Things in the files that were not read: failures may be among them."""
    repaired: int
    """Things that were damaged, and read as far as that goes."""
    refusal: str
    panels: dict[str, PanelShape]
    diagnoses: list[DiagnosisLineShape]
    report: str
    """All of it as Markdown, to open an issue with."""


class TrialShape(Shape):
    """One backend's run beside the eager one."""

    backend: str
    title: str
    outcome: str
    """`agrees`, `differs`, `fails`, `ended`, `too long`, `eager failed`."""
    said: str
    kind: str = ""
    message: str = ""
    trace: str = ""
    seconds: float | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    tolerance: str = ""
    where: str = ""


class BisectShape(Shape):
    """A trial of torch's bisector."""

    backend: str
    subsystem: str
    state: str
    good: bool
    said: str
    seconds: float


class ComponentsFound(Shape):
    """What a search for the failing component found so far."""

    summary: JsonObject
    trials: list[TrialShape] = Field(default_factory=list)
    bisect: list[BisectShape] = Field(default_factory=list)
    found: JsonObject | None = None
    notes: list[str] = Field(default_factory=list)


class ComponentsPage(Shape):
    """Which component `/runs/{run}/failures/components`."""

    run: RunName
    refusal: str
    panel: PanelShape
    found: ComponentsFound | None
    diagnoses: list[DiagnosisLineShape]
