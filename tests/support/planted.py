"""Puts a fault into the code that Inductor generates for one operation.

The operation returns twice the right value, in scalar and vectorised C++ and in Triton; a reduction
doubles each element.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch._inductor.codegen import cpp
from torch._inductor.codegen.cpp import CppOverrides, CppVecKernel, CppVecOverrides
from torch._inductor.codegen.triton import TritonKernel, TritonKernelOverrides, TritonOverrides
from torch._inductor.ops_handler import OpsHandler
from torch._inductor.virtualized import V

_OWNERS = (CppOverrides, CppVecOverrides, TritonOverrides, TritonKernelOverrides)
_NEXT = "next_value"
REDUCTIONS = ("sum", "max")

WRITTEN: Counter[str] = Counter()
"""How often each kind of fault was written into code. A model may not have the operation."""


@contextmanager
def planted(operation: str, backward: bool = False) -> Iterator[None]:
    """Plants a fault in `exp`, `rsqrt`, … or one of REDUCTIONS.

    `backward`: in backward graphs only.
    """
    undo = install(operation, backward)
    try:
        yield
    finally:
        for owner, name, before in undo:
            setattr(owner, name, before)


def install(operation: str, backward: bool = False) -> list[tuple[Any, str, Any]]:
    """Plants the fault for good. Returns what it replaced: owner, name and original."""
    undo: list[tuple[Any, str, Any]] = []
    if operation in REDUCTIONS:
        _replace(undo, cpp, "reduction_combine", _wrong_combine(operation, backward, 0))
        _replace(
            undo, CppVecKernel, "reduction_combine_vec", _wrong_combine(operation, backward, 1)
        )
        _replace(undo, TritonKernel, "reduction", _wrong_reduction(operation, backward))
    else:
        for owner in _writers(operation):
            _replace(undo, owner, operation, _doubled(backward))
    return undo


def _writers(operation: str) -> list[type]:
    """The classes that write it; some inherit `sub`, `mul` or `sigmoid` from a common one."""
    found = [
        next((base for base in owner.__mro__ if operation in vars(base)), OpsHandler)
        for owner in _OWNERS
    ]
    writers = [owner for owner in dict.fromkeys(found) if owner is not OpsHandler]
    if not writers:
        raise ValueError(f"Inductor has no operation {operation} that could be made wrong.")
    return writers


def _replace(undo: list[tuple[Any, str, Any]], owner: Any, name: str, wrong: Any) -> None:
    before = vars(owner)[name]
    undo.append((owner, name, before))
    static = isinstance(before, staticmethod)
    made = wrong(before.__func__ if static else before)
    setattr(owner, name, staticmethod(made) if static else made)


def _active(backward: bool) -> bool:
    return not backward or bool(V.graph.is_backward)


def _doubled(backward: bool) -> Callable[[Any], Any]:
    def of(right: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*args: Any, **kwargs: Any) -> Any:
            written = right(*args, **kwargs)
            if not _active(backward):
                return written
            WRITTEN[right.__name__] += 1
            return f"({written} + {written})"

        wrong.__name__ = right.__name__
        return wrong

    return of


def _wrong_combine(operation: str, backward: bool, place: int) -> Callable[[Any], Any]:
    """What is combined counts twice: the kind of reduction is argument number `place`."""

    def of(right: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*args: Any, **kwargs: Any) -> Any:
            if args[place] == operation and _active(backward):
                WRITTEN[operation] += 1
                given = list(args)
                following = kwargs.pop(_NEXT) if _NEXT in kwargs else given.pop(place + 2)
                given.insert(place + 2, f"({following} + {following})")
                return right(*given, **kwargs)
            return right(*args, **kwargs)

        return wrong

    return of


def _wrong_reduction(operation: str, backward: bool) -> Callable[[Any], Any]:
    """Triton combines inside of one function, so its argument is doubled before."""

    def of(right: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, dtype: Any, src_dtype: Any, kind: Any, value: Any) -> Any:
            if kind == operation and _active(backward):
                WRITTEN[operation] += 1
                value = V.ops.add(value, value)
            return right(self, dtype, src_dtype, kind, value)

        return wrong

    return of
