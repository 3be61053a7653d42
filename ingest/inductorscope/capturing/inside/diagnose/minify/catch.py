"""Catches the graphs of a program with the tensors they are called with, without compiling them.

Dynamo and AOTAutograd work as usual; each graph they pass on is stored and run eagerly, so that the
program reaches its next graph even if the compiler behind them fails.
"""

import copy
import zlib
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from inductorscope.capturing.inside.diagnose.copying import copied
from inductorscope.capturing.inside.diagnose.minify.failure import first_line
from inductorscope.capturing.inside.diagnose.minify.text import node_lines
from inductorscope.capturing.inside.loading import Model
from inductorscope.capturing.inside.untyped import Untyped

AOT, DYNAMO = "aot", "dynamo"


class NotCaught(Exception):
    """No graph reached the requested stage; the message is a sentence for the user."""


@dataclass
class Caught:
    """A graph and the inputs of its first call."""

    label: str
    """`graph 1`, `graph 1, backward`."""
    graph: GraphModule
    inputs: list[Any]

    @property
    def fingerprint(self) -> int:
        """Tells graphs apart, and versions of torch, whose minifiers may ask other questions."""
        lines = [line.text for line in node_lines(self.graph)]
        return zlib.crc32("\n".join([torch.__version__, self.label, *lines]).encode())


def catch(model: Model, after: str) -> list[Caught]:
    """Runs the program once. Raises NotCaught if it fails before any graph.

    Sizes are those of this run, never symbols: a minified graph must fail with its inputs alone.
    """
    caught: list[Caught] = []
    torch._dynamo.config.automatic_dynamic_shapes = False
    take = _after_aot if after == AOT else _after_dynamo
    compiled = torch.compile(
        model.function, backend=lambda *given: take(caught, *given), dynamic=False
    )
    step = model.step(compiled)
    torch.manual_seed(0)
    try:
        step()
    except Exception as error:
        if caught:
            return caught
        where = "AOTAutograd" if after == AOT else "Dynamo"
        raise NotCaught(
            f"The program fails with {type(error).__name__} before {where} passes on a graph: "
            f"{_sentence(str(error))} Search for the failing component instead"
            + (", or minify after dynamo." if after == AOT else ".")
        ) from error
    return caught


def copy_of(value: Untyped) -> Untyped:
    """Copies a tensor with its strides; returns other values unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    return copied(value).requires_grad_(value.requires_grad)


def _after_dynamo(caught: list[Caught], graph: GraphModule, _examples: Untyped) -> Untyped:
    return _follow(caught, f"graph {_count(caught, 'backward') + 1}", graph, boxed=False)


def _after_aot(caught: list[Caught], graph: GraphModule, examples: Untyped) -> Untyped:
    from torch._inductor.compile_fx import compile_fx

    def take(graph: GraphModule, _examples: Untyped, **options: Untyped) -> Untyped:
        label = f"graph {_count(caught, 'backward') + 1}"
        if options.get("is_backward"):
            label = f"graph {max(1, _count(caught, 'backward'))}, backward"
        return _follow(caught, label, graph, boxed=True)

    return compile_fx(graph, examples, inner_compile=take)


def _count(caught: list[Caught], without: str) -> int:
    return sum(without not in graph.label for graph in caught)


def _follow(caught: list[Caught], label: str, graph: GraphModule, *, boxed: bool) -> Untyped:
    """Returns a substitute for the compiled graph: stores the first inputs and runs eagerly."""
    graph_copy = GraphModule(
        graph, copy.deepcopy(graph.graph)
    )  # Dynamo's graph gets its code only on a call
    seen = False

    def run(*arguments: Untyped) -> Untyped:
        nonlocal seen
        inputs: Untyped = arguments[0] if boxed else arguments
        if not seen:
            seen = True
            first_inputs = [copy_of(value) for value in inputs]
            if boxed:  # a graph of AOTAutograd includes its backward
                first_inputs = [
                    v.detach() if isinstance(v, torch.Tensor) else v for v in first_inputs
                ]
            caught.append(Caught(label, graph_copy, first_inputs))
        outputs = graph(*inputs)
        if boxed:
            inputs.clear()
        return outputs

    run._boxed_call = boxed  # type: ignore[attr-defined]  # how torch marks functions that take a list
    return run


def _sentence(text: str) -> str:
    line = first_line(text) or "no message"
    return line if line.endswith((".", "!", "?")) else line + "."
