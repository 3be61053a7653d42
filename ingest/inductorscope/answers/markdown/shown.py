"""The pages of a run by name, for the command line and for agents."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.answers.compile.fusing import fusing_page
from inductorscope.answers.compile.ranks import ranks_page
from inductorscope.answers.compile.startup import startup_page
from inductorscope.answers.compile.story import compile_page
from inductorscope.answers.compile.symbols import symbols_page
from inductorscope.answers.compile.time import compile_time_page
from inductorscope.answers.compile.tunings import tuned_page
from inductorscope.answers.explorer.graph import ExplorerState, explorer_page
from inductorscope.answers.explorer.kernel import KernelPage, kernel_page
from inductorscope.answers.explorer.line import line_page
from inductorscope.answers.failures.failures import failures_page
from inductorscope.answers.logs.log import log_page
from inductorscope.answers.markdown.pages import page_markdown
from inductorscope.answers.memory.memory import memory_page
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import run_graphs
from inductorscope.answers.runs.read import read_page
from inductorscope.answers.runs.run import run_page
from inductorscope.answers.time.kernels import kernels_page
from inductorscope.answers.time.roofline import roofline_page
from inductorscope.answers.time.time import time_page
from inductorscope.store.tables.models import Graph, Kernel, KernelCall

OF_RUN: dict[str, tuple[str, Callable[[Session, str], Any]]] = {
    "overview": ("A run", run_page),
    "time": ("Where the time goes", time_page),
    "kernels": ("Kernels of a run", kernels_page),
    "roofline": ("Kernels compared with the machine's limits", roofline_page),
    "story": ("What compiling did", compile_page),
    "compile-time": ("Compile time", compile_time_page),
    "startup": ("Start-up", startup_page),
    "symbols": ("Symbolic sizes", symbols_page),
    "ranks": ("Ranks compared", ranks_page),
    "fusing": ("What was not fused", fusing_page),
    "tuned": ("What was autotuned", tuned_page),
    "failures": ("Failures", failures_page),
    "log": ("Records of the logs", log_page),
    "read": ("What was read", read_page),
}
PAGES = (*OF_RUN, "explorer", "memory", "kernel")
"""Names of pages. The last three show one graph: the slowest, unless the request names one."""


def page_of_run(
    session: Session,
    run: str,
    page: str = "overview",
    name: str = "",
    *,
    graph: str = "",
    line: str = "",
    base: str = "",
) -> str:
    """Returns a page of a run as Markdown. `name`: the kernel's name; `line`: `model.py:29` or
    `post_grad:7`."""
    if line:
        return page_markdown(line_page(session, run, line, graph), f"Line `{line}`", base)
    if page in OF_RUN:
        title, answer = OF_RUN[page]
        return page_markdown(answer(session, run), title, base)
    if page == "kernel":
        return page_markdown(kernel_named(session, run, name, graph), f"Kernel `{name}`", base)
    slug = graph or run_graphs(session, run).slowest
    if page not in PAGES or slug is None:
        what = f"Run {run} has no graph." if page in PAGES else f"There is no page {page}."
        raise NotHere(what, f"The pages are {', '.join(PAGES)}.", run)
    if page == "memory":
        return page_markdown(memory_page(session, run, slug), "Memory", base)
    state = ExplorerState()
    return page_markdown(explorer_page(session, run, slug, state), f"Graph `{slug}`", base)


def kernel_named(session: Session, run: str, name: str, graph: str = "") -> KernelPage:
    """Finds a kernel by its name or a part of it; `NAME:HANDLE` selects one of its calls."""
    start, _, number = name.rpartition(":")
    handle = int(number) if start and number.isdecimal() else None
    name = start if handle is not None else name
    query = (
        select(Graph.slug, Kernel.name, func.min(KernelCall.handle))
        .join(Kernel, Kernel.graph_id == Graph.id)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .where(Graph.run_id == run, Kernel.name.contains(name, autoescape=True))
        .group_by(Graph.slug, Kernel.name, Kernel.id)
        .order_by((Kernel.name == name).desc(), Kernel.time_us.desc(), Kernel.id)
    )
    for slug, kernel, first in session.execute(query):
        if graph in ("", slug):
            return kernel_page(session, run, slug, kernel, first if handle is None else handle)
    raise NotHere(f"No kernel of run {run} is named `{name}`.", "Search for a part of it.", run)
