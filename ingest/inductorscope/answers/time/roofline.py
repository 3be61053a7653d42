"""Compares the kernels of a run with the machine's limits: bytes, operations, headroom."""

from collections import defaultdict
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.analyze.bytes.graph import CallWork
from inductorscope.analyze.machine.geometry import Geometry
from inductorscope.analyze.roofline.roofline import (
    Peaks,
    peaks_of,
    predicted_us,
)
from inductorscope.analyze.time.costs import MEASURED
from inductorscope.analyze.totals import known_sum
from inductorscope.answers.machine.geometry import Launches
from inductorscope.answers.parts import (
    DEAREST_CALL,
    GraphName,
    RunName,
    graph_name,
    kernel_time,
    run_of,
)
from inductorscope.answers.runs.state import RunState, unfinished
from inductorscope.answers.time.graph_facts import MOST_TEXT, facts_of_graphs, slowest_graphs
from inductorscope.answers.time.kernel_work import CallsOfKernel, KernelWork
from inductorscope.fields import Hidden, Prose, view
from inductorscope.store.tables.models import Graph, Kernel, KernelCall, Run
from inductorscope.store.tables.times import CallTime

SHOWN = 100
DRAWN = 400
"""Number of kernels in the chart: the slowest."""

Order = Literal["headroom", "time", "share", "bytes", "rate", "name"]
Bound = Literal["", "memory", "compute", "unknown", "over", "small"]


class Dot(msgspec.Struct, frozen=True):
    """A row in the chart, with what the chart shows of it."""

    name: str
    graph: str
    href: str | None
    shapes: str
    category: str
    dtype: str
    time_us: float
    bytes: float
    operations: float | None
    """Of its products, else those counted in its source."""
    share: float | None
    saves: float | None
    over: bool
    small: bool
    launch: str


class KernelsShown(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a table of kernels."""

    run: RunName
    kernel_count: int
    """Kernels that match the filter."""
    time_us: float | None
    """Time of all timed kernels in one step."""
    notes: list[Prose]
    unfinished: RunState | None
    """Progress of reading and aligning; None once all graphs are here."""
    graphs: Hidden[list[GraphName]]
    graph: str
    first: Hidden[int]
    shown: Hidden[int] = SHOWN


class RooflinePage(KernelsShown, frozen=True):
    """Roofline `/runs/{run}/roofline`."""

    device: str | None
    peaks: Peaks | None
    dtype: str
    """Type of the slowest matrix products: it selects the arithmetic peak."""
    step_us: float | None
    step_from: Prose
    """The source of the step's time, as a sentence."""
    kernels: list[KernelWork]
    drawn: Hidden[list[Dot]]
    timed: int
    """Number of kernels with a profiled time."""
    counted: int
    """Number of those whose bytes are known too."""
    counted_us: float
    saves: float | None
    """The total headroom, as a share of the step."""
    over: int
    small: int
    """Number of rows that are too small to judge."""
    small_us: float
    predicted_us: float | None
    """Predicted time of one call of each graph; None if times are known."""
    without_roof: int
    """Number of rows with an unknown roof; the prediction includes only the time to start them."""
    bound: Bound
    order: Order


def run_peaks(run: Run) -> Peaks | None:
    """Returns the peaks of the machine that the run was captured on."""
    return peaks_of(run.environment.get("peaks"), run.device_name)


def step_time(session: Session, run: Run) -> tuple[float | None, str]:
    """Returns microseconds of one step, and their source."""
    if run.compiled_ms:
        return run.compiled_ms * 1000, "the compiled step's wall time"
    known = kernel_time(session, run.id)
    return known, "the sum of all kernels' times" if known else ""


def roofline_page(
    session: Session,
    run_id: str,
    *,
    graph: str = "",
    bound: Bound = "",
    order: Order = "headroom",
    first: int = 0,
    most_text: int = MOST_TEXT,
) -> RooflinePage:
    """Returns the page for the code's kernels. `most_text`: bytes of texts to read."""
    run = run_of(session, run_id)
    peaks = run_peaks(run)
    step_us, step_from = step_time(session, run)
    graphs = slowest_graphs(session, run_id)
    notes: list[str] = []
    launches = Launches(session, run)
    everything = [
        _launched(row, of_kernel.get(row.name))
        for each_graph, facts in facts_of_graphs(session, graphs, notes, most_text)
        for of_kernel in [launches.of_graph(each_graph)]
        for row in _of_graph(session, each_graph, facts.works, peaks, step_us)
    ]
    whole = [row for row in everything if not graph or row.graph == graph]
    timed = [row for row in whole if row.time_us]
    counted = [row for row in timed if row.bytes is not None]
    slowest = sorted(counted, key=lambda row: -(row.time_us or 0.0))[:DRAWN]
    wanted = sorted((row for row in whole if _is_bound(row, bound)), key=_ORDERS[order])
    small = [row for row in whole if row.standing.small]
    return RooflinePage(
        run=RunName(run.id, run.name),
        device=run.device_name,
        peaks=peaks,
        dtype=_main_type(timed, peaks),
        step_us=step_us,
        step_from=step_from,
        kernels=wanted[first : first + SHOWN],
        kernel_count=len(wanted),
        drawn=[_dot(run_id, row) for row in slowest],
        timed=_kernels(timed),
        counted=_kernels(counted),
        time_us=sum(row.time_us or 0.0 for row in timed) if timed else None,
        counted_us=sum(row.time_us or 0.0 for row in counted),
        saves=known_sum(row.standing.saves for row in whole),
        over=sum(bool(row.standing.over) for row in whole),
        small=len(small),
        small_us=sum(row.time_us or 0.0 for row in small),
        predicted_us=sum(predicted_us(row.standing.roof_us, row.calls) for row in whole)
        if graphs and peaks and not timed
        else None,
        without_roof=sum(row.standing.roof_us is None for row in whole),
        notes=notes,
        unfinished=unfinished(session, run_id),
        graphs=[graph_name(known) for known in sorted(graphs, key=lambda known: known.position)],
        graph=graph,
        bound=bound,
        order=order,
        first=first,
    )


def _dot(run_id: str, row: KernelWork) -> Dot:
    return view(
        Dot,
        row,
        row.standing,
        href=None if row.handle is None else urls.kernel(run_id, row.graph, row.name, row.handle),
        time_us=row.time_us or 0.0,
        bytes=row.bytes or 0.0,
        operations=row.operations if row.products is None else row.products,
        share=row.standing.share,
        over=bool(row.standing.over),
    )


def _kernels(rows: list[KernelWork]) -> int:
    """Returns the number of different kernels."""
    return len({(row.graph, row.name, row.handle is None) for row in rows})


def _main_type(timed: list[KernelWork], peaks: Peaks | None) -> str:
    times: dict[str, float] = defaultdict(float)
    for row in timed:
        if row.products and peaks is not None and row.dtype in peaks.matmul:
            times[row.dtype] += row.time_us or 0.0
    return max(times, key=lambda dtype: times[dtype], default="float32")


def _is_bound(row: KernelWork, bound: Bound) -> bool:
    if bound == "over":
        return bool(row.standing.over)
    if row.standing.small:
        return bound in ("", "small")
    return not bound or row.standing.bound == bound


_ORDERS: dict[str, Callable[[KernelWork], tuple[object, ...]]] = {
    "headroom": lambda row: (-(row.standing.saves or 0.0), -(row.time_us or 0.0)),
    "time": lambda row: (-(row.time_us or 0.0), row.name),
    "share": lambda row: (row.standing.share is None, row.standing.share or 0.0, row.name),
    "bytes": lambda row: (-(row.bytes or 0.0), row.name),
    "rate": lambda row: (-(row.standing.bytes_per_s or 0.0), row.name),
    "name": lambda row: (row.name, row.graph),
}


def _launched(row: KernelWork, geometry: Geometry | None) -> KernelWork:
    """Adds the launch, unless it may be that of calls with other shapes."""
    if not geometry or not geometry.grid or (row.shapes and (geometry.kernel or geometry.others)):
        return row
    return replace(row, blocks=geometry.short, launch=geometry.text)


def _of_graph(
    session: Session,
    graph: Graph,
    works: list[CallWork],
    peaks: Peaks | None,
    step_us: float | None,
) -> list[KernelWork]:
    by_kernel: dict[str, list[CallWork]] = defaultdict(list)
    for work in works:
        by_kernel[work.kernel].append(work)
    timed = (
        select(KernelCall.kernel_id, KernelCall.handle, CallTime.time_us)
        .join(CallTime, CallTime.call_id == KernelCall.id)
        .where(KernelCall.graph_id == graph.id, CallTime.known == MEASURED)
    )
    times: dict[int, dict[int, float]] = defaultdict(dict)
    for kernel_id, handle, time_us in session.execute(timed):
        times[kernel_id][handle] = time_us
    query = select(Kernel, DEAREST_CALL).where(Kernel.graph_id == graph.id).order_by(Kernel.id)
    rows: list[KernelWork] = []
    for kernel, handle in session.execute(query):
        calls = CallsOfKernel(graph.slug, kernel, by_kernel[kernel.name], peaks, step_us)
        rows += calls.by_shape(times[kernel.id]) or [calls.together(handle)]
    return rows
