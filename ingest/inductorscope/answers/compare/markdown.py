"""The difference of two runs as Markdown, for a pull request."""

from collections.abc import Iterator

from inductorscope.answers.compare.page import ComparePage, KernelCalls
from inductorscope.answers.machine.compared import MachineDifference
from inductorscope.markdown.text import code, plain, prose, table
from inductorscope.units import DASH, dash, microseconds, signed_microseconds

MOST_KERNELS = 20
MOST_NODES = 5
"""Most nodes of each kernel: those whose instructions differ most."""
MOST_NAMES = 4


def compared(page: ComparePage) -> Iterator[str]:
    """Yields the lines of a comparison, without a title."""
    a, b = (f"{code(side.name)} ({side.id})" for side in (page.a, page.b))
    yield f"**A** {a} → **B** {b}"
    yield ""
    yield from (f"- **{prose(sentence.label)}**: {prose(sentence.text)}" for sentence in page.said)
    if page.inputs:
        rows = (
            (row.kind, code(row.name), code(row.a or "") or DASH, code(row.b or "") or DASH)
            for row in page.inputs
        )
        yield ""
        yield from table(("input", "name", "A", "B"), rows)
    if page.bars:
        bars = [(prose(bar.title), _more(bar.more_us)) for bar in page.bars]
        yield ""
        yield from table(
            ("from A's step to B's", "difference"),
            [*bars, ("**a step**", f"**{_more(page.step.more_us)}**")],
        )
    if page.groups:
        kernels = (
            (_names(row.a), _names(row.b), row.change,
             f"{row.known}, {row.certainty}" if row.known else DASH,
             plain(microseconds(row.a_us)), plain(microseconds(row.b_us)), _more(row.more_us))
            for row in page.groups[:MOST_KERNELS]
        )  # fmt: skip
        yield ""
        yield from table(
            ("kernels of A", "kernels of B", "change", "known by", "A", "B", "difference"), kernels
        )
    if page.machine:
        yield ""
        yield from table(
            ("machine code of A", "of B", "instructions", "registers", "spills", "B has"),
            map(_machine, page.machine),
        )
        nodes = (
            (code(row.b.kernel), ", ".join(map(code, node.nodes[:MOST_NAMES])) or "none",
             str(node.a), str(node.b), _kinds(node.more))
            for row in page.machine
            for node in row.nodes[:MOST_NODES]
        )  # fmt: skip
        yield ""
        yield from table(("instructions of", "FX nodes", "A", "B", "B has"), nodes)


def _machine(row: MachineDifference) -> Iterator[str]:
    yield from (code(row.a.kernel), code(row.b.kernel))
    if row.missing:
        yield from (prose(row.missing), DASH, DASH, DASH)
        return
    for name in ("instructions", "registers", "spills"):
        a, b = getattr(row.a, name), getattr(row.b, name)
        yield DASH if a is b is None else f"{dash(a)} → {dash(b)}"
    yield _kinds(row.more)


def _kinds(more: dict[str, int]) -> str:
    return ", ".join(f"{number:+} {kind}" for kind, number in more.items()) or DASH


def _more(us: float | None) -> str:
    return plain(signed_microseconds(us))


def _names(kernels: list[KernelCalls]) -> str:
    return "<br>".join(f"{code(kernel.kernel)} ×{kernel.calls}" for kernel in kernels) or DASH
