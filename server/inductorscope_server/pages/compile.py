"""The compile pages: what compiling did, why, and its cost."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query
from inductorscope.answers.compile.diff import DiffPage, diff_page
from inductorscope.answers.compile.fusing import FusingPage, fusing_page
from inductorscope.answers.compile.list import CompileList, Only, Sort, compile_list
from inductorscope.answers.compile.one import CompileOnePage, compile_one_page
from inductorscope.answers.compile.ranks import RanksPage, ranks_page
from inductorscope.answers.compile.stacks import StacksPage, stacks_page
from inductorscope.answers.compile.story import CompilePage, compile_page
from inductorscope.answers.compile.symbols import SymbolsPage, symbols_page
from inductorscope.answers.compile.time import CompileTimePage, compile_time_page

from inductorscope_server.web.ids import LARGEST, Line, RunId
from inductorscope_server.web.parts import Reading

Words = Annotated[Line, Query(description="Words in id, function, file or outcome.")]
Node = Annotated[Line, Query(description="A node of the schedule, or of the post-grad graph.")]
Id = Annotated[Line, Query(description="A compile: its id, or # and its number in the run.")]
PageNumber = Annotated[int, Query(description="Which page, from 1.", ge=1, le=1_000_000)]
Number = Annotated[
    int, Path(description="Which compile of the run, from 0, as logged.", ge=0, le=10_000_000)
]
Artifact = Annotated[int, Query(description="Number of a stored file.", ge=1, le=LARGEST)]
Plain = Annotated[int, Query(description="1: ignore addresses and temporary names.", ge=0, le=1)]


def load_story(session: Reading, run: RunId) -> CompilePage:
    """Findings, graph breaks, recompiles, failures and caches."""
    return compile_page(session, run)


def load_stacks(session: Reading, run: RunId) -> StacksPage:
    """The stacks of all compiles as one tree."""
    return stacks_page(session, run)


def load_symbols(session: Reading, run: RunId) -> SymbolsPage:
    """Symbols, their origins and their constraints."""
    return symbols_page(session, run)


def load_ranks(session: Reading, run: RunId) -> RanksPage:
    """Each rank compared with the first: time, graphs and differences."""
    return ranks_page(session, run)


def load_list(
    session: Reading,
    run: RunId,
    q: Words = "",
    only: Only = "",
    sort: Sort = "number",
    order: Literal["asc", "desc"] = "asc",
    page: PageNumber = 1,
) -> CompileList:
    """Filtered, sorted and paged."""
    return compile_list(session, run, q, only, sort, order, page)


def load_time(session: Reading, run: RunId, a: Id = "", b: Id = "") -> CompileTimePage:
    """Phases over time and by name, kernels and autotuning; compares the compiles `a` and `b`."""
    return compile_time_page(session, run, a, b)


def load_fusing(
    session: Reading, run: RunId, q: Words = "", a: Node = "", b: Node = ""
) -> FusingPage:
    """Pairs of nodes that were tried, with reasons against fusing; answers for `a` and `b`."""
    return fusing_page(session, run, q, a, b)


def load_diff(session: Reading, run: RunId, a: Artifact, b: Artifact, plain: Plain = 0) -> DiffPage:
    """Changed lines with context."""
    return diff_page(session, run, a, b, without_noise=bool(plain))


def load_one(session: Reading, run: RunId, number: Number) -> CompileOnePage:
    """Its outcome, its records in order, guards, symbols, phases and metrics."""
    return compile_one_page(session, run, number)
