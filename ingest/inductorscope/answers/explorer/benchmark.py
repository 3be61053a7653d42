"""Test cases of kernels, and the results of running them."""

from collections import defaultdict
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.analyze.benchmark.case import KernelCase, NoCase, case_texts, kernel_case
from inductorscope.answers.explorer.graph_texts import graph_texts, remembered
from inductorscope.answers.missing import NotAnalysed, NotHere
from inductorscope.fields import Prose, view
from inductorscope.store.database import storable
from inductorscope.store.database.once import once
from inductorscope.store.tables.diagnoses import KernelBenchmark
from inductorscope.store.tables.models import Graph, Kernel, KernelCall, Run

LEFT_OUT = KernelBenchmark.result["without"].as_integer().is_not(None)
"""Selects benchmarks that only compiled a kernel without the operation of a line."""
JUDGED = KernelBenchmark.result["judged"].as_string().is_not(None)
"""Selects verdicts on edits of a kernel."""
RAN = ~LEFT_OUT & ~JUDGED
SHOWN = 20


class CallCase(msgspec.Struct, frozen=True):
    """A kernel's call and the parts of its test case."""

    case: KernelCase
    origin: str
    may_run: bool
    """Whether this installation captured the run."""


class Benchmark(msgspec.Struct, frozen=True):
    """One benchmark that ran on this installation."""

    handle: int
    job_id: str
    created_at: datetime
    result: dict[str, Any]


class CaseCheck(msgspec.Struct, frozen=True):
    """What a call's test case compares with eager execution."""

    file: str
    """Address of the test case."""
    compared: list[str]
    """Buffers that are compared."""
    not_compared: dict[str, list[str]]
    """Buffers that the call writes but that are not compared, by reason."""
    missing: Prose
    """Why there is no test case; empty if there is one."""


call_texts = remembered(case_texts)


def no_call(run: str, slug: str, kernel: str, handle: int) -> NotHere:
    return NotHere(
        f"The graph {slug} has no call {handle} of a kernel {kernel}.",
        f"The kernels of the run are listed at {urls.kernels(run)}.",
        run,
    )


def call_of(
    session: Session, run_id: str, slug: str, kernel: str, handle: int
) -> tuple[Run, Graph]:
    """The run and graph of a kernel's call; raises NotHere if there is none."""
    row = session.execute(
        select(Run, Graph)
        .join(Graph, Graph.run_id == Run.id)
        .join(Kernel, Kernel.graph_id == Graph.id)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .where(
            Run.id == run_id, Graph.slug == slug, Kernel.name == kernel, KernelCall.handle == handle
        )
    ).first()
    if row is None:
        raise no_call(run_id, slug, kernel, handle)
    run, graph = row
    return run, graph


def case_of(session: Session, run_id: str, slug: str, kernel: str, handle: int) -> CallCase:
    """Returns the test case of a call. Raises NoCase."""
    run, graph = call_of(session, run_id, slug, kernel, handle)
    try:
        texts = call_texts(session, graph_texts(session, graph.id))
    except NotAnalysed as error:
        raise NoCase(str(error)) from None
    case = kernel_case(texts, kernel, handle)
    return CallCase(case, f"run {run.id}, {graph.slug}", is_captured_here(run))


def case_check(session: Session, run: str, slug: str, kernel: str, handle: int) -> CaseCheck:
    file = urls.api(urls.kernel(run, slug, kernel, handle, "case.py"))
    try:
        case = case_of(session, run, slug, kernel, handle).case
    except NoCase as error:
        return CaseCheck("", [], {}, str(error))
    reasons: dict[str, list[str]] = defaultdict(list)
    for buffer, reason in case.not_compared.items():
        reasons[reason].append(buffer)
    compared = [buffer.buffer for buffer in case.subgraph.compared if buffer.node]
    return CaseCheck(file, compared, reasons, "")


def is_captured_here(run: Run) -> bool:
    """Whether this installation captured the run; code of other runs is never executed."""
    return run.origin == "capture"


@once
def benchmarks_of(session: Session, graph_id: int, kernel: str) -> list[Benchmark]:
    """Returns the benchmarks of a kernel, the newest first."""
    query = (
        select(KernelBenchmark)
        .where(KernelBenchmark.graph_id == graph_id, KernelBenchmark.kernel == kernel, RAN)
        .order_by(KernelBenchmark.created_at.desc(), KernelBenchmark.id.desc())
        .limit(SHOWN)
    )
    return [view(Benchmark, row) for row in session.scalars(query)]


def add_benchmark(
    session: Session, graph_id: int, kernel: str, handle: int, job_id: str, now: datetime,
    result: dict[str, Any],
) -> None:  # fmt: skip
    kept: dict[str, Any] = storable.plain(result)  # type: ignore[assignment]  # a dict stays one
    session.add(
        KernelBenchmark(
            graph_id=graph_id, kernel=kernel, handle=handle, job_id=job_id, created_at=now,
            result=kept,
        )
    )  # fmt: skip
