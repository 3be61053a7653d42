"""Each page as Markdown: shapes for an overview, a kernel and a comparison, lists for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from inductorscope import urls
from inductorscope.answers.compare.page import ComparePage
from inductorscope.answers.compile.rows import SentenceRow
from inductorscope.answers.explorer.kernel import CodeText, KernelPage
from inductorscope.answers.failures.failures import FailuresPage
from inductorscope.answers.markdown.structs import Links, rows, struct_lines, verdict
from inductorscope.answers.parts import KernelRow
from inductorscope.answers.runs.diagnosis.cause import Cause, Diagnosis
from inductorscope.answers.runs.file import FilePage
from inductorscope.answers.runs.run import RunPage
from inductorscope.markdown.figures import with_unit
from inductorscope.markdown.text import block, code, link, plain, prose, table
from inductorscope.units import (
    count,
    microseconds,
    milliseconds,
    percent,
    plural,
    ratio,
    seconds,
    size_in_bytes,
)

Shape = Callable[[Any, str], Iterator[str]]
MOST_KERNELS = 10
OF = {"step": "a step", "compile time": "compile time"}
_BLANKS = re.compile(r"\n{3,}")


def page_markdown(page: object, title: str, base: str = "") -> str:
    """The answer of a page as Markdown. `base`: the server's address, for links."""
    shape = SHAPES.get(type(page))
    lines = shape(page, base) if shape else _plain(page, title, base)
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip() + "\n"


def _plain(page: object, title: str, base: str) -> Iterator[str]:
    yield f"# {prose(title)}"
    yield ""
    yield from struct_lines(page, base)


def _figures(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield ""
    yield from (f"- **{name}**: {plain(value)}" for name, value in pairs if value)
    yield ""


def _heading(text: str) -> list[str]:
    return ["", f"## {text}", ""]


# --- a run ---


def _run(page: RunPage, base: str) -> Iterator[str]:
    links = Links(base, page.id)
    yield f"# Run {code(page.name)}"
    device = page.device_name or page.device_kind or "device not recorded"
    yield from _figures(
        (
            ("run", link(code(page.id), links.to(urls.run(page.id)))),
            ("device", code(device)),
            ("torch", code(page.torch_version or "version not recorded")),
            ("verdict", verdict(page.verdict)),
            ("speed-up over eager", "" if page.speed_up is None else ratio(page.speed_up)),
            ("step", _step(page)),
            ("kernel time per step", "" if page.kernel_time_us is None
             else microseconds(page.kernel_time_us)),
            ("compile time", "" if page.compile_seconds is None else seconds(page.compile_seconds)),
            ("graph breaks", "" if page.graph_breaks is None else count(page.graph_breaks)),
            ("recompiles", "" if page.recompiles is None else count(page.recompiles)),
            ("generated kernels", count(page.kernel_count)),
            ("kernel lines explained", _explained(page)),
        )
    )  # fmt: skip
    if page.diagnosis is not None:
        yield from _diagnosis(page.diagnosis, links)
    findings = [verdict(one) for one in page.verdicts]
    findings += [_said(one) for one in page.said]
    findings += [f"**missing** {code(what)}: {code(why)}" for what, why in page.missing.items()]
    if findings:
        yield from _heading("Findings")
        yield from (f"- {each}" for each in findings)
    if page.graphs:
        yield from _heading("Graphs")
        head = ("graph", "direction", "FX nodes", "kernels", "calls", "time", "share")
        cells = (
            (link(code(row.slug), links.of(row)), row.direction, count(row.node_count),
             count(row.kernel_count), count(row.call_count), microseconds(row.time_us),
             percent(row.share))
            for row in page.graphs
        )  # fmt: skip
        yield from table(head, map(_plain_cells, cells))
    if page.categories:
        yield from _heading("Time by kind of kernel")
        kind_head = ("kind", "kernels", "calls", "time", "share")
        kinds = (
            (row.category, count(row.kernels), count(row.calls), microseconds(row.time_us),
             percent(row.share))
            for row in page.categories
        )  # fmt: skip
        yield from table(kind_head, map(_plain_cells, kinds))
    if page.kernels:
        yield from _heading("Kernels")
        yield from _kernels(page.kernels, links)
    if page.trace_kernels:
        yield from _heading("Kernels of the trace")
        yield from rows(page.trace_kernels, links)
    if page.sources:
        yield from _heading("Source files")
        yield from rows(page.sources, links)
    yield from _heading("Versions and options")
    yield from _figures(
        [("torch commit", code(page.torch_git or "")),
         ("files", f"{count(page.file_count)}, {size_in_bytes(page.bytes_in)}"),
         *((code(key), code(value)) for key, value in page.environment.items()
           if isinstance(value, str | int | float) and "\n" not in str(value))]
    )  # fmt: skip


def _plain_cells(cells: Iterable[str]) -> Iterator[str]:
    return map(plain, cells)


def _said(sentence: SentenceRow) -> str:
    words = "".join(part.text for part in sentence.parts)
    return f"**{prose(sentence.label)}** {prose(f'{words} {sentence.advice}')}"


def _step(page: RunPage) -> str:
    if page.compiled_ms is None:
        return ""
    eager = "" if page.eager_ms is None else f", {milliseconds(page.eager_ms)} eager"
    return f"{milliseconds(page.compiled_ms)} compiled{eager}"


def _explained(page: RunPage) -> str:
    known = page.coverage
    if known is None or not known.lines:
        return ""
    return (
        f"of {count(known.lines)} lines {count(known.lines_exact)} exact, "
        f"{count(known.lines_inferred)} inferred, {count(known.lines_kernel)} by kernel alone"
    )


def _diagnosis(found: Diagnosis, links: Links) -> Iterator[str]:
    yield from _heading("What to change first" if found.causes else "Nothing stands out")
    for at, cause in enumerate((*found.causes, *found.more), 1):
        yield from _cause(at, cause, links)
    for each in found.cleared:
        yield f"- {'Checked' if each.judged else 'Not checked'}: {prose(each.text)}"


def _cause(at: int, cause: Cause, links: Links) -> Iterator[str]:
    wins = ""
    if cause.wins_us is not None:
        share = f", {percent(cause.share)} of {OF[cause.of]}" if cause.share is not None else ""
        wins = plain(f" Wins {microseconds(cause.wins_us)}{share} ({cause.known}).")
    yield f"{at}. {link(f'**{prose(cause.what)}**', links.to(cause.evidence))}{wins}"
    for label, text in (("", cause.why), ("Fix: ", cause.fix), ("Costs: ", cause.trade)):
        if text:
            yield f"   {label}{prose(text)}"
    for line in cause.lines:
        place = link(code(f"{line.path}:{line.line}"), links.to(line.href))
        spent = "" if line.us is None else f" {plain(microseconds(line.us))}"
        yield f"   - {place}{spent} {code(line.code)}"


def _kernels(kernels: list[KernelRow], links: Links) -> Iterator[str]:
    head = ("kernel", "graph", "kind", "calls", "time per step", "one call", "share")
    cells = (
        (link(code(row.name), links.of(row)), code(row.graph), row.category, count(row.call_count),
         microseconds(row.time_us), microseconds(row.each_us), percent(row.share))
        for row in kernels[:MOST_KERNELS]
    )  # fmt: skip
    yield from table(head, map(_plain_cells, cells))
    if len(kernels) > MOST_KERNELS:
        yield ""
        yield f"{plural(len(kernels) - MOST_KERNELS, 'more kernel')} on the page of times."


# --- a kernel ---


def _kernel(page: KernelPage, base: str) -> Iterator[str]:
    links = Links(base, page.run.id)
    address = urls.kernel(page.run.id, page.graph.slug, page.name, page.call.handle)
    own, work = page.call.time, page.work
    standing = page.roofline.standing if page.roofline else None
    yield f"# Kernel {code(page.name)}"
    yield from _figures(
        (
            ("call", link(code(urls.kernel_key(page.name, page.call.handle)), links.to(address))),
            ("run", f"{code(page.run.name)} ({code(page.run.id)})"),
            ("graph", code(page.graph.slug)),
            ("kind", page.category),
            ("time per step", "" if page.time_us is None else
             f"{microseconds(page.time_us)}, {percent(page.share)} of the run's kernel time"),
            ("calls", f"{count(page.call_count)} in the code"
             + (f", {count(page.time_calls)} per step" if page.time_calls is not None else "")),
            ("mean of one call", "" if page.each_us is None else microseconds(page.each_us)),
            ("this call", "" if own is None else
             f"{microseconds(own.time_us)} ({'measured' if own.measured else 'an equal part'})"),
            ("time comes from", prose(page.time_source or "")),
            ("bytes of one call", "" if work is None or work.bytes.total is None else
             f"{size_in_bytes(work.bytes.total)} ({work.bytes.how})"),
            ("bandwidth", "" if standing is None or standing.bytes_per_s is None else
             with_unit("bytes_per_s", standing.bytes_per_s)),
            ("share of its roof", _roof(page)),
            ("permalink", link(code(page.call.permalink),
                               links.to(urls.permalink(page.call.permalink)))),
        )
    )  # fmt: skip
    if page.work_missing:
        yield f"Bytes are not known: {prose(page.work_missing)}"
    if page.code is not None:
        text = page.code
        yield from _heading(f"Code, lines {text.body_first} to {text.body_last} of the output code")
        yield block(_body(text), text.language)
    for title, values in (
        ("FX nodes", page.fx_nodes), ("IR", page.ir_nodes), ("Calls", page.calls),
        ("Elsewhere", page.elsewhere), ("Benchmarks", page.benchmarks),
    ):  # fmt: skip
        if values:
            yield from _heading(title)
            yield from rows(values, links)
    if page.machine is not None and page.machine.configurations:
        yield from _heading("Machine code")
        yield from rows(page.machine.configurations, links)


def _roof(page: KernelPage) -> str:
    if page.roofline is None or page.roofline.standing.share is None:
        return ""
    standing = page.roofline.standing
    source = f", limits {page.peaks.provenance}" if page.peaks else ""
    saves = ""
    if standing.saves is not None:
        saves = f"; reaching it could save {percent(standing.saves)} of the step"
    over = f" {standing.over}" if standing.over else ""
    return f"{percent(standing.share)}, bound by {standing.bound}{source}{saves}{over}"


def _body(text: CodeText) -> str:
    lines = text.text.split("\n")
    return "\n".join(lines[text.body_first - text.first : text.body_last - text.first + 1])


# --- others ---


def _compare(page: ComparePage, base: str) -> Iterator[str]:
    links = Links(base, page.a.id)
    address = urls.compare(page.a.id, page.b.id)
    yield f"# {link('Two runs compared', links.to(address))}"
    yield ""
    yield page.markdown


def _failures(page: FailuresPage, base: str) -> Iterator[str]:
    if page.failures and page.report:
        yield page.report
    yield from _plain(page, "Failures of a run", base)


def _file(page: FilePage, base: str) -> Iterator[str]:
    yield f"# {code(page.path)}"
    lines = page.lines
    yield from _figures(
        (("run", f"{code(page.run.name)} ({code(page.run.id)})"), ("kind of file", page.role),
         ("size", size_in_bytes(page.size)), ("lines", count(page.line_count)),
         ("shown", f"{page.first} to {page.last}"), ("not shown", page.why_not or ""))
    )  # fmt: skip
    if lines:
        yield from rows(lines, Links(base, page.run.id))


SHAPES: dict[type, Shape] = {
    RunPage: _run,
    KernelPage: _kernel,
    ComparePage: _compare,
    FailuresPage: _failures,
    FilePage: _file,
}
"""Pages that readers want in another order than that of their fields."""
