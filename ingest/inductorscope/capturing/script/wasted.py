"""What a script's steps compute in vain: from equal arguments, from zeros, or gradients unread."""

import contextlib
import gc
import inspect
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar

import torch

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.script.sampling import place_of
from inductorscope.formats.capture_facts import Wrapped

FEWEST_CALLS = 3
"""Calls from which arguments that did not change are worth a word."""
LARGE = 250_000
"""Numbers of a tensor whose zeros are counted."""
T = TypeVar("T")


class Arguments:
    """Looks at the arguments of several calls of one function."""

    def __init__(self) -> None:
        self._calls = 0
        self.denormal: dict[str, float] = {}
        """Arguments → the largest share of denormal numbers that was seen."""
        self.padding: dict[str, float] = {}
        """Arguments → the smallest share of last columns with one value that was seen."""
        self.rows: dict[str, int] = {}
        """Arguments that were one row of a larger tensor in all calls → the rows that it has."""
        self._same: dict[str, tuple[int, int]] = {}
        self._last: dict[str, Callable[[], torch.Tensor | None]] = {}

    def look(
        self, function: Untyped, args: tuple[Any, ...], kwargs: dict[str, Any], *, closely: bool
    ) -> None:
        """`closely`: whether to look at numbers too, which takes longer."""
        owner = getattr(function, "__self__", None)
        if isinstance(owner, torch.nn.Module):
            function = owner.forward
        given: dict[str, Any] = {}
        with contextlib.suppress(TypeError, ValueError):  # a signature that Python cannot tell
            given = inspect.signature(function).bind(*args, **kwargs).arguments
        tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        self._last = {name: weakref.ref(value) for name, value in tensors.items()}
        now = {
            name: (id(value), value._version)
            for name, value in tensors.items()
            if not value.is_inference()
        }
        for name, value in tensors.items():
            numbers = value.is_floating_point() or value.is_complex()
            if not numbers and value.dim() == 2 and 0 < value.numel() <= LARGE:
                if closely or value.is_cpu:
                    self.padding[name] = min(self.padding.get(name, 1.0), _padding(value))
            elif closely and value.is_cpu and value.is_floating_point() and value.numel():
                self.denormal[name] = max(self.denormal.get(name, 0.0), _denormal(value))
        rows = {name: rows for name, value in tensors.items() if (rows := _rows(value)) > 1}
        self._calls += 1
        if self._calls == 1:
            self._same, self.rows = now, rows
        self.rows = {name: rows[name] for name in self.rows.keys() & rows.keys()}
        self._same = {name: mark for name, mark in self._same.items() if now.get(name) == mark}

    def unchanged(self) -> dict[str, float | None]:
        """Returns the arguments that stayed the same, with their share of zeros."""
        tensors = {name: self._last[name]() for name in self._same}
        return {
            name: _zeros(tensor)
            for name, tensor in tensors.items()
            if tensor is not None and self._calls >= FEWEST_CALLS
        }


def _rows(tensor: torch.Tensor) -> int:
    """Returns how many rows the tensor has of which this is one; 1 if it is all of it."""
    numbers = tensor.numel()
    one = tensor.layout == torch.strided and tensor.dim() > 1 and len(tensor) == 1
    if not one or not numbers or tensor.stride(0) != numbers or tensor.storage_offset() % numbers:
        return 1
    rows: int = tensor.untyped_storage().nbytes() // (numbers * tensor.itemsize)
    return rows


def _padding(tensor: torch.Tensor) -> float:
    """Returns the share of last columns in which all rows have one value; 0 if all columns are."""
    same = (tensor == tensor[-1, -1]).all(dim=0).flip(0).tolist()
    return 0.0 if all(same) else same.index(False) / len(same)


def _denormal(tensor: torch.Tensor) -> float:
    part = (
        tensor.detach()[: max(1, len(tensor) * LARGE // tensor.numel())] if tensor.dim() else tensor
    )
    size = part.abs()
    small = (size > 0) & (size < torch.finfo(tensor.dtype).tiny)
    return int(torch.count_nonzero(small).item()) / int(part.numel())


def _zeros(tensor: torch.Tensor) -> float | None:
    if tensor.layout != torch.strided or tensor.numel() < LARGE:
        return None
    return 1 - int(torch.count_nonzero(tensor.detach()).item()) / int(tensor.numel())


def _living(kind: type[T]) -> Iterator[T]:
    return (value for value in gc.get_objects() if issubclass(type(value), kind))


def unread_gradients() -> dict[str, float]:
    """Returns modules with gradients that no optimizer reads, by the names that the program gives
    them, with their share of all gradients. Empty if an optimizer may update copies of parameters,
    such as in float32."""
    updated = {
        id(parameter): parameter.numel()
        for optimizer in _living(torch.optim.Optimizer)
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    named = {
        id(parameter): name
        for name, value in vars(sys.modules["__main__"]).items()
        if isinstance(value, torch.nn.Module)
        for parameter in value.parameters()
    }
    modules = list(_living(torch.nn.Module))
    parents = {
        id(child): (module, name)
        for module in modules
        for name, child in module.__dict__.get("_modules", {}).items()
        if name != "_orig_mod"  # of what torch.compile returns
    }
    gradients: dict[int, tuple[str, torch.Tensor]] = {}
    known = set()
    for module in modules:
        for parameter in module.__dict__.get("_parameters", {}).values():
            known.add(id(parameter))
            if parameter is not None and parameter.grad is not None:
                name = named.get(id(parameter)) or _place(module, parents)
                gradients[id(parameter)] = (name, parameter)
    own = [numbers for parameter, numbers in updated.items() if parameter not in known]
    unread, sizes, short = Counter[str](), list[int](), False
    for number, (name, parameter) in gradients.items():
        if number not in updated:
            unread[name] += parameter.numel()
            sizes.append(parameter.numel())
            short |= parameter.itemsize < torch.float32.itemsize
    copies = own and (short or not {*own, sum(own)}.isdisjoint((*sizes, sum(sizes))))
    if not updated or copies:
        return {}
    total = sum(own) + sum(parameter.numel() for _, parameter in gradients.values())
    return {name: numbers / total for name, numbers in unread.most_common()}


def _place(module: Untyped, parents: dict[int, tuple[Any, str]]) -> str:
    """Returns the class of the outermost module around this one, and the part that it is in."""
    part = ""
    while id(module) in parents:
        module, name = parents[id(module)]
        part = f".{name}"
    return f"{type(module).__name__}{part}"


def wrapped(function: Untyped) -> Wrapped:
    """Describes what is given to `torch.compile`, with the user's line that does."""
    file, line = (place_of(sys._getframe()) or ("", 0, ""))[:2]
    if not isinstance(function, torch.nn.Module):
        return Wrapped(getattr(function, "__qualname__", ""), None, file, line)
    kind = type(function)
    methods = [
        name
        for name, value in vars(kind).items()
        if isinstance(value, FunctionType) and name != "forward" and not name.startswith("_")
    ]
    return Wrapped(kind.__name__, methods, file, line)
