"""Which node and kernel computes wrong numbers first.

The captured program runs once more under torch.compile. Of every graph that Inductor compiled, the
wrapper is run as generated while its buffers are kept (`numbers_watch`); then the post-grad FX
graph runs eagerly from the same inputs (`numbers_lanes`), and what both have is compared
(`numbers_measure`). Where a buffer is wrong whose inputs were right, its kernel is opened
(`numbers_narrow`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from inductorscope.capture.inside.diagnose.numbers.graph import GraphNumbers
from inductorscope.capture.inside.diagnose.numbers.verdict import result_of
from inductorscope.capture.inside.diagnose.numbers.watch import GraphRun, watching
from inductorscope.capture.inside.loading import load
from inductorscope.capture.inside.report import Reporter
from inductorscope.capture.permission import Loading
from inductorscope.capture.spec import CaptureSpec, SpecError

ROOM = 4 * 2**30
"""Bytes of buffers that are kept, of both calls together."""
CHANGED = {
    "fallback_random": True,
    "cpp_wrapper": False,
    "triton.cudagraphs": False,
    "fx_graph_cache": False,
}
"""Inductor's options that differ from the capture's: random numbers are drawn outside of kernels,
so that both sides have the same; the wrapper is Python and runs call by call."""


def diagnose(
    spec: CaptureSpec, loading: Loading, options: dict[str, Any], folder: Path, report: Reporter
) -> dict[str, Any]:
    check(spec)
    report.progress("Making the model")
    model = load(spec, loading)
    mode: dict[str, Any] = torch._inductor.list_mode_options(spec.mode) if spec.mode else {}
    compiled = torch.compile(
        model.function, backend="inductor", dynamic=spec.dynamic, options=mode | CHANGED
    )
    run = model.step(compiled)
    report.progress("Compiling, and running what was compiled")
    ended = ""
    with torch._inductor.config.patch(CHANGED), watching(ROOM) as runs:
        try:
            run()
        except Exception as error:
            if not any(run.called for run in runs):
                raise
            ended = f"{type(error).__name__}: {error}"
            report.log(f"The program ended early: {ended}"[:2000])
        called = [run for run in runs if run.called]
    found = compare_graphs(called, report)
    if ended:
        head = " ".join(ended.split())[:300]
        found["summary"]["verdict"] += (
            f" But the program ended early, and what comes after was not compared: {head}"
        )
    return found


def compare_graphs(runs: list[GraphRun], report: Reporter) -> dict[str, Any]:
    """Compares graph by graph, telling what is known after each; narrows the first that differs."""
    graphs = [GraphNumbers(run) for run in runs]
    report.partial(result_of(graphs, done=0))
    narrowed = False
    for number, graph in enumerate(graphs):
        report.progress(f"Comparing {graph.name}", number, len(graphs), "graphs")
        graph.compare(report)
        if graph.differing and not narrowed:
            narrowed = True
            report.partial(result_of(graphs, done=number + 1))
            report.progress(f"Looking into the kernel of {graph.differing[0].node.name}")
            with torch._inductor.config.patch(CHANGED):
                graph.narrow_first()
        graph.forget()
        report.partial(result_of(graphs, done=number + 1))
    return result_of(graphs, done=len(graphs))


def check(spec: CaptureSpec) -> None:
    if spec.kind == "script":
        raise SpecError(
            "A script compiles and feeds its model itself, so it cannot be run again with its "
            "numbers watched: capture a factory (file.py:factory) that makes the same model."
        )
    if spec.backend != "inductor":
        raise SpecError(
            f"The program was captured with the back end {spec.backend}, which generates no "
            "kernels to compare: capture it with inductor."
        )
