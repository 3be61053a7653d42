"""What the judge of kernels needs of a run: a call's test case at the shapes that guards allow."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.benchmark.case import KernelCase
from inductorscope.analyze.judging.shapes import cases_at_shapes
from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.explorer.benchmark import call_of, call_texts, case_of
from inductorscope.answers.explorer.graph_texts import graph_texts
from inductorscope.store.tables.models import Graph, Kernel, KernelCall


class Judgeable(msgspec.Struct, frozen=True):
    """A kernel's call that can be judged against."""

    cases: list[KernelCase]
    """At the recorded shape, then at others."""
    origin: str
    may_run: bool
    """Whether this installation captured the run."""


def cases_of(
    session: Session, run_id: str, slug: str, kernel: str, handle: int | None
) -> Judgeable:
    """Takes the kernel's first call without a handle. Raises NoCase, NotHere."""
    if handle is None:
        calls = select(KernelCall.handle).join(Kernel).join(Graph)
        calls = calls.where(Graph.run_id == run_id, Graph.slug == slug, Kernel.name == kernel)
        handle = session.scalar(calls.order_by(KernelCall.handle)) or 0
    found = case_of(session, run_id, slug, kernel, handle)
    _, graph = call_of(session, run_id, slug, kernel, handle)
    texts = call_texts(session, graph_texts(session, graph.id))
    story = read_run_story(session, run_id).story_or_empty
    compiles = {made.number for made in story.compiles if made.id == graph.compile_id}
    ranges = {
        symbol.name: symbol.range or "" for symbol in story.symbols if symbol.compile in compiles
    }
    guards = [guard.text for guard in story.symbol_guards if guard.compile in compiles]
    cases = [found.case, *cases_at_shapes(texts, found.case, ranges, guards)]
    return Judgeable(cases, found.origin, found.may_run)
