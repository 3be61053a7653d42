"""What each tool answers, as Markdown. Every function takes a session and the name of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compile.fusing import fusing_page
from inductorscope.answers.compile.story import compile_page
from inductorscope.answers.explorer.line import line_page
from inductorscope.answers.limits import begin
from inductorscope.answers.markdown.pages import page_markdown
from inductorscope.answers.markdown.shown import kernel_named, shown
from inductorscope.answers.markdown.structs import Links, rows
from inductorscope.answers.missing import NotHere, no_run
from inductorscope.answers.parts import graph_of
from inductorscope.answers.runs.graphs import run_graphs
from inductorscope.answers.runs.run import run_page
from inductorscope.answers.runs.runs import list_runs
from inductorscope.answers.search.page import search_page
from inductorscope.answers.time.lines import line_times
from inductorscope.answers.time.time import with_code
from inductorscope.formats.vocabulary import SOURCE, STAGE_BY_ID
from inductorscope.markdown.figures import with_unit
from inductorscope.markdown.text import block, code, link, prose
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.runs.runs import find_run_ids
from inductorscope.store.tables.models import Artifact, Run

MOST_RUNS = 20
DEAREST = 5
"""Lines that a diagnosis names."""
MOST_LINES = 400
"""Lines that one answer quotes."""
Question = Literal["graph break", "recompiled", "not fused", "not vectorised"]


def run_named(session: Session, name: str) -> str:
    """The id of the run with this id, beginning of an id or name; of a name the newest."""
    ids = find_run_ids(session, name) if name else []
    if len(ids) == 1:
        return ids[0]
    newest = select(Run.id).where(Run.name == name).order_by(Run.created_at.desc()).limit(1)
    found = session.scalar(newest)
    if found is None:
        raise no_run(name)
    return found


def find_runs(session: Session, query: str, base: str) -> str:
    return page_markdown(list_runs(session, q=query, limit=MOST_RUNS), "Runs", base)


def diagnose(session: Session, run: str, base: str) -> str:
    """The overview, and the lines that cost most."""
    run = run_named(session, run)
    text = page_markdown(run_page(session, run), "A run", base)
    lines = with_code(session, run, line_times(session, run, DEAREST))
    if not lines:
        return text
    shown = [replace(line, graphs={}) for line in lines]
    return "\n".join([text, "## Lines that cost most", "", *rows(shown, Links("", run)), ""])


def page(session: Session, run: str, base: str, name: str) -> str:
    """A page of a run by its name."""
    return shown(session, run_named(session, run), name, base=base)


def explain_line(session: Session, run: str, base: str, line: str, graph: str) -> str:
    found = line_page(session, run_named(session, run), line, graph)
    title = f"Line {code(line)}"
    text = page_markdown(replace(found, url=""), "", "").removeprefix("#").lstrip()
    if not found.kernels and not found.nodes:
        text += "\nNothing of this run refers to this line.\n"
    return f"# {link(title, f'{base}{found.url}' if found.url else '')}\n\n{text}"


def kernel(session: Session, run: str, base: str, name: str, graph: str) -> str:
    return page_markdown(kernel_named(session, run_named(session, run), name, graph), "", base)


def compare(session: Session, run: str, base: str, other: str) -> str:
    a, b = run_named(session, run), run_named(session, other)
    return page_markdown(compare_page(session, a, b), "", base)


def search(session: Session, run: str, base: str, words: str) -> str:
    within = run_named(session, run) if run else ""
    found = search_page(session, words, within)
    lines = [f"# {link(f'Search for {code(words)}', base + urls.search(q=words, run=within))}", ""]
    if found.kernels:
        lines += ["## Kernels", "", *rows(found.kernels, Links("", within)), ""]
    for text in found.texts:
        place = text.place
        of = f"{place.run.name} {place.run.id} {place.graph or ''} {place.path}"
        lines += [f"## {text.title}, {code(of)}", ""]
        hits = (f"{hit.line:>6} {hit.kernel or ''} {hit.text}" for hit in text.hits)
        lines += [block("\n".join(hits)), ""]
    if not found.kernels and not found.texts:
        lines.append("No line and no kernel contains these words.")
    elif not found.exact:
        lines.append("No line contains this text as it is; these contain all its words.")
    return "\n".join(lines)


def read_lines(
    session: Session, run: str, base: str, stage: str, graph: str, first: int, last: int
) -> str:
    """Lines of a stage of a graph, of a source file by its path, or of a stored file."""
    run = run_named(session, run)
    artifact = _artifact(session, run, stage, graph)
    last = min(max(first, last), first + MOST_LINES - 1)
    begin(f"lines of {artifact.digest}", artifact.size)
    text = stored_text(session, artifact.digest)
    raw = [] if text is None else list(text.lines(first, last))
    lines = (line.decode(errors="replace").rstrip("\n") for line in raw)
    numbered = "\n".join(f"{number:>6} {line}" for number, line in enumerate(lines, first))
    whole = "" if artifact.line_count is None else f" of {artifact.line_count}"
    address = base + urls.file(run, artifact.id, line=first, last=last)
    return (
        f"# {link(code(artifact.path), address)}\n\n"
        f"Lines {first} to {first + max(0, len(raw) - 1)}{whole}.\n\n{block(numbered)}\n"
    )


def _artifact(session: Session, run: str, stage: str, graph: str) -> Artifact:
    query = select(Artifact).where(Artifact.run_id == run)
    if stage in STAGE_BY_ID and stage != SOURCE:
        slug = graph or run_graphs(session, run).slowest or ""
        of_graph = graph_of(session, run, slug)
        role = STAGE_BY_ID[stage].role
        query = query.where(Artifact.graph_id == of_graph.id, Artifact.role == role)
        found = session.scalars(query.order_by(Artifact.derived)).first()
        missing = STAGE_BY_ID[stage].missing
    else:
        files = session.scalars(query.order_by(Artifact.derived, Artifact.id))
        found = next(
            (file for file in files if file.path == stage or file.path.endswith(f"/{stage}")), None
        )
        missing = f"A stage is one of {', '.join(STAGE_BY_ID)}; else name a file of the run."
    if found is None:
        raise NotHere(f"Run {run} has no text `{stage}`.", missing, run)
    return found


# --- why ---


def why(session: Session, run: str, base: str, question: Question, subject: str) -> str:
    run = run_named(session, run)
    title, address, lines = WHY[question](session, run, subject)
    return "\n".join([f"# {link(title, base + address)}", "", *lines]) + "\n"


Answer = tuple[str, str, list[str]]
"""Title, address of the evidence, and lines."""


def _breaks(session: Session, run: str, subject: str) -> Answer:
    story = compile_page(session, run)
    places = [row for row in story.break_places if subject in f"{row.function} {row.name}"]
    lines = list(rows(places, Links("", run))) if places else ["No graph break is recorded."]
    return "Why the graph breaks", urls.compile_story(run), [*_log(story.has_log), *lines]


def _recompiles(session: Session, run: str, subject: str) -> Answer:
    story = compile_page(session, run)
    found = [row for row in story.histories if subject in f"{row.function} {row.file}"]
    lines: list[str] = []
    for row in found:
        lines += [f"## {code(row.function)}: {row.recompiles} of {row.compiles} compiles again", ""]
        lines += [f"- {prose(each.text)}. {prose(each.advice)}" for each in row.changes]
        lines += ["", *rows(row.steps, Links("", run)), ""]
    lines = lines or ["No function compiled again."]
    return "Why it compiled again", urls.compile_story(run), [*_log(story.has_log), *lines]


def _log(has_log: bool) -> list[str]:
    missing = "The run has no log of compiling (TORCH_TRACE), so this is not known."
    return [] if has_log else [missing, ""]


def _unfused(session: Session, run: str, subject: str) -> Answer:
    a, _, b = (part.strip() for part in subject.partition(","))
    page = fusing_page(session, run, "" if a and b else a, a if b else "", b)
    lines = [f"- {prose(answer)}" for answer in page.answers]
    lines += [f"- {prose(note)}" for note in page.notes]
    for row in page.unfused:
        one, other = (f"{side.kernel}:{side.handle}" for side in (row.one, row.other))
        saved = f"; fusing would save {with_unit('bytes', row.saved)}" if row.saved else ""
        lines.append(
            f"- {code(one)} and {code(other)} in {code(row.graph)}: {prose(row.title)}{saved}"
        )
        lines += [f"  - {prose(reason)}" for reason in row.reasons]
    if page.rules:
        lines += ["", "## What keeps kernels apart", "", *rows(page.rules, Links("", run))]
    lines = lines or ["No pair of kernels that share data is left unfused."]
    return "Why kernels are not fused", urls.fusing(run, q=a or None), lines


def _loops(session: Session, run: str, subject: str) -> Answer:
    page = fusing_page(session, run, subject)
    lines: list[str] = []
    if page.loops is not None:
        apart = [row for row in page.loops.rows if not row.vectorised]
        of = f" with {code(page.loops.instructions)}" if page.loops.instructions else ""
        lines.append(f"{page.loops.vectorised} of {len(page.loops.rows)} loops are vectorised{of}.")
        lines += ["", *(rows(apart, Links("", run)) if apart else ())]
    lines = lines or [prose(page.loops_missing) or "The run has no C++ kernel."]
    return "Why loops are not vectorised", urls.fusing(run), lines


WHY: dict[Question, Callable[[Session, str, str], Answer]] = {
    "graph break": _breaks,
    "recompiled": _recompiles,
    "not fused": _unfused,
    "not vectorised": _loops,
}
