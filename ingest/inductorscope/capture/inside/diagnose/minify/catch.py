"""Catch the graphs of a program with the tensors they were called with, without compiling them.

Dynamo and AOTAutograd do their work; each graph they hand over is kept and then run eagerly, so
that the program goes on to its next graph whatever is wrong with the compiler behind them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from inductorscope.capture.inside.loading import Model
from inductorscope.capture.inside.untyped import Untyped

AOT, DYNAMO = "aot", "dynamo"


class NotCaught(Exception):
    """No graph came as far as asked; the message is a sentence for a person."""


@dataclass
class Caught:
    """One graph and the inputs of its first call."""

    label: str
    """`graph 1`, `graph 1, backward`."""
    graph: GraphModule
    inputs: list[Any]


def catch(model: Model, after: str) -> list[Caught]:
    """Run the program once. Raises NotCaught where it fails before any graph.

    Sizes are those of this run, never symbols: a graph cut down is to fail for its inputs alone.
    """
    caught: list[Caught] = []
    torch._dynamo.config.automatic_dynamic_shapes = False
    backend = _after_aot(caught) if after == AOT else _after_dynamo(caught)
    step = model.step(torch.compile(model.function, backend=backend, dynamic=False))
    torch.manual_seed(0)
    try:
        step()
    except Exception as error:
        if caught:
            return caught
        where = "AOTAutograd" if after == AOT else "Dynamo"
        raise NotCaught(
            f"The program fails with {type(error).__name__} before {where} hands a graph over: "
            f"{_first_line(str(error))} Search for the failing component instead"
            + (", or minify after dynamo." if after == AOT else ".")
        ) from error
    return caught


def kept(value: Untyped) -> Untyped:
    """A tensor of its own with the same strides; everything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    with torch.no_grad():
        if not _dense(value):
            return value.clone().requires_grad_(value.requires_grad)
        made = torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device=value.device
        )
        made.copy_(value)
    return made.requires_grad_(value.requires_grad)


def _dense(value: torch.Tensor) -> bool:
    return value.layout is torch.strided and 0 not in value.stride()


def _after_dynamo(caught: list[Caught]) -> Untyped:
    def backend(graph: GraphModule, _examples: Untyped) -> Untyped:
        return _follow(caught, f"graph {_count(caught, 'backward') + 1}", graph, boxed=False)

    return backend


def _after_aot(caught: list[Caught]) -> Untyped:
    from torch._inductor.compile_fx import compile_fx

    def take(graph: GraphModule, _examples: Untyped, **options: Untyped) -> Untyped:
        label = f"graph {_count(caught, 'backward') + 1}"
        if options.get("is_backward"):
            label = f"graph {max(1, _count(caught, 'backward'))}, backward"
        return _follow(caught, label, graph, boxed=True)

    def backend(graph: GraphModule, examples: Untyped) -> Untyped:
        return compile_fx(graph, examples, inner_compile=take)

    return backend


def _count(caught: list[Caught], without: str) -> int:
    return sum(without not in each.label for each in caught)


def _follow(caught: list[Caught], label: str, graph: GraphModule, *, boxed: bool) -> Untyped:
    """What stands in for the compiled graph: keeps its first inputs, and runs it eagerly."""
    mine = GraphModule(graph, copy.deepcopy(graph.graph))  # Dynamo's own is made late, on a call
    seen = False

    def run(*given: Untyped) -> Untyped:
        nonlocal seen
        inputs: Untyped = given[0] if boxed else given
        if not seen:
            seen = True
            mine_too = [kept(value) for value in inputs]
            if boxed:  # what AOTAutograd made holds its backward itself
                mine_too = [v.detach() if isinstance(v, torch.Tensor) else v for v in mine_too]
            caught.append(Caught(label, mine, mine_too))
        outputs = graph(*inputs)
        if boxed:
            inputs.clear()
        return outputs

    run._boxed_call = boxed  # type: ignore[attr-defined]  # how torch tells what takes a list
    return run


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return line if line.endswith((".", "!", "?")) else line + "."
