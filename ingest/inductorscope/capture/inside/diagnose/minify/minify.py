"""The smallest program that fails: torch's minifier on the graphs of a captured program."""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule

from inductorscope.capture.inside.diagnose.minify import failure as failures
from inductorscope.capture.inside.diagnose.minify.catch import (
    AOT,
    DYNAMO,
    Caught,
    NotCaught,
    catch,
    kept,
)
from inductorscope.capture.inside.diagnose.minify.fails import Tester
from inductorscope.capture.inside.diagnose.minify.failure import Failure
from inductorscope.capture.inside.diagnose.minify.found import Found
from inductorscope.capture.inside.diagnose.minify.program import ACCURACY, CRASH
from inductorscope.capture.inside.diagnose.minify.quiet import be_quiet
from inductorscope.capture.inside.diagnose.minify.steps import Listening
from inductorscope.capture.inside.diagnose.minify.text import graph_of, unpacked_inputs
from inductorscope.capture.inside.loading import load
from inductorscope.capture.inside.report import Reporter
from inductorscope.capture.permission import Loading
from inductorscope.capture.spec import CaptureSpec, SpecError

LEVELS = ("any", CRASH, ACCURACY)


def diagnose(
    spec: CaptureSpec, loading: Loading, options: dict[str, Any], folder: Path, report: Reporter
) -> dict[str, Any]:
    """Options: `after` (aot or dynamo), `level` (crash, accuracy or any), `resumed`, and `isolated`
    (each graph in a process of its own)."""
    resumed = dict(options.get("resumed") or {})
    after = str(resumed.get("after") or options.get("after") or AOT)
    level = str(options.get("level") or "any")
    if after not in (AOT, DYNAMO) or level not in LEVELS:
        raise SpecError(f"There is no minifying after {after!r} with level {level!r}.")
    if spec.kind == "script":
        raise SpecError("A script compiles its own way: give its model as a factory to minify it.")
    be_quiet()
    report.progress("Making the model")
    model = load(spec, loading)
    found = Found(after, level, str(torch.__version__))
    isolated = bool(options.get("isolated"))
    tester = Tester(spec, loading, after, folder / "query", isolated)
    start = _resume(resumed, tester, found, report)
    if start is None:
        report.progress("Catching graphs")
        try:
            caught = catch(model, after)
        except NotCaught as error:
            return found.nothing(str(error))
        start = _first_failing(caught, tester, level, found, report)
    if start is None:
        return found.nothing(None)
    graph, inputs, failure = start
    report.partial(found.result())
    graph, inputs = _minify(graph, inputs, failure, tester, found, report)
    report.progress("Running the program by itself")
    found.prove(graph, inputs, failure, spec, folder / "proof")
    return found.result(complete=True)


def _resume(
    resumed: dict[str, Any], tester: Tester, found: Found, report: Reporter
) -> tuple[GraphModule, list[Any], Failure] | None:
    """The graph an earlier job had come to, where it still fails."""
    checkpoint = resumed.get("checkpoint")
    if not checkpoint or not resumed.get("failure"):
        return None
    report.progress("Taking up the earlier search")
    failure = failures.from_builtins(resumed["failure"])
    try:
        graph = graph_of(str(checkpoint["text"]))
        inputs = unpacked_inputs(checkpoint["inputs"])
        again = failure.like(tester.failure(graph, inputs, failure.level))
    except Exception as error:  # noqa: BLE001  # a text that cannot be traced: begin again
        found.notes.append(f"The earlier search could not be taken up ({type(error).__name__}).")
        return None
    if not again:
        found.notes.append(
            "The graph of the earlier search does not fail with the inputs that were kept (large "
            "ones are drawn anew), so the search began again."
        )
        return None
    found.take_up(resumed)
    return graph, inputs, failure


def _first_failing(
    caught: Sequence[Caught], tester: Tester, level: str, found: Found, report: Reporter
) -> tuple[GraphModule, list[Any], Failure] | None:
    for number, each in enumerate(caught):
        report.progress("Testing graphs", number, len(caught), "graphs")
        failure = tester.failure(each.graph, each.inputs, level)
        found.tested(each.label, each.graph, failure)
        if failure is not None:
            found.begin(each, failure)
            return each.graph, each.inputs, failure
    return None


def _minify(
    graph: GraphModule, inputs: list[Any], failure: Failure, tester: Tester, found: Found,
    report: Reporter,
) -> tuple[GraphModule, list[Any]]:  # fmt: skip
    try:
        from torch._functorch.fx_minifier import minifier
    except ImportError as error:
        found.notes.append(f"This torch ({torch.__version__}) has no minifier of ours: {error}.")
        return graph, inputs

    def fails(candidate: GraphModule, values: Sequence[Any]) -> bool:
        found.steps.queries += 1
        report.progress(found.steps.sentence, found.steps.queries, None, "queries")
        return failure.like(tester.failure(candidate, values, failure.level))

    def keep(state: GraphModule, values: Sequence[Any]) -> None:
        found.now(state, values)
        report.partial(found.result())
        report.log(found.last_step)

    with contextlib.redirect_stderr(Listening(sys.stderr, found.steps.line)):
        smallest, left = minifier(
            copy.deepcopy(graph), [kept(value) for value in inputs], fails, dump_state=keep,
            skip_sanity=True, skip_offload=True,
        )  # fmt: skip
    found.now(smallest, left)
    return smallest, list(left)
