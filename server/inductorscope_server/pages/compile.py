"""The compile pages: what compiling did, why, and its cost; and the records that say so."""

from typing import Annotated, Literal

from fastapi import Path, Query
from inductorscope.answers.compile.diff import DiffPage, diff_page
from inductorscope.answers.compile.fusing import FusingPage, fusing_page
from inductorscope.answers.compile.list import CompileList, Only, Sort, compile_list
from inductorscope.answers.compile.one import CompileOnePage, compile_one_page
from inductorscope.answers.compile.ranks import RanksPage, ranks_page
from inductorscope.answers.compile.stacks import StacksPage, stacks_page
from inductorscope.answers.compile.startup import StartupPage, startup_page
from inductorscope.answers.compile.story import CompilePage, compile_page
from inductorscope.answers.compile.symbols import SymbolsPage, symbols_page
from inductorscope.answers.compile.time import CompileTimePage, compile_time_page
from inductorscope.answers.compile.tunings import TunedPage, tuned_page
from inductorscope.answers.logs.log import Chosen, LogPage, log_page

from inductorscope_server.web.ids import LARGEST, Line, RunId, text
from inductorscope_server.web.parts import Analysing, Reading

Words = Annotated[Line, Query(description="Words in id, function, file or outcome.")]
Node = Annotated[
    Line, Query(description="A kernel, its call, or a node of the post-grad graph or the schedule.")
]
Rule = Annotated[Line, Query(description="Only pairs that this rule keeps apart.")]
Shapes = Annotated[Line, Query(description="Calls, such as x=(8,128),(9,128).")]
PageNumber = Annotated[int, Query(description="Which page, from 1.", ge=1, le=1_000_000)]
Number = Annotated[
    int, Path(description="Which compile of the run, from 0, as logged.", ge=0, le=10_000_000)
]
Artifact = Annotated[int, Query(description="Number of a stored file.", ge=1, le=LARGEST)]
Plain = Annotated[int, Query(description="1: ignore addresses and temporary names.", ge=0, le=1)]
Log = Annotated[str, text("Path of a log.", 4096)]
CompileId = Annotated[str, text("Such as `0/1`; `-` for none.", 200)]
Kind = Annotated[str, text("Kind, or `artifact:NAME`.", 1000)]
Rank = Annotated[str, Query(description="Rank of the process.", pattern="^[0-9]{0,9}$")]
Beside = Annotated[str, Query(description="Id of another run.", pattern="^([0-9a-f]{16})?$")]
After = Annotated[
    int, Query(description="`next_cursor` of the previous page; 0 for the first.", ge=0, le=LARGEST)
]


async def load_story(analysis: Analysing, run: RunId, shapes: Shapes = "") -> CompilePage:
    """Findings, graph breaks, recompiles, failures and caches. `shapes` asks which compile would
    serve further calls."""
    return await analysis(compile_page, run, shapes)


async def load_startup(analysis: Analysing, run: RunId, beside: Beside = "") -> StartupPage:
    """What no cache had, and which components of the keys differ from another run's."""
    return await analysis(startup_page, run, beside)


async def load_stacks(analysis: Analysing, run: RunId) -> StacksPage:
    """The stacks of all compiles as one tree."""
    return await analysis(stacks_page, run)


async def load_symbols(analysis: Analysing, run: RunId) -> SymbolsPage:
    """Symbols, their origins and their constraints."""
    return await analysis(symbols_page, run)


async def load_ranks(analysis: Analysing, run: RunId) -> RanksPage:
    """Each rank compared with the first: time, graphs and differences."""
    return await analysis(ranks_page, run)


async def load_list(
    analysis: Analysing,
    run: RunId,
    q: Words = "",
    only: Only = "",
    sort: Sort = "number",
    order: Literal["asc", "desc"] = "asc",
    page: PageNumber = 1,
) -> CompileList:
    """Filtered, sorted and paged."""
    return await analysis(compile_list, run, q, only, sort, order, page)


async def load_time(analysis: Analysing, run: RunId) -> CompileTimePage:
    """Phases over time and by name, kernels and autotuning."""
    return await analysis(compile_time_page, run)


async def load_fusing(
    analysis: Analysing, run: RunId, q: Words = "", a: Node = "", b: Node = "", rule: Rule = ""
) -> FusingPage:
    """Kernels that were not fused, and loops that are not vectorised. `a` and `b` select a pair of
    kernels, `q` filters both tables."""
    return await analysis(fusing_page, run, q, a, b, rule)


async def load_tuned(analysis: Analysing, run: RunId, q: Words = "") -> TunedPage:
    """The autotunings: their candidates, times and winners."""
    return await analysis(tuned_page, run, q)


async def load_diff(
    analysis: Analysing, run: RunId, a: Artifact, b: Artifact, plain: Plain = 0
) -> DiffPage:
    """The changed lines, with context."""
    return await analysis(diff_page, run, a, b, without_noise=bool(plain))


async def load_one(analysis: Analysing, run: RunId, number: Number) -> CompileOnePage:
    """One compile: outcome, records in order, guards, symbols, phases and metrics."""
    return await analysis(compile_one_page, run, number)


def load_log(
    session: Reading,
    run: RunId,
    log: Log = "",
    compile: CompileId = "",
    kind: Kind = "",
    rank: Rank = "",
    cursor: After = 0,
) -> LogPage:
    """Kinds, compiles and matching records, paged, in the order of the log."""
    chosen = Chosen(log, compile.strip(), kind, int(rank) if rank else None)
    return log_page(session, run, chosen, cursor)
