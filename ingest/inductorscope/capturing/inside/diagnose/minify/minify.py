"""Searches for the smallest failing program with torch's minifier on a program's graphs."""

import contextlib
import copy
import io
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec
from torch.fx import GraphModule

from inductorscope.capturing.inside.diagnose.minify.asked import FAILS, Asked, Journal, surviving
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

_STRATEGY = re.compile(r"Strategy: ([^(]+) \(G: ")


def diagnose(
    spec: CaptureSpec, loading: Loading, options: dict[str, Any], folder: Path, report: Reporter
) -> dict[str, Any]:
    """Minifies a program, in forks. Options: `after` (aot or dynamo), and `resumed`, what a stopped
    search had found."""
    resumed = dict(options.get("resumed") or {})
    after = str(resumed.get("after") or options.get("after") or AOT)
    if after not in (AOT, DYNAMO):
        raise SpecError(f"A program cannot be minified after {after!r}.")
    if spec.kind == "script":
        raise SpecError(
            "A script calls torch.compile itself. Capture its model as a factory to minify it."
        )
    asked = msgspec.convert(resumed.get("checkpoint") or {}, Asked)
    journal = Journal(asked, folder / "asked.json")
    started = time.monotonic() - float(resumed.get("seconds") or 0)
    surviving(journal, report)
    return minify(spec, loading, Search(after, journal, started), folder, report)


def minify(
    spec: CaptureSpec, loading: Loading, search: Search, folder: Path, report: Reporter
) -> dict[str, Any]:
    """Minifies a program in this process, which its graphs may end."""
    be_quiet()
    report.progress("Making the model")
    model = load(spec, loading)
    tester = Tester(search.after, search.journal)
    report.progress("Catching graphs")
    try:
        caught = catch(model, search.after)
    except NotCaught as error:
        return search.nothing(str(error))
    start = _earlier(caught, search) or _first_failing(caught, tester, search, report)
    if start is None:
        return search.nothing(None)
    graph, inputs, failure = start
    graph, inputs = _minify(graph, inputs, failure, tester, search, report)
    report.partial(search.result())
    report.progress("Running the program on its own")
    search.prove(graph, inputs, failure, spec, folder / "proof")
    return search.result(complete=True)


def _earlier(
    caught: Sequence[Caught], search: Search
) -> tuple[GraphModule, list[Any], Failure] | None:
    """Returns the graph that was being reduced before, if there was one."""
    failure = search.journal.asked.failure
    if failure is None:
        return None
    for graph in caught:
        if graph.fingerprint == search.journal.asked.graph:
            search.tested(graph.label, graph.graph, failure)
            search.begin(graph, failure)
            return graph.graph, graph.inputs, failure
    search.notes.append("The graph of the earlier search is not there any more: it began anew.")
    return None


def _first_failing(
    caught: Sequence[Caught], tester: Tester, search: Search, report: Reporter
) -> tuple[GraphModule, list[Any], Failure] | None:
    for number, caught_graph in enumerate(caught):
        report.progress("Testing graphs", number, len(caught), "graphs")
        search.journal.begin(caught_graph)
        failure = tester.failure(caught_graph.graph, caught_graph.inputs)
        search.tested(caught_graph.label, caught_graph.graph, failure)
        if failure is not None:
            search.journal.begin(caught_graph, failure)
            search.begin(caught_graph, failure)
            return caught_graph.graph, caught_graph.inputs, failure
    return None


def _minify(
    graph: GraphModule, inputs: list[Any], failure: Failure, tester: Tester, search: Search,
    report: Reporter,
) -> tuple[GraphModule, list[Any]]:  # fmt: skip
    from torch._functorch.fx_minifier import minifier

    journal, strategies = search.journal, Strategies(sys.stderr)
    known = list(reversed(journal.asked.answers))
    answers: dict[str, bool] = {}

    def fails(candidate: GraphModule, values: Sequence[Any]) -> bool:
        code = candidate.code
        if code not in answers:  # the minifier asks again of each graph that it takes
            answers[code] = known.pop() == FAILS if known else query(candidate, values)
        return answers[code]

    def query(candidate: GraphModule, values: Sequence[Any]) -> bool:
        report.partial(search.result())
        queries = len(journal.asked.answers)
        report.progress(f"{search.step}; trying {strategies.now}", queries, None, "queries")
        if not failure.like(tester.failure(candidate, values, failure.level)):
            return False
        journal.answer(FAILS)
        return True

    def keep(state: GraphModule, values: Sequence[Any]) -> None:
        before = search.current
        search.now(state, values)
        if search.current == before:
            return  # it shows the first and the last graph once more
        went, left = len(before), len(search.current)
        went_on = f"from {went} to {left}" if went != left else f"on with {left}"
        search.step = f"Went {went_on} nodes, {strategies.now}"
        if not known:
            report.log(f"{search.step}.")

    with contextlib.redirect_stderr(strategies):
        smallest, left = minifier(
            copy.deepcopy(graph), [copy_of(value) for value in inputs], fails, dump_state=keep,
            skip_sanity=True, skip_offload=True,
        )  # fmt: skip
    search.now(smallest, left)
    return smallest, list(left)


class Strategies(io.TextIOBase):
    """Stands in for stderr, where torch's minifier prints what it tries, and passes everything
    on."""

    def __init__(self, behind: TextIO) -> None:
        self._behind = behind
        self.now = ""
        """What is being tried: `truncate suffix`."""

    def write(self, text: str) -> int:
        if strategy := _STRATEGY.match(text):
            self.now = strategy[1].lower()
        return self._behind.write(text)
