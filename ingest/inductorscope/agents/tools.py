"""The tools of coding agents, which read the tools' signatures and docstrings.

Each takes a session, the run (or what else it is about), the address of the dashboard for links,
and the agent's further arguments. It returns Markdown.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Literal

from msgspec.structs import replace
from pydantic import Field
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compile.fusing import fusing_page
from inductorscope.answers.compile.story import compile_page
from inductorscope.answers.markdown.pages import page_markdown
from inductorscope.answers.markdown.shown import page_of_run
from inductorscope.answers.markdown.structs import CELL, Links, rows
from inductorscope.answers.missing import NotHere, begin, no_run
from inductorscope.answers.parts import graph_of, run_graphs
from inductorscope.answers.runs.run import run_page
from inductorscope.answers.runs.runs import list_runs
from inductorscope.answers.search.page import search_page
from inductorscope.answers.search.runs import Narrowed
from inductorscope.answers.search.search import MatchingLine
from inductorscope.answers.time.lines import line_times
from inductorscope.answers.time.time import with_code
from inductorscope.formats.vocabulary import SOURCE, STAGE_BY_ID, STAGES
from inductorscope.markdown.figures import with_unit
from inductorscope.markdown.text import block, code, link, prose
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.runs.runs import find_run_ids
from inductorscope.store.tables.models import Artifact, Run

MOST_RUNS = 20
SLOWEST_LINES = 5
"""Number of lines of code that a diagnosis names."""
MOST_LINES = 400
"""Most lines that one answer quotes."""

OfRun = Annotated[str, Field(description="The run's id, the beginning of it, or its name.")]
OfGraph = Annotated[str, Field(description="The graph's name. Default: the slowest, or all.")]
LineNumber = Annotated[int, Field(ge=1)]
Question = Literal["graph break", "recompiled", "not fused", "not vectorised"]


def run_named(session: Session, name: str) -> str:
    """Returns the id of the run with this id, beginning of an id, or name; of several with a name,
    the newest."""
    ids = find_run_ids(session, name) if name else []
    if len(ids) == 1:
        return ids[0]
    newest = select(Run.id).where(Run.name == name).order_by(Run.created_at.desc()).limit(1)
    found = session.scalar(newest)
    if found is None:
        raise no_run(name)
    return found


def find_runs(
    session: Session,
    query: Annotated[str, Field(description="Words of names, tags, versions, devices.")] = "",
    *,
    base: str,
) -> str:
    """Lists runs, newest first: id, name, device, torch, graphs, step times, verdict."""
    return page_markdown(list_runs(session, q=query, limit=MOST_RUNS), "Runs", base)


def diagnose(session: Session, run: OfRun, *, base: str) -> str:
    """What happened in a run and what to change first: causes with what each would win, its lines
    and its fix; step times, slowest kernels, graph breaks, recompiles, versions."""
    run = run_named(session, run)
    lines = with_code(session, run, line_times(session, run, SLOWEST_LINES))
    # The run's origin does not help to make it faster; the page `read` shows it.
    page = replace(run_page(session, run), sources=[], torch_git=None, file_count=0)
    text = page_markdown(page, "A run", base)
    if not lines:
        return text
    dearest = [replace(line, graphs={}) for line in lines]
    return "\n".join([text, "## Lines that cost most", "", *rows(dearest, Links("", run)), ""])


def explain_line(
    session: Session,
    run: OfRun,
    *,
    base: str,
    line: Annotated[
        str,
        Field(
            description="A source line, `model.py:29`, or a line of another stage of a graph: "
            f"`STAGE:LINE` with STAGE one of {', '.join(stage.id for stage in STAGES)}."
        ),
    ],
    graph: OfGraph = "",
) -> str:
    """What a line became in every other stage, which kernels compute it, what it costs per step,
    and how certain that is."""
    return page_of_run(session, run_named(session, run), line=line, graph=graph, base=base)


def kernel(
    session: Session,
    run: OfRun,
    *,
    base: str,
    name: Annotated[str, Field(description="Its name or a part of it; NAME:HANDLE for a call.")],
    graph: OfGraph = "",
) -> str:
    """A kernel's time, calls, launch, bytes, share of the machine's limit, code, FX nodes and
    source lines."""
    return page_of_run(session, run_named(session, run), "kernel", name, graph=graph, base=base)


def compare(
    session: Session,
    run: OfRun,
    *,
    base: str,
    other: Annotated[str, Field(description="The second run.")],
) -> str:
    """What differs between two runs: inputs, time of a step, kernels, compiling."""
    a, b = run_named(session, run), run_named(session, other)
    return page_markdown(compare_page(session, a, b), "", base)


def search(
    session: Session,
    run: Annotated[str, Field(description="Only this run.")] = "",
    *,
    base: str,
    words: Annotated[str, Field(description="Text to find in lines of code and kernels.")],
) -> str:
    """Finds lines of sources, graphs, IR and generated code, and kernels by name."""
    within = run_named(session, run) if run else ""
    found = search_page(session, words, Narrowed(run=within))
    lines = [f"# {link(f'Search for {code(words)}', base + urls.search(q=words, run=within))}", ""]
    if found.kernels:
        lines += ["## Kernels", "", *rows(found.kernels, Links("", within)), ""]
    for text in found.texts:
        place = text.place
        of = f"{'' if run else f'{place.run.name} {place.run.id}'} {place.graph or ''} {place.path}"
        lines += [f"## {text.title}, {code(of)}", ""]
        lines += [block("\n".join(map(_hit, text.hits))), ""]
    if not found.kernels and not found.texts:
        lines.append("No line and no kernel contains these words.")
    elif not found.exact:
        lines.append("No line contains this text as it is; these contain all its words.")
    return "\n".join(lines)


def _hit(hit: MatchingLine) -> str:
    kernel = "" if hit.kernel is None or hit.kernel in hit.text else f" {hit.kernel}"
    cut = hit.text[:CELL] + "…" * (len(hit.text) > CELL)
    return f"{hit.line:>6}{kernel} {cut}"


def read_lines(
    session: Session,
    run: OfRun,
    *,
    base: str,
    stage: Annotated[str, Field(description="A stage of a graph, or a file's path or name.")],
    graph: OfGraph = "",
    first: LineNumber = 1,
    last: LineNumber = 100,
) -> str:
    """The numbered lines of a text: a stage of a graph, a source file, a stored file."""
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
        of_graph = graph_of(session, run, graph or run_graphs(session, run).slowest or "")
        role, missing = STAGE_BY_ID[stage].role, STAGE_BY_ID[stage].missing
        query = query.where(Artifact.graph_id == of_graph.id, Artifact.role == role)
    else:
        ends = Artifact.path.endswith(f"/{stage}", autoescape=True)
        query = query.where(or_(Artifact.path == stage, ends))
        missing = f"A stage is one of {', '.join(STAGE_BY_ID)}; else name a file of the run."
    found = session.scalars(query.order_by(Artifact.derived, Artifact.id)).first()
    if found is None:
        raise NotHere(f"Run {run} has no text `{stage}`.", missing, run)
    return found


# --- why ---


def why(
    session: Session,
    run: OfRun,
    *,
    base: str,
    question: Question,
    subject: Annotated[
        str, Field(description="A function or kernel; two kernels or nodes, `A,B`, for not fused.")
    ] = "",
) -> str:
    """Why a graph broke, a function was compiled again (which guard failed), two kernels were not
    fused, or a C++ loop was not vectorised."""
    run = run_named(session, run)
    title, address, answer = WHY[question]
    lines = answer(session, run, subject)
    return "\n".join([f"# {link(title, base + address(run))}", "", *lines]) + "\n"


def _breaks(session: Session, run: str, subject: str) -> Iterator[str]:
    story = compile_page(session, run)
    places = [row for row in story.break_places if subject in f"{row.function} {row.name}"]
    yield from [] if story.has_log else NO_LOG
    yield from rows(places, Links("", run)) if places else ["No graph break is recorded."]


def _recompiles(session: Session, run: str, subject: str) -> Iterator[str]:
    story = compile_page(session, run)
    found = [row for row in story.histories if subject in f"{row.function} {row.file}"]
    yield from [] if story.has_log else NO_LOG
    for row in found:
        yield f"## {code(row.function)}: {row.recompiles} of {row.compiles} compiles again\n"
        yield from (f"- {prose(change.text)}. {prose(change.advice)}" for change in row.changes)
        yield from ("", *rows(row.steps, Links("", run)), "")
    if not found:
        yield "No function compiled again."


def _unfused(session: Session, run: str, subject: str) -> Iterator[str]:
    a, _, b = (part.strip() for part in subject.partition(","))
    page = fusing_page(session, run, "" if a and b else a, a if b else "", b)
    yield from (f"- {prose(sentence)}" for sentence in (*page.answers, *page.notes))
    for row in page.unfused:
        one, other = (code(f"{side.kernel}:{side.handle}") for side in (row.one, row.other))
        saved = f"; fusing would save {with_unit('bytes', row.saved)}" if row.saved else ""
        yield f"- {one} and {other} in {code(row.graph)}: {prose(row.title)}{saved}"
        yield from (f"  - {prose(reason)}" for reason in row.reasons)
    if page.rules:
        yield from ("", "## What keeps kernels apart", "", *rows(page.rules, Links("", run)))
    if not (page.answers or page.notes or page.unfused or page.rules):
        yield "No pair of kernels that share data is left unfused."


def _loops(session: Session, run: str, subject: str) -> Iterator[str]:
    page = fusing_page(session, run, subject)
    if page.loops is None:
        yield "The run has no C++ kernel."
        return
    of = f" with {code(page.loops.instructions)}" if page.loops.instructions else ""
    yield f"{page.loops.vectorised} of {len(page.loops.rows)} loops are vectorised{of}.\n"
    yield from rows([row for row in page.loops.rows if not row.vectorised], Links("", run))


NO_LOG = ["The run has no log of compiling (TORCH_TRACE), so this is not known.", ""]
Why = Callable[[Session, str, str], Iterator[str]]
WHY: dict[Question, tuple[str, Callable[[str], str], Why]] = {
    "graph break": ("Why the graph breaks", urls.compile_story, _breaks),
    "recompiled": ("Why it compiled again", urls.compile_story, _recompiles),
    "not fused": ("Why kernels are not fused", urls.fusing, _unfused),
    "not vectorised": ("Why loops are not vectorised", urls.fusing, _loops),
}
"""Title, address of the evidence, and the function that writes the lines."""
