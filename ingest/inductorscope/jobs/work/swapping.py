"""Finds kernels of two programs that fit into each other's wrapper."""

from __future__ import annotations

import re

from inductorscope.analyze.benchmark.case import KernelCase
from inductorscope.capturing.launch import Swap

SIMDLEN = "cpp.simdlen"


class NoSwap(ValueError):
    """The kernels do not fit; the message is a sentence that says why."""


def swaps_of(
    a: KernelCase, b: KernelCase, a_config: dict[str, str], b_config: dict[str, str]
) -> tuple[Swap, Swap]:
    """Returns what makes A run B's kernel, and B run A's. Raises NoSwap."""
    _check(a, b)
    in_a, in_b = _renamed(b, a.kernel), _renamed(a, b.kernel)
    of_a, of_b = a_config.get(SIMDLEN), b_config.get(SIMDLEN)
    if of_a != of_b and a.kind == "cpp":
        in_a, in_b = _with_vectors(in_a, of_b), _with_vectors(in_b, of_a)
    return Swap(_text(a), in_a), Swap(_text(b), in_b)


def _check(a: KernelCase, b: KernelCase) -> None:
    if not a.definition or not b.definition:
        raise NoSwap("A library computes it.")
    if (a.kind == "cpp") != (b.kind == "cpp"):
        raise NoSwap("One kernel is C++, the other is not.")
    if _roles(a) != _roles(b):
        raise NoSwap("The wrappers pass other buffers to the two kernels.")
    for one, other in zip(a.operands, b.operands, strict=True):
        if one.layout != other.layout:
            both = f"`{one.name}` of one kernel and `{other.name}` of the other"
            raise NoSwap(f"{both} differ in shape, strides or type.")
    if _call(a) != _call(b):
        raise NoSwap("The wrappers call the two kernels with other numbers.")


def _roles(case: KernelCase) -> list[list[str]]:
    return [[name.rstrip("0123456789") for name in each.pointers] for each in case.operands]


def _call(case: KernelCase) -> str:
    """The call without names."""
    places = {each.name: f"#{number}" for number, each in enumerate(case.operands)}
    places[case.kernel] = "kernel"
    return re.sub(r"[A-Za-z_]\w*", lambda word: places.get(word[0], word[0]), case.call)


def _text(case: KernelCase) -> str:
    return "\n".join(case.definition)


def _renamed(case: KernelCase, name: str) -> str:
    return _text(case).replace(case.kernel, name)


def _with_vectors(definition: str, simdlen: str | None) -> str:
    """Compiles generated code with the vector instructions that it expects."""
    bits = int(simdlen) if simdlen and simdlen.isdecimal() else None
    return f"with torch._inductor.config.patch({{{SIMDLEN!r}: {bits}}}):\n    {definition}"
