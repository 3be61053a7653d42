"""Records samples of what the first steps of this program compute."""

import copy
import random
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils import _pytree as pytree

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.formats.results import RESULTS, Results, Sample

SEED = 20230920
CALLS = 4
"""Calls of each compiled function that are recorded."""
STEPS = 3
"""Steps of an optimizer before which gradients are recorded."""
MOST_FUNCTIONS = 8
MOST_TENSORS = 32
"""Tensors of one call, or gradients of one step, spread evenly over all of them."""
NUMBERS = 4096
"""Numbers of one tensor."""
MOST_BYTES = 256 * 2**20
"""A larger function is not computed in float64."""


class Recorder:
    """The results of this process."""

    def __init__(self, *, float64: bool) -> None:
        self.results = Results()
        self._float64 = float64
        self._calls: Counter[str] = Counter()
        self._steps = 0
        random.seed(SEED)
        np.random.seed(SEED)  # programs use this generator
        torch.manual_seed(SEED)
        register_optimizer_step_pre_hook(self._before_step)

    def write(self, folder: Path, name: str = RESULTS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(msgspec.json.encode(self.results))

    def around(self, name: str, model: Untyped, call: Untyped) -> Untyped:
        """Returns the function, whose first calls are recorded."""

        def recorded(*args: Untyped, **kwargs: Untyped) -> Untyped:
            number = self._calls[name] + 1
            if torch.compiler.is_compiling() or number > CALLS:
                return call(*args, **kwargs)
            if name not in self._calls and len(self._calls) >= MOST_FUNCTIONS:
                return call(*args, **kwargs)
            self._calls[name] = number
            if self._float64 and number == 1:
                self._in_float64(name, model, args, kwargs)
            found = call(*args, **kwargs)
            self.results.samples += _samples(f"{name}, call {number}", found)
            return found

        return recorded

    def _in_float64(self, name: str, model: Untyped, args: Untyped, kwargs: Untyped) -> None:
        try:
            found = _computed_in_float64(model, args, kwargs)
        except Exception as error:  # noqa: BLE001  # the model is a user's code and may raise anything
            why = f"{type(error).__name__}: {str(error)[:200]}"
            self.results.notes.append(f"`{name}` cannot be computed in float64: {why}.")
            return
        self.results.in_float64 += _samples(f"{name}, call 1", found)

    def _before_step(self, optimizer: Untyped, args: Untyped, kwargs: Untyped) -> None:
        if torch.compiler.is_compiling() or self._steps >= STEPS:
            return
        self.keep_gradients(
            [parameter for group in optimizer.param_groups for parameter in group["params"]]
        )

    def keep_gradients(self, parameters: list[Untyped]) -> None:
        self._steps += 1
        gradients = [value.grad for value in parameters if value.grad is not None]
        self.results.samples += _samples(f"step {self._steps}, gradients", gradients)


def _computed_in_float64(model: Untyped, args: Untyped, kwargs: Untyped) -> Untyped:
    """Calls a copy of the function in float64. Raises what the function raises, and ValueError."""
    if isinstance(model, nn.Module):
        size = sum(value.nbytes for value in (*model.parameters(), *model.buffers()))
        drops = [
            module for module in model.modules()
            if isinstance(module, nn.modules.dropout._DropoutNd) and module.p and module.training
        ]  # fmt: skip
        if drops:
            raise ValueError("it drops values at random")
        if size > MOST_BYTES:
            raise ValueError("it is larger than 256 MiB")
        model = copy.deepcopy(model).double()
    args, kwargs = pytree.tree_map(_doubled, (args, kwargs))
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices), torch.no_grad():
        return model(*args, **kwargs)


def _doubled(value: Untyped) -> Untyped:
    if isinstance(value, torch.Tensor):
        copied = value.detach().clone()
        return copied.double() if copied.is_floating_point() else copied
    return value


def _samples(name: str, found: Untyped) -> list[Sample]:
    tensors = [
        value for value in pytree.tree_leaves(found)
        if isinstance(value, torch.Tensor) and not value.is_complex()
    ]  # fmt: skip
    places = range(len(tensors))
    if len(tensors) > MOST_TENSORS:
        places = range(0, len(tensors), -(-len(tensors) // MOST_TENSORS))
    with torch.no_grad():
        return [_sample(f"{name}, tensor {place}", tensors[place]) for place in places]


def _sample(name: str, tensor: Untyped) -> Sample:
    flat = tensor.detach().reshape(-1)
    every = max(flat.numel() // NUMBERS, 1)
    values = flat[::every][:NUMBERS].to("cpu", torch.float64)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Sample(name, dtype, tuple(tensor.shape), values.numpy().tobytes())
