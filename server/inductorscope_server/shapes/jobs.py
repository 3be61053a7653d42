"""Jobs, captures and uploads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, computed_field

from inductorscope_server.shapes.base import JsonObject, Line, Moment, SafeInt, Sent, Shape

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
OVER: frozenset[str] = frozenset({"done", "failed", "cancelled"})


class JobRow(Shape):
    """One job."""

    id: str
    kind: str
    title: str
    state: JobState
    step: str
    done: int
    total: int | None
    unit: str | None
    message: str | None
    run_id: str | None
    duplicate: bool
    attempts: int
    worker: str | None
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    cancel_requested: bool
    active: bool
    """Queued or running."""
    again: bool = False
    """Whether it can be tried again: it failed or was cancelled, and what it needs is there."""
    again_as: str | None = None
    """The job as which it was tried again."""

    @computed_field(description="How far the step is, 0 to 1; null when it cannot tell.")
    def share(self) -> float | None:
        return min(1.0, self.done / self.total) if self.total else None


class JobEventRow(Shape):
    """One line of a job's log."""

    id: int
    """Grows with every line."""
    at: Moment
    level: str
    text: str


class WorkerRow(Shape):
    """A worker process."""

    id: str
    host: str
    pid: int
    started_at: Moment
    beat_at: Moment
    alive: bool


class JobsPage(Shape):
    """Jobs `/jobs`, newest first."""

    jobs: list[JobRow]
    workers: list[WorkerRow]
    living_workers: int
    next_cursor: str | None
    active_only: bool


class JobPage(Shape):
    """One job `/jobs/{id}`."""

    job: JobRow
    spec: JsonObject
    log: list[JobEventRow]


class JobProgress(Shape):
    """One message of the progress stream."""

    state: JobState
    step: str
    done: int
    total: int | None
    unit: str | None
    message: str | None
    run: str | None
    duplicate: bool
    log: list[JobEventRow]
    """Lines written since the message before."""


class JobStarted(Shape):
    """The job that was started."""

    job: str


class CancelAnswer(Shape):
    """What became of a wish to cancel."""

    cancelled: bool
    """False when the job was over already."""


class BuiltinModel(Shape):
    """A model the worker may run."""

    name: str
    title: str
    shows: str
    """What it is a good example of."""
    trains: bool
    """Whether it can be captured for training."""
    missing: list[str]
    """Packages it needs that this machine lacks."""


class ModelsAnswer(Shape):
    """Models to capture."""

    models: list[BuiltinModel]


OptionText = Annotated[
    str, StringConstraints(max_length=4096, pattern=r"^[^\x00-\x1f]*$", min_length=0)
]


class CaptureAsked(Sent):
    """A model and the options it is compiled and measured with."""

    model: Annotated[
        str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f]+$")
    ] = Field(
        description="A built-in model's name (`GET /api/models`), or `package.module:factory`, "
        "`file.py:factory` or a script in a folder the worker's owner allowed.",
        examples=["neg-maximum-cat"],
    )
    name: Line | None = Field(None, description="What the run is to be called.")
    tags: list[Line] = Field(default_factory=list, max_length=50)
    args: list[OptionText] = Field(default_factory=list, max_length=200)
    device: str = Field("cpu", pattern=r"^(cpu|cuda(:[0-9]{1,2})?)$")
    dtype: Literal["float32", "float64", "bfloat16", "float16"] | None = None
    train: bool = Field(False, description="Forward and backward instead of inference.")
    dynamic: bool | None = None
    mode: (
        Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"] | None
    ) = None
    backend: str = Field("inductor", pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$", max_length=200)
    function: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        max_length=200,
        description="Compile only functions of this name.",
    )
    replay_record: bool = Field(False, description="Record frames for replay.")
    values: bool = Field(False, description="Record what each kernel reads and writes.")
    config: dict[str, OptionText] = Field(
        default_factory=dict, max_length=200, description="Options of torch._inductor.config."
    )
    source: bool = Field(True, description="Keep copies of the user's source files.")
    record: bool = Field(True, description="Record which operation wrote which line.")
    profile: bool | None = Field(None, description="Profile eager and compiled.")
    seconds: float = Field(10.0, gt=0, le=600, description="Time to spend on timing.")
    repeats: int | None = Field(None, ge=1, le=10_000, description="Exactly so many samples.")


class CapturePage(Shape):
    """Capture `/capture`."""

    models: list[BuiltinModel]
    living_workers: int
    dtypes: list[str]
    modes: list[str]
    defaults: CaptureAsked
    """Values of the form's fields: the defaults, or what was sent when it was refused."""
    error: str | None


UploadPath = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000),
    Field(
        description="Relative path with `/` between folders; no `..`, no drive, no control "
        "characters, at most 200 bytes a part.",
        examples=["torch_compile_debug/run_1/torchinductor/model__0/output_code.py"],
    ),
]


class UploadFileAsked(Sent):
    """A file the client is going to send."""

    path: UploadPath
    size: SafeInt


class UploadAsked(Sent):
    """What the client is going to send."""

    name: Line | None = None
    tags: list[Line] = Field(default_factory=list, max_length=50)
    files: list[UploadFileAsked] = Field(min_length=1)


class UploadFileState(Shape):
    """How much of a file has arrived."""

    index: int
    path: str
    size: int
    received: int


class UploadState(Shape):
    """An upload under way."""

    id: str
    name: str
    tags: list[str]
    files: list[UploadFileState]
    finished: bool
    job: str | None
