"""What the judge is asked: the original, the candidate and the shapes. Torch-free."""

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from inductorscope.analyze.benchmark.case import KernelCase, NoCase, Operand
from inductorscope.capturing.benchmark.text import case_text, numbers_of, reference_text
from inductorscope.capturing.launch import Swap

_QUOTES = re.compile("'''|\"\"\"")
WHOLE_CASE = "def kernel("
WHOLE = "whole"
"""File in a folder of what an original compiled: none of it is half-written."""
DEFINES = "async_compile."


class Shape(msgspec.Struct, frozen=True):
    """One shape at which both are called."""

    sizes: dict[str, int]
    numbers: dict[str, int]
    """Names in the call that stand for numbers."""
    operands: list[Operand]


class Order(msgspec.Struct, frozen=True, tag="judgement"):
    """One judgement."""

    kernel: str
    original: str
    candidate: str
    """Texts of test cases. Without a candidate the judge only gets ready for one."""
    reference: str
    """Text that defines `eager`, which is None if the graph does not say what is computed."""
    device: str
    shapes: list[Shape]
    nbytes: int
    """Bytes that the kernel must move at the first shape; 0 if unknown."""


def order_of(cases: Sequence[KernelCase], origin: str, candidate: str) -> Order:
    """`cases`: the recorded shape, then others. Raises NoCase."""
    case = cases[0]
    if not case.definition or case.results:
        raise NoCase(f"{case.kernel} is a library's kernel, and only generated ones are judged.")
    text = candidate
    if WHOLE_CASE not in candidate:
        text = case_text(edited(case, candidate), origin)
    return Order(
        kernel=case.kernel,
        original=case_text(case, origin),
        candidate=text,
        reference=reference_text(case),
        device=case.device,
        shapes=[Shape(at.hints, numbers_of(at), at.operands) for at in cases],
        nbytes=case.work.bytes.total or 0,
    )


def swap_of(case: KernelCase, candidate: str) -> Swap:
    """Returns what puts the candidate into its program. Raises NoCase."""
    return Swap("\n".join(case.definition), "\n".join(edited(case, candidate).definition))


def edited(case: KernelCase, candidate: str) -> KernelCase:
    """Returns the case with the candidate in place of its kernel. Raises NoCase."""
    if WHOLE_CASE in candidate:
        raise NoCase("A test case is more than a kernel: a step cannot run with it.")
    return replace(case, definition=_definition(case, candidate))


def _definition(case: KernelCase, candidate: str) -> list[str]:
    """Returns the lines that define the kernel: the candidate itself, or the original's with the
    candidate's source."""
    if DEFINES in candidate:
        if not re.search(rf"^{re.escape(case.kernel)} = ", candidate, re.M):
            raise NoCase(f"The text does not define {case.kernel}.")
        return candidate.splitlines()
    original = "\n".join(case.definition)
    opening = _QUOTES.search(original, max(original.find(DEFINES), 0))
    if opening is None or not candidate.strip():
        raise NoCase("This is neither a kernel's source, nor its definition, nor a test case.")
    closing = original.rindex(opening.group())
    return f"{original[: opening.end()]}\n{candidate.strip()}\n{original[closing:]}".splitlines()
