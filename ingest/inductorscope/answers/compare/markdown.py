"""The difference of two runs as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inductorscope.answers.compare.page import ComparePage, GroupRow, KernelCalls
from inductorscope.units import dash, microseconds, signed_microseconds

MOST_KERNELS = 20


def as_markdown(page: ComparePage) -> str:
    return "\n".join(_lines(page)) + "\n"


def _lines(page: ComparePage) -> Iterator[str]:
    yield f"**A** {page.a.name} ({page.a.id}) → **B** {page.b.name} ({page.b.id})"
    yield ""
    yield from (f"- **{one.label}**: {one.text}" for one in page.said)
    if page.inputs:
        rows = ((row.kind, f"`{row.name}`", dash(row.a), dash(row.b)) for row in page.inputs)
        yield from _table(("input", "name", "A", "B"), rows)
    if page.bars:
        bars = [(bar.title, signed_microseconds(bar.more_us)) for bar in page.bars]
        step = ("**a step**", f"**{signed_microseconds(page.step.more_us)}**")
        yield from _table(("from A's step to B's", "difference"), [*bars, step])
    if page.groups:
        kernels = (
            (_names(row.a), _names(row.b), row.change, _known(row),
             microseconds(row.a_us), microseconds(row.b_us), signed_microseconds(row.more_us))
            for row in page.groups[:MOST_KERNELS]
        )  # fmt: skip
        yield from _table(
            ("kernels of A", "kernels of B", "change", "known by", "A", "B", "difference"), kernels
        )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"


def _names(kernels: list[KernelCalls]) -> str:
    return "<br>".join(f"`{one.kernel}` ×{one.calls}" for one in kernels) or "—"


def _known(row: GroupRow) -> str:
    return f"{row.known}, {row.certainty}" if row.known else "—"
