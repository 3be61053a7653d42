"""Searches for the smallest failing program with torch's minifier on a program's graphs."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch.fx import GraphModule

from inductorscope.capturing.inside.diagnose.minify.catch import (
    AOT,
    DYNAMO,
    Caught,
    NotCaught,
    catch,
    copy_of,
)
from inductorscope.capturing.inside.diagnose.minify.fails import Tester, be_quiet
from inductorscope.capturing.inside.diagnose.minify.failure import Failure
from inductorscope.capturing.inside.diagnose.minify.search import Search
from inductorscope.capturing.inside.loading import load
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.permission import Loading
from inductorscope.capturing.spec import CaptureSpec, SpecError


def diagnose(
    spec: CaptureSpec, loading: Loading, options: dict[str, Any], folder: Path, report: Reporter
) -> dict[str, Any]:
    """Minifies a program. Option: `after` (aot or dynamo)."""
    after = str(options.get("after") or AOT)
    if after not in (AOT, DYNAMO):
        raise SpecError(f"A program cannot be minified after {after!r}.")
    if spec.kind == "script":
        raise SpecError(
            "A script calls torch.compile itself. Capture its model as a factory to minify it."
        )
    be_quiet()
    report.progress("Making the model")
    model = load(spec, loading)
    search = Search(after)
    tester = Tester(after)
    report.progress("Catching graphs")
    try:
        caught = catch(model, after)
    except NotCaught as error:
        return search.nothing(str(error))
    start = _first_failing(caught, tester, search, report)
    if start is None:
        return search.nothing(None)
    graph, inputs, failure = start
    report.partial(search.result())
    graph, inputs = _minify(graph, inputs, failure, tester, search, report)
    report.progress("Running the program on its own")
    search.prove(graph, inputs, failure, spec, folder / "proof")
    return search.result(complete=True)


def _first_failing(
    caught: Sequence[Caught], tester: Tester, search: Search, report: Reporter
) -> tuple[GraphModule, list[Any], Failure] | None:
    for number, caught_graph in enumerate(caught):
        report.progress("Testing graphs", number, len(caught), "graphs")
        failure = tester.failure(caught_graph.graph, caught_graph.inputs)
        search.tested(caught_graph.label, caught_graph.graph, failure)
        if failure is not None:
            search.begin(caught_graph, failure)
            return caught_graph.graph, caught_graph.inputs, failure
    return None


def _minify(
    graph: GraphModule, inputs: list[Any], failure: Failure, tester: Tester, search: Search,
    report: Reporter,
) -> tuple[GraphModule, list[Any]]:  # fmt: skip
    from torch._functorch.fx_minifier import minifier

    def fails(candidate: GraphModule, values: Sequence[Any]) -> bool:
        search.queries += 1
        report.progress(f"Reducing: {search.left} left", search.queries, None, "queries")
        return failure.like(tester.failure(candidate, values, failure.level))

    def keep(state: GraphModule, values: Sequence[Any]) -> None:
        search.now(state, values)
        report.partial(search.result())
        report.log(f"Reduced to {search.left}.")

    smallest, left = minifier(
        copy.deepcopy(graph), [copy_of(value) for value in inputs], fails, dump_state=keep,
        skip_sanity=True, skip_offload=True,
    )  # fmt: skip
    search.now(smallest, left)
    return smallest, list(left)
