"""The difference of two runs as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from inductorscope.answers.compare.page import ComparePage, GroupRow, KernelCalls
from inductorscope.markdown.text import code, plain, prose, table
from inductorscope.units import DASH, microseconds, signed_microseconds

MOST_KERNELS = 20


def as_markdown(page: ComparePage) -> str:
    return "\n".join(_lines(page)) + "\n"


def _lines(page: ComparePage) -> Iterator[str]:
    a, b = (f"{code(one.name)} ({one.id})" for one in (page.a, page.b))
    yield f"**A** {a} → **B** {b}"
    yield ""
    yield from (f"- **{prose(one.label)}**: {prose(one.text)}" for one in page.said)
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
            (_names(row.a), _names(row.b), row.change, _known(row),
             plain(microseconds(row.a_us)), plain(microseconds(row.b_us)), _more(row.more_us))
            for row in page.groups[:MOST_KERNELS]
        )  # fmt: skip
        yield ""
        yield from table(
            ("kernels of A", "kernels of B", "change", "known by", "A", "B", "difference"), kernels
        )


def _more(us: float | None) -> str:
    return plain(signed_microseconds(us))


def _names(kernels: list[KernelCalls]) -> str:
    return "<br>".join(f"{code(one.kernel)} ×{one.calls}" for one in kernels) or DASH


def _known(row: GroupRow) -> str:
    return f"{row.known}, {row.certainty}" if row.known else DASH
