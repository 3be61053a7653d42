"""Reports a check as text, Markdown and the JSON of github-action-benchmark."""

from collections.abc import Iterator, Sequence
from typing import Any

from inductorscope.contract.compare import Compared, Difference
from inductorscope.contract.lock import COUNTS, Program
from inductorscope.markdown.text import block, code, prose
from inductorscope.units import plural

SHOWN = 12
"""Most lines shown on each side of a difference."""


def as_text(results: Sequence[Compared]) -> str:
    return "".join(f"{line}\n" for result in results for line in _lines(result))


def _lines(result: Compared) -> Iterator[str]:
    yield f"{result.model}: {summary(result)}"
    for note in result.notes:
        yield f"  made with {note}"
    for difference in result.differences:
        yield f"  {difference.verdict}: {difference.text}"
        yield from (f"    {line}" for line in _changed(difference))
        if difference.fix:
            yield f"    → {difference.fix}"


def _changed(one: Difference) -> Iterator[str]:
    for sign, lines in (("-", one.gone), ("+", one.new)):
        yield from (f"{sign} {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"{sign} … and {len(lines) - SHOWN} more"


def summary(result: Compared) -> str:
    """`1 worse, 2 better`."""
    verdicts = [difference.verdict for difference in result.differences]
    kinds = [f"{verdicts.count(kind)} {kind}" for kind in dict.fromkeys(verdicts)]
    return ", ".join(kinds) or "as locked"


def as_markdown(results: Sequence[Compared]) -> str:
    """Formats the results for a pull request."""
    lines = [f"### Compile contract: {plural(len(results), 'program')}", ""]
    for result in results:
        lines.append(
            f"- {'✅' if result.passes else '❌'} **{code(result.model)}**: {summary(result)}"
        )
        lines += [f"  - made with {prose(note)}" for note in result.notes]
        for difference in result.differences:
            text = f"{difference.text}. {difference.fix}" if difference.fix else difference.text
            lines.append(f"  - {difference.verdict}: {prose(text)}")
            if changed := "\n".join(_changed(difference)):
                lines += [f"    {line}" for line in block(changed, "diff").split("\n")]
    return "\n".join(lines) + "\n"


def as_benchmark(programs: Sequence[Program]) -> list[dict[str, Any]]:
    """Formats the results for github-action-benchmark's `customSmallerIsBetter`."""
    return [
        {"name": f"{program.model}: {count.title}", "unit": count.unit or "count",
         "value": program.counts[count.id]}
        for program in programs
        for count in COUNTS
        if count.increase == "worse" and count.id in program.counts
    ]  # fmt: skip
