"""The kernel page: source, nodes, calls, time, test case, benchmarks, edits; and permalinks."""

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Form, Query
from inductorscope import urls
from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.analyze.judging.configurations import Configurations, configurations
from inductorscope.answers.explorer.attempts import Attempt
from inductorscope.answers.explorer.benchmark import CaseCheck, call_of, case_check
from inductorscope.answers.explorer.kernel import (
    EditPage,
    KernelPage,
    PermalinkAnswer,
    edit_page,
    kernel_page,
    permalink_answer,
)
from inductorscope.jobs.programs import BenchmarkAsked
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import READS, RUNS_CODE
from inductorscope_server.analysis.case import case_file
from inductorscope_server.api.bodies import BenchmarkRequest, JudgeRequest, started, starts
from inductorscope_server.pages.play import allow, is_on
from inductorscope_server.serving.judging import asked, judged
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json, attached
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import LARGEST, KernelKey, Permalink, RunId, Slug
from inductorscope_server.web.parts import Analysing, Parts, Reading, Shared

html = APIRouter(dependencies=[RUNS_CODE])
api = APIRouter(tags=[openapi.GRAPHS], dependencies=[READS])

PATH = "/runs/{run}/graphs/{slug}/kernels/{kernel}"
AttemptId = Annotated[int, Query(ge=0, le=LARGEST)]


async def load(analysis: Analysing, run: RunId, slug: Slug, kernel: KernelKey) -> KernelPage:
    return await analysis(kernel_page, run, slug, *_named(kernel))


async def load_case(analysis: Analysing, run: RunId, slug: Slug, kernel: KernelKey) -> CaseCheck:
    """Separate from the kernel, because it reads all texts of the graph."""
    return await analysis(case_check, run, slug, *_named(kernel))


async def load_edit(
    parts: Shared, analysis: Analysing, run: RunId, slug: Slug, kernel: KernelKey,
    attempt: AttemptId = 0,
) -> EditPage:  # fmt: skip
    """A kernel to edit, and what the judge said of edits. `attempt`: one of them, to show."""
    return await analysis(
        edit_page, run, slug, *_named(kernel), attempt=attempt, on=is_on(parts.settings)
    )


def _named(kernel: str) -> tuple[str, int]:
    name, _, handle = kernel.rpartition(":")
    return name, int(handle)


class Call(NamedTuple):
    """A call of a kernel, as its address names it."""

    run: str
    slug: str
    name: str
    handle: int


async def _call(run: RunId, slug: Slug, kernel: KernelKey) -> Call:
    return Call(run, slug, *_named(kernel))


Called = Annotated[Call, Depends(_call)]


def load_permalink(session: Reading, permalink: Permalink) -> PermalinkAnswer:
    """A permalink: a short address of a kernel call, derived from its content, so that it is the
    same on every server."""
    return permalink_answer(session, permalink)


def show_permalink(
    request: Request, page: Annotated[PermalinkAnswer, Depends(load_permalink)]
) -> RedirectResponse:
    """Redirects to the explorer with the kernel and the rest of the link's selection."""
    kept = request.url.query
    return RedirectResponse(f"{page.url}&{kept}" if kept else page.url, 302)


@api.get(
    f"{PATH}/case.py", summary="A kernel's test case", **openapi.answers("text/x-python", 404, 422)
)
async def get_case(
    analysis: Analysing, call: Called, attempt: AttemptId = 0, operator: bool = False
) -> Response:
    """A standalone file with the kernel, its FX nodes and inputs; it checks and times both.
    `attempt`: with that edit of the kernel. `operator`: instead, one that registers it with torch.
    """
    try:
        text = await analysis(case_file, *call, attempt=attempt, operator=operator)
    except NoCase as error:
        raise Refusal(422, str(error)) from None
    file = "".join(letter if letter.isalnum() else "_" for letter in f"{call.name}_{call.handle}")
    return attached(text, f"{file[-80:].strip('_')}.py", "text/x-python")


@api.post(
    f"{PATH}/benchmark", dependencies=[RUNS_CODE], summary="Benchmark a kernel", **starts(404, 422)
)
def post_benchmark(
    parts: Shared, session: Reading, call: Called, body: BenchmarkRequest
) -> Response:
    """A worker runs its test case on this machine; only for runs captured here."""
    return started(_start(parts, session, call, body))


def _start(parts: Parts, session: Reading, call: Call, body: BenchmarkRequest) -> str:
    call_of(session, *call)  # raises NotHere
    return parts.jobs.programs.benchmark(BenchmarkAsked(*call, **body.model_dump()))


@api.post(
    f"{PATH}/judge",
    dependencies=[RUNS_CODE],
    summary="Judge an edited kernel",
    **openapi.answers(Attempt, 403, 404, 422, 503),
)
async def post_judge(request: Request, parts: Shared, call: Called, body: JudgeRequest) -> Response:
    """Compiles the edit in a confined process, compares it with the original at the recorded
    shapes and at others, times both, and keeps the verdict; only for runs captured here. Without
    code the judge only starts, and gets ready for edits of this kernel."""
    await allow(request, parts)
    why = "is typed in a browser"
    if not body.code.strip():
        await asked(parts, *call[:2], call[2:], "", why=why)
        return Response(status_code=204)
    return as_json(await judged(parts, *call[:2], call[2:], body.code, why=why))


@api.post(
    f"{PATH}/configurations",
    dependencies=[RUNS_CODE],
    summary="Offer other configurations of an edited kernel",
    **openapi.answers(Configurations, 422),
)
def post_configurations(_: Called, body: JudgeRequest) -> Response:
    """A dozen texts that differ in blocks, warps and stages, or in threads; none if there is
    nothing to choose. The judge says which is faster."""
    return as_json(Configurations(configurations(body.code)))


@html.post(f"{PATH}/benchmark")
def benchmark_by_form(
    parts: Shared,
    session: Reading,
    call: Called,
    max_autotune: Annotated[bool, Form()] = False,
    profile: Annotated[bool, Form()] = False,
    without: Annotated[int | None, Form(ge=0, le=LARGEST)] = None,
) -> Response:
    """Starts the job and redirects to it."""
    options = {"max_autotune": max_autotune, "profile": profile, "without": without}
    body = BenchmarkRequest.model_validate(options)
    return RedirectResponse(urls.job(_start(parts, session, call, body)), 303)
