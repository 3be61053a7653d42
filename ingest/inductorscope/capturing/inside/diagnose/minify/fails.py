"""Tests whether a graph fails."""

import copy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from inductorscope.capturing.inside.diagnose.minify import failure as failures
from inductorscope.capturing.inside.diagnose.minify import parts
from inductorscope.capturing.inside.diagnose.minify.asked import COMPILING, Journal
from inductorscope.capturing.inside.diagnose.minify.catch import AOT, copy_of
from inductorscope.capturing.inside.diagnose.minify.failure import Failure
from inductorscope.capturing.inside.diagnose.minify.program import ACCURACY, CRASH, DIFFER
from inductorscope.capturing.inside.untyped import Untyped


@dataclass(frozen=True)
class Tester:
    """Compiles graphs like the capture, and reports how they fail."""

    after: str
    journal: Journal

    def failure(self, graph: GraphModule, inputs: Sequence[Any], level: str = "") -> Failure | None:
        """Returns how a graph fails; with a `level`, only by `crash` or by `accuracy`. None if it
        does not.

        A graph that fails eagerly is invalid, so it does not count as failing.
        """
        with self.journal.query():
            return self._failure(graph, inputs, level)

    def _failure(self, graph: GraphModule, inputs: Sequence[Any], level: str) -> Failure | None:
        try:
            expected = parts.results(copy.deepcopy(graph), _fresh(inputs))
        except Exception as error:  # noqa: BLE001  # the graph was cut into an invalid one
            print(f"Eagerly, {type(error).__name__}: {error}"[:1000], file=sys.stderr)
            return None
        if self.after == AOT and not all(_plain(value) for value in expected):
            return None  # Inductor takes flat outputs only
        self.journal.answer(COMPILING)
        try:
            actual = parts.results(self._compiled(graph, inputs), _fresh(inputs))
        except Exception as error:  # noqa: BLE001  # the failure that the search is for
            print(f"{type(error).__name__}: {error}"[:2000], file=sys.stderr)
            return None if level == ACCURACY else failures.of_exception(error)
        if level == CRASH:
            return None
        why = parts.difference(expected, actual, parts.exact_results(graph, _fresh(inputs)))
        return Failure("numbers", "different numbers", f"{DIFFER}: {why}", ()) if why else None

    def _compiled(self, graph: GraphModule, inputs: Sequence[Any]) -> Untyped:
        graph = copy.deepcopy(graph)
        if self.after == AOT:
            from torch._inductor.compile_fx import compile_fx_inner

            with torch.no_grad():
                inner = compile_fx_inner(graph, _fresh(inputs))
            return lambda *values: inner(list(values))
        torch._dynamo.reset()
        return torch.compile(graph, fullgraph=True, dynamic=False)


def _fresh(inputs: Sequence[Any]) -> list[Any]:
    return [copy_of(value) for value in inputs]


def _plain(value: Untyped) -> bool:
    return value is None or isinstance(value, torch.Tensor | int | float | torch.SymInt)


def be_quiet() -> None:
    """Disables debug folders and caches of graphs, and draws random numbers as eager does, because
    otherwise graphs that draw would differ without a fault."""
    import torch._functorch.config
    from torch._inductor import config

    config.trace.enabled = False
    config.fx_graph_cache = False
    config.fallback_random = True
    torch._functorch.config.enable_autograd_cache = False
