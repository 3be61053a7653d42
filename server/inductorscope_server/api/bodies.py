"""Request bodies, validated by pydantic, and the answer to requests that start a job."""

from typing import Annotated, Any, Literal

import msgspec
from inductorscope import urls
from inductorscope.answers.fork import LONGEST
from inductorscope.formats.sizes import KIB
from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints
from starlette.responses import Response

from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.ids import Line, SafeInt, Whole

MOST_WORDS = 64 * KIB
"""Bytes of an upload's name, tags and project together."""


class Body(BaseModel):
    """A request body; unknown fields and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class JobStarted(msgspec.Struct, frozen=True):
    """A started job."""

    job: str


def starts(*errors: int) -> dict[str, Any]:
    """Returns the arguments of a route that starts a job for those who may."""
    return openapi.answers(JobStarted, 403, *errors, status=202)


def started(job: str) -> Response:
    """Returns the answer to a request that started a job; its header `Location` has the job's
    address."""
    return as_json(JobStarted(job), 202, {"Location": urls.api(urls.job(job))})


OptionText = Annotated[
    str, StringConstraints(max_length=4096, pattern=r"^[^\x00-\x1f]*$", min_length=0)
]


Dtype = Literal["float32", "float64", "bfloat16", "float16"]
Mode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]


class CaptureRequest(Body):
    """A model to capture, and the options to compile and measure it with."""

    model: Annotated[
        str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f]+$")
    ] = Field(
        description="A built-in model's name (`GET /api/models`), or `package.module:factory`, "
        "`file.py:factory` or a script in a folder that the worker's owner allows.",
        examples=["neg-maximum-cat"],
    )
    name: Line | None = Field(None, description="Name of the run.")
    tags: list[Line] = Field(default_factory=list, max_length=50)
    args: list[OptionText] = Field(default_factory=list, max_length=200)
    device: str = Field("cpu", pattern=r"^(cpu|cuda(:[0-9]{1,2})?)$")
    needs: Line | None = Field(
        None,
        description="A GPU's name or a worker's `kind` (`GET /api/jobs`), to capture there. By "
        "default any worker that has the device does it.",
    )
    dtype: Dtype | None = None
    train: bool = Field(False, description="Forward and backward instead of inference.")
    dynamic: bool | None = None
    mode: Mode | None = None
    backend: str = Field("inductor", pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$", max_length=200)
    values: bool = Field(False, description="Record what each kernel reads and writes.")
    config: dict[str, OptionText] = Field(
        default_factory=dict, max_length=200, description="Options of torch._inductor.config."
    )
    source: bool = Field(True, description="Keep copies of the user's source files.")
    record: bool = Field(True, description="Record which operation wrote which line.")
    profile: bool | None = Field(None, description="Profile eager and compiled.")
    seconds: float = Field(10.0, gt=0, le=600, description="Time to spend on timing.")
    repeats: Whole | None = Field(None, ge=1, le=10_000, description="Number of samples.")


class TryRequest(Body):
    """Code to compile: a function or module `f`, and its `inputs`."""

    code: str = Field(max_length=LONGEST)
    name: Line | None = Field(None, description="Name of the run.")
    timed: bool = Field(False, description="Time calls of the compiled function.")
    fork: Line | None = Field(None, description="The run from whose graph the code was made.")
    agreed: bool = Field(False, description="Whether you agree to run code of an uploaded run.")
    device: Literal["cpu", "cuda"] = "cpu"
    mode: Mode | None = None
    dtype: Dtype | None = None
    dynamic: bool | None = None
    config: dict[str, OptionText] = Field(
        default_factory=dict, max_length=50, description="Options of torch._inductor.config."
    )


class JudgeRequest(Body):
    """An edit of a kernel: its source, its definition in the output code, or a test case."""

    code: str = Field(max_length=LONGEST)


UploadPath = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000),
    Field(
        description="Relative path with `/` between folders; no `..`, no drive, no control "
        "characters, at most 200 bytes a part.",
        examples=["torch_compile_debug/run_1/torchinductor/model__0/output_code.py"],
    ),
]


class UploadFileRequest(Body):
    """A file that the client will send."""

    path: UploadPath
    size: SafeInt


class UploadRequest(Body):
    """The files that the client will send."""

    name: Line | None = None
    tags: list[Line] = Field(default_factory=list, max_length=50)
    project: Line | None = Field(None, description="Whose members see the run; else you alone.")
    files: Annotated[list[UploadFileRequest], Field(min_length=1), FailFast()]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    size: int | float


class _Announced(msgspec.Struct, forbid_unknown_fields=True):
    """The form of an UploadRequest, checked before its contents."""

    files: list[_File]
    name: msgspec.Raw = msgspec.Raw(b"null")
    tags: msgspec.Raw = msgspec.Raw(b"[]")
    project: msgspec.Raw = msgspec.Raw(b"null")


def check_announcement(body: bytes, most_files: int) -> str | None:
    """Returns what is wrong with the form of an announcement, which may have megabytes.

    Stops at the first mistake. Pydantic would list millions of mistakes, and Python's `json` would
    first make objects of everything.
    """
    if body.count(b"{") > 2 * most_files + 1:  # paths may contain braces too
        return f"it announces more than {most_files:,} files"
    try:
        announced = msgspec.json.decode(body, type=_Announced)
    except msgspec.DecodeError as error:
        return str(error)
    if len(announced.name) + len(announced.tags) + len(announced.project) > MOST_WORDS:
        return f"name, tags and project take more than {MOST_WORDS:,} bytes"
    return None


class RunChange(Body):
    """A new name or new tags for a run; a field that is left out does not change."""

    name: Annotated[Line, Field(min_length=1)] | None = None
    tags: list[Line] | None = Field(None, max_length=50)


class TrialRequest(Body):
    """A change to try."""

    title: Annotated[Line, Field(min_length=1, max_length=200)]
    change: dict[str, Any] = Field(
        description='What differs from the program as it is, such as `{"dynamic": true}`.'
    )


class ImproveRequest(Body):
    """How to search for changes that make a program faster."""

    minutes: float = Field(20.0, gt=0, le=600, description="Longest time to spend.")


class BenchmarkRequest(Body):
    """Options of a benchmark."""

    seconds: float = Field(2.0, gt=0, le=60, description="Time to spend on timing.")
    max_autotune: bool = Field(
        False, description="Also time its FX nodes under torch.compile with max-autotune."
    )
    without: SafeInt | None = Field(
        None,
        description="Instead of timing, compile the kernel as it is and without the operation of "
        "this line of the output code, and compare what both take of the machine.",
    )
    profile: bool = Field(
        False,
        description="Instead of timing, launch the kernel once under Nsight Compute and keep the "
        "report in the run; `ncu` must be installed on the worker's machine.",
    )


class MinifyRequest(Body):
    """Options of a search for the smallest failing program."""

    after: Literal["aot", "dynamo"] = "aot"
    """The graph to reduce: AOTAutograd's or Dynamo's."""
    resume: str | None = Field(default=None, max_length=64)
    """Job of a stopped search to go on from."""


class ExportOptions(BaseModel):
    """Options of an exported file. They are fields of a form, so their values are texts."""

    page: str = Field("", description="Address of a page of the run's graphs: only what it shows.")
    only: Literal["", "explorer"] = ""
    without_traces: bool = False
    redact: bool = False
    keep: Line = Field("", description="Source files whose lines stay, separated by commas.")
    hide: Line = Field("", description="Further words to redact, separated by commas.")
    preview: bool = Field(False, description="Answer what the file would hold, in words.")
