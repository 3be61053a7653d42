"""Kernel: its source, nodes, calls and time; its test case, and benchmarks of it."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.answers.explorer.benchmark import case_of
from inductorscope.answers.explorer.kernel import kernel_page as query
from inductorscope.capture.benchmark.text import case_text
from inductorscope.jobs.api import BenchmarkAsked as Asked
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.shapes.jobs import JobStarted
from inductorscope_server.shapes.kernel import BenchmarkAsked, KernelPage
from inductorscope_server.web import headers, openapi, urls
from inductorscope_server.web.errors import NotHere, Refusal, documented
from inductorscope_server.web.ids import KernelKey, RunId, Slug
from inductorscope_server.web.parts import Parts, Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.GRAPHS])

PATH = "/runs/{run}/graphs/{slug}/kernels/{kernel}"


def load(session: Reading, run: str, slug: str, kernel: str) -> KernelPage:
    name, handle = _named(kernel)
    found = query(session, run, slug, name, handle)
    if found is None:
        raise _missing(run, slug, name, handle)
    return KernelPage.model_validate(found)


def _named(kernel: str) -> tuple[str, int]:
    name, _, handle = kernel.rpartition(":")
    return name, int(handle)


def _missing(run: str, slug: str, name: str, handle: int) -> NotHere:
    return NotHere(
        f"Graph {slug} of run {run} has no call {handle} of a kernel {name}.",
        f"Its kernels are listed at /runs/{run}.",
    )


@twin.get(PATH, summary="A kernel and one of its calls", responses=documented(404))
def get_kernel(session: Reading, run: RunId, slug: Slug, kernel: KernelKey) -> KernelPage:
    return load(session, run, slug, kernel)


@twin.get(
    f"{PATH}/case.py",
    summary="A kernel's test case",
    response_class=Response,
    responses=documented(404, 422),
)
def get_case(session: Reading, run: RunId, slug: Slug, kernel: KernelKey) -> Response:
    """A file that runs by itself: the kernel, its FX nodes and inputs; it checks and times both."""
    name, handle = _named(kernel)
    try:
        found = case_of(session, run, slug, name, handle)
    except NoCase as error:
        raise Refusal(422, str(error)) from None
    if found is None:
        raise _missing(run, slug, name, handle)
    file = "".join(letter if letter.isalnum() else "_" for letter in f"{name}_{handle}")[-80:]
    given = {
        "Content-Disposition": f'attachment; filename="{file.strip("_")}.py"',
        "Content-Security-Policy": headers.SANDBOX,
    }
    text = case_text(found.case, found.origin)
    return Response(text, media_type="text/x-python; charset=utf-8", headers=given)


@twin.post(
    f"{PATH}/benchmark",
    status_code=202,
    summary="Benchmark a kernel",
    responses=documented(403, 404, 422),
)
def post_benchmark(
    parts: Shared, session: Reading, run: RunId, slug: Slug, kernel: KernelKey,
    asked: BenchmarkAsked, response: Response,
) -> JobStarted:  # fmt: skip
    """A worker runs its test case on this machine; only of runs that were captured here."""
    job = _start(parts, session, run, slug, kernel, asked)
    response.headers["Location"] = urls.api_job(job)
    return JobStarted(job=job)


def _start(
    parts: Parts, session: Reading, run: str, slug: str, kernel: str, asked: BenchmarkAsked
) -> str:
    page = load(session, run, slug, kernel)
    if not page.may_benchmark:
        raise Refusal(
            403,
            "This run was uploaded or ingested, and code of uploads is never run here.",
            do="Download the test case, look through it, and run it yourself.",
        )
    name, handle = _named(kernel)
    return parts.jobs.enqueue_benchmark(
        Asked(run, slug, name, handle, asked.seconds, asked.max_autotune)
    )


@html.get(PATH)
def kernel_page(
    request: Request, parts: Shared, session: Reading, run: RunId, slug: Slug, kernel: KernelKey
) -> Response:
    return parts.pages.render(request, "kernel.html", load(session, run, slug, kernel))


@html.post(f"{PATH}/benchmark")
async def benchmark_by_form(
    request: Request, parts: Shared, session: Reading, run: RunId, slug: Slug, kernel: KernelKey
) -> Response:
    """The form's way; it leads to the job."""
    async with request.form(max_files=0, max_fields=10) as form:
        tuned = bool(form.get("max_autotune"))
        asked = BenchmarkAsked.model_validate({"max_autotune": tuned})
    job = await run_in_threadpool(_start, parts, session, run, slug, kernel, asked)
    return RedirectResponse(urls.job(job), 303)
