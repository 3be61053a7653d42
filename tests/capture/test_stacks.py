"""The program's functions whose operators launch kernels, from stacks that torch recorded."""

import inspect
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch


def test_operators_of_both_passes_belong_to_the_forward_function() -> None:
    """No kernel is launched here, so only the stacks are looked at."""
    import torch
    from inductorscope.capturing.script.stacks import Stacks, functions, place_of, with_stacks
    from torch import Tensor

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return (a - b).square().amin(0).mean()

    def step() -> None:
        distance(torch.rand(8, 8, requires_grad=True), compiled(torch.rand(8, 8))).backward()

    compiled = torch.compile(lambda x: x.sin() * 2)
    step()
    stacks = Stacks()
    step()
    assert stacks.stop() == []
    events = stacks._profiler.profiler.kineto_results.events()
    assert functions(events) == []
    found = {event.name(): place_of(stack) for event, stack in with_stacks(list(events))}
    here = str(Path(__file__))
    first = inspect.getsourcelines(distance)[1]
    for name in ("aten::sub", "aten::eq", "AminBackward0", "SubBackward0"):
        assert found[name] == (here, first), name
    assert found["aten::rand"] == (here, inspect.getsourcelines(step)[1])
    compiled_ones = {name: place for name, place in found.items() if "CompiledFxGraph" in name}
    assert list(compiled_ones.values()) == [None]
