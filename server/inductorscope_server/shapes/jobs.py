"""Jobs, captures and uploads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from .base import JsonObject, Line, Moment, SafeInt, Sent, Shape

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
    share: float | None
    """How far the step is, 0 to 1; null when it cannot tell."""


class JobEventRow(Shape):
    """One line of a job's log."""

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


class BuiltinModel(Shape):
    """A model the worker may run."""

    name: str
    title: str
    shows: str
    """What it is a good example of."""


class ModelsAnswer(Shape):
    """Models to capture."""

    models: list[BuiltinModel]


class CapturePage(Shape):
    """Capture `/capture`."""

    models: list[BuiltinModel]
    living_workers: int
    defaults: JsonObject
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
    tags: list[Any]
    files: list[UploadFileState]
    finished: bool
    job: str | None
