"""Renders each page as Markdown: special layouts for an overview, a kernel and a comparison, lists
for the rest."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from inductorscope import urls
from inductorscope.analyze.machine.geometry import Geometry
from inductorscope.answers.compare.markdown import compared
from inductorscope.answers.compare.page import ComparePage
from inductorscope.answers.explorer.kernel import CodeText, KernelPage
from inductorscope.answers.failures.failures import FailuresPage
from inductorscope.answers.machine.left_out import in_words
from inductorscope.answers.markdown.structs import Links, links_of, named, rows, struct_lines
from inductorscope.answers.runs.diagnosis.cause import Cause, Diagnosis
from inductorscope.answers.runs.run import RunPage
from inductorscope.markdown.text import block, code, link, plain, prose
from inductorscope.units import (
    DASH,
    bandwidth,
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
MOST_KERNELS = 5
OF = {"step": "a step", "compile time": "compile time"}
OF_GRAPHS = (
    "slug", "instances", "direction", "node_count", "kernel_count", "call_count", "time_us",
    "share",
)  # fmt: skip
OF_KINDS = ("category", "kernels", "calls", "time_us", "share")
OF_KERNELS = ("name", "graph", "call_count", "time_us", "share")
_BLANKS = re.compile(r"\n{3,}")


def page_markdown(page: object, title: str, base: str = "") -> str:
    """Returns the answer of a page as Markdown. `base`: the server's address, for links."""
    shape = SHAPES.get(type(page))
    lines = shape(page, base) if shape else _plain(page, title, base)
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip() + "\n"


def _plain(page: object, title: str, base: str) -> Iterator[str]:
    yield f"# {link(prose(title), links_of(page, base).of(page))}"
    yield ""
    yield from struct_lines(page, base)


def _figures(*pairs: tuple[str, str]) -> Iterator[str]:
    yield ""
    yield from (f"- **{name}**: {plain(value)}" for name, value in pairs if value not in ("", DASH))
    yield ""


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Returns a section, or nothing if it is empty."""
    held = list(lines)
    if held:
        yield from ("", f"## {title}", "", *held)


# --- a run ---


def _run(page: RunPage, base: str) -> Iterator[str]:
    links = Links(base, page.id)
    yield f"# Run {code(page.name)}"
    yield from _figures(
        ("run", link(code(page.id), links.to(urls.run(page.id)))),
        ("device", code(page.device_name or page.device_kind or "device not recorded")),
        ("torch", code(page.torch_version or "version not recorded")),
        ("verdict", named(page.verdict)),
        ("speed-up over eager", ratio(page.speed_up)),
        ("step", _step(page)),
        (f"kernel time per {page.kernel_time_of}", microseconds(page.kernel_time_us)),
        ("compile time", seconds(page.compile_seconds)),
        ("graph breaks", count(page.graph_breaks)),
        ("recompiles", count(page.recompiles)),
        ("generated kernels", count(page.kernel_count)),
        ("kernel lines explained", _explained(page)),
    )
    if page.diagnosis is not None:
        title = "What to change first" if page.diagnosis.causes else "Nothing stands out"
        yield from _part(title, _diagnosis(page.diagnosis, links))
    findings = [*map(named, (*page.verdicts, *page.said))]
    findings += [f"**missing** {code(what)}: {code(why)}" for what, why in page.missing.items()]
    yield from _part("Findings", (f"- {finding}" for finding in findings))
    yield from _part("Graphs", rows(page.graphs, links, only=OF_GRAPHS))
    if len(page.categories) > 1:
        yield from _part("Time by kind of kernel", rows(page.categories, links, only=OF_KINDS))
    yield from _part("Kernels", rows(page.kernels[:MOST_KERNELS], links, only=OF_KERNELS))
    yield from _part("Kernels of the trace", rows(page.trace_kernels[:MOST_KERNELS], links))
    left_out = sum(max(0, len(part) - MOST_KERNELS) for part in (page.kernels, page.trace_kernels))
    if left_out:
        yield from ("", f"{plural(left_out, 'more kernel')} on the page of times.")
    yield from _part("Source files", rows(page.sources, links))
    files = f"{count(page.file_count)}, {size_in_bytes(page.bytes_in)}" if page.file_count else ""
    options = _figures(
        ("torch commit", code(page.torch_git or "")),
        ("files", files),
        *((code(key), code(value)) for key, value in page.environment.items()
          if isinstance(value, str | int | float) and "\n" not in str(value)),
    )  # fmt: skip
    yield from _part("Versions and options", filter(None, options))


def _step(page: RunPage) -> str:
    """Returns the step's sentence, or nothing if the verdict already says it."""
    if page.compiled_ms is None or milliseconds(page.compiled_ms) in page.verdict.text:
        return ""
    eager = "" if page.eager_ms is None else f", {milliseconds(page.eager_ms)} eager"
    return f"{milliseconds(page.compiled_ms)} compiled{eager}"


def _explained(page: RunPage) -> str:
    known = page.coverage
    if known is None or not known.lines:
        return ""
    parts = (
        (known.lines_exact, "exact"),
        (known.lines_inferred, "inferred"),
        (known.lines_kernel, "by kernel alone"),
    )
    said = ", ".join(f"{count(n)} {how}" for n, how in parts if n)
    return f"{said or 'none'} of {count(known.lines)}"


def _diagnosis(diagnosis: Diagnosis, links: Links) -> Iterator[str]:
    if diagnosis.small:
        yield from (diagnosis.small, "")
    for at, cause in enumerate((*diagnosis.causes, *diagnosis.more), 1):
        yield from _cause(at, cause, links)
    for judged, label in ((True, "Checked"), (False, "Not checked")):
        texts = [prose(check.text) for check in diagnosis.cleared if check.judged == judged]
        if texts:
            yield f"- {label}: {' '.join(texts)}"


def _cause(at: int, cause: Cause, links: Links) -> Iterator[str]:
    wins = ""
    if cause.wins_us is not None:
        share = f", {percent(cause.share)} of {OF[cause.of]}" if cause.share is not None else ""
        wins = plain(f" Wins {microseconds(cause.wins_us)}{share} ({cause.known}).")
    elif cause.share is not None:
        wins = plain(f" Wins {percent(cause.share)} of {OF[cause.of]} ({cause.known}).")
    yield f"{at}. {link(f'**{prose(cause.what)}**', links.to(cause.evidence))}{wins}"
    for label, text in (("", cause.why), ("Fix: ", cause.fix), ("Costs: ", cause.trade)):
        if text:
            yield f"   {label}{prose(text)}"
    for line in cause.lines:
        place = link(code(f"{line.path}:{line.line}"), links.to(line.href))
        spent = "" if line.us is None else f" {plain(microseconds(line.us))}"
        yield f"   - {place}{spent} {code(line.code)}"


# --- a kernel ---


def _kernel(page: KernelPage, base: str) -> Iterator[str]:
    links = Links(base, page.run.id)
    address = urls.kernel(page.run.id, page.graph.slug, page.name, page.call.handle)
    own, work = page.call.time, page.work
    standing = page.roofline.standing if page.roofline else None
    per_step = "" if page.time_calls is None else f", {count(page.time_calls)} per step"
    yield f"# Kernel {code(page.name)}"
    yield from _figures(
        ("call", link(code(urls.kernel_key(page.name, page.call.handle)), links.to(address))),
        ("run", named(page.run)),
        ("graph", named(page.graph)),
        ("kind", page.category),
        ("time per step", "" if page.time_us is None else
         f"{microseconds(page.time_us)}, {percent(page.share)} of the run's kernel time"),
        ("calls", f"{count(page.call_count)} in the code{per_step}"),
        ("mean of one call", microseconds(page.each_us)),
        ("this call", "" if own is None else
         f"{microseconds(own.time_us)} ({'measured' if own.measured else 'an equal part'})"),
        ("time comes from", prose(page.time_source or "")),
        ("bytes of one call", "" if work is None or work.bytes.total is None else
         f"{size_in_bytes(work.bytes.total)} ({work.bytes.how})"),
        ("bandwidth", bandwidth(standing.bytes_per_s if standing else None)),
        ("share of its roof", _roof(page)),
        ("launch", "" if page.geometry is None else prose(_launch(page.geometry))),
        ("permalink", link(code(page.call.permalink),
                           links.to(urls.permalink(page.call.permalink)))),
    )  # fmt: skip
    if page.work_missing:
        yield f"Bytes are not known: {prose(page.work_missing)}"
    if page.code is not None:
        text = page.code
        title = f"Code, lines {text.body_first} to {text.body_last} of the output code"
        yield from _part(title, [block(_body(text), text.language)])
    compiled = page.machine.configurations if page.machine is not None else []
    for title, values in (
        ("FX nodes", page.fx_nodes), ("Torch's own stacks", page.stacks),
        ("Calls", page.calls),
        ("Elsewhere", page.elsewhere), ("Benchmarks", page.benchmarks), ("Machine code", compiled),
    ):  # fmt: skip
        yield from _part(title, rows(values, links))
    without = (f"- {prose(in_words(part))}" for part in page.left_out)
    yield from _part("Operations left out", without)


def _launch(of: Geometry) -> str:
    """Returns how a launch fills the device, what limits it, and its configuration."""
    held = of.occupancy
    limits = f", limited by {' and '.join(held.limited_by)}" if held and held.limited_by else ""
    known = (
        of.text,
        f"occupancy at most {percent(held.share)}{limits}" if held else "",
        f"{of.registers} registers a thread" if of.registers else "",
        ", ".join(f"{name} {value}" for name, value in of.configuration.items()),
        f"{plural(of.tried, 'configuration')} to choose from" if of.tried else "",
        f"{of.others} of {of.launches + of.others} launches have other sizes" if of.others else "",
    )
    return f"{'; '.join(filter(None, known))} (from {of.source})"


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
    address = links.to(urls.compare(page.a.id, page.b.id))
    yield from (f"# {link('Two runs compared', address)}", "", *compared(page))
    lines = page.measured.lines
    caused = (f"- {link(prose(line.words), links.to(line.href))}" for line in lines)
    yield from _part("What caused it", caused)


def _failures(page: FailuresPage, base: str) -> Iterator[str]:
    if page.failures and page.report:
        yield page.report
    yield from _plain(page, "Failures of a run", base)


SHAPES: dict[type, Shape] = {
    RunPage: _run,
    KernelPage: _kernel,
    ComparePage: _compare,
    FailuresPage: _failures,
}
"""Pages whose fields are shown in a special order."""
