"""Finds the node and kernel that first compute wrong numbers.

The captured program runs again under torch.compile. The wrapper of every graph that Inductor
compiled runs as generated while its buffers are copied (`watch`); then the post-grad FX graph runs
eagerly from the same inputs (`lanes`), and the values are compared (`measure`). If a buffer is
wrong although its inputs are right, the search continues inside its kernel (`narrow`).
"""

from pathlib import Path
from typing import Any

import torch

from inductorscope.capturing.inside.diagnose.numbers.graph import GraphNumbers
from inductorscope.capturing.inside.diagnose.numbers.verdict import result_of
from inductorscope.capturing.inside.diagnose.numbers.watch import GraphRun, watching
from inductorscope.capturing.inside.loading import load
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.permission import Loading
from inductorscope.capturing.spec import CaptureSpec, SpecError

ROOM = 4 * 2**30
"""Most bytes of copied buffers, for both calls together."""
CHANGED = {
    "fallback_random": True,
    "cpp_wrapper": False,
    "triton.cudagraphs": False,
    "fx_graph_cache": False,
}
"""Inductor's options that differ from the capture's: random numbers are drawn outside kernels, so
that both sides have the same; the wrapper is in Python and runs call by call."""


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
    report.progress("Compiling and running the program")
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
    result = compare_graphs(called, report)
    if ended:
        head = " ".join(ended.split())[:300]
        result["summary"]["verdict"] += (
            f" But the program ended early, and the rest was not compared: {head}"
        )
    return result


def compare_graphs(runs: list[GraphRun], report: Reporter) -> dict[str, Any]:
    """Compares graph by graph, reports after each, and narrows the first that differs."""
    graphs = [GraphNumbers(run) for run in runs]
    report.partial(result_of(graphs, done=0))
    narrowed = False
    for number, graph in enumerate(graphs):
        report.progress(f"Comparing {graph.name}", number, len(graphs), "graphs")
        graph.compare(report)
        if graph.differing and not narrowed:
            narrowed = True
            report.partial(result_of(graphs, done=number + 1))
            report.progress(f"Searching inside the kernel of {graph.differing[0]}")
            with torch._inductor.config.patch(CHANGED):
                graph.narrow_first()
        graph.forget()
        report.partial(result_of(graphs, done=number + 1))
    return result_of(graphs, done=len(graphs))


def check(spec: CaptureSpec) -> None:
    if spec.kind == "script":
        raise SpecError(
            "A script calls its model itself, so its numbers cannot be compared. Capture a factory "
            "(file.py:factory) that makes the same model."
        )
    if spec.backend != "inductor":
        raise SpecError(
            f"The program was captured with the back end {spec.backend}, which generates no "
            "kernels to compare. Capture it with inductor."
        )
