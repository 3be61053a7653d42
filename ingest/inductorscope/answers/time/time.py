"""Where the time goes: eager compared with compiled, and by category, kernel, node and line."""

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.analyze.time.costs import LineCostRow
from inductorscope.analyze.verdicts import slowdown_warning
from inductorscope.answers.parts import (
    DEAREST_CALL,
    CategoryTime,
    GraphRow,
    KernelRow,
    RunName,
    categories,
    graph_rows,
    kernel_rows,
    kernel_time,
    run_of,
)
from inductorscope.answers.runs.runs import speed_up
from inductorscope.answers.time.lines import (
    LineTime,
    NodeTime,
    line_costs,
    line_times,
    node_times,
    source_times,
)
from inductorscope.answers.time.profiles import (
    ProfileShown,
    ProfileTable,
    kernel_time_is_of,
    profile_tables,
    shown_profile,
    unattributed,
)
from inductorscope.answers.time.script import ScriptShown, script_shown
from inductorscope.answers.time.tables import TRACE, RowsAsked, TraceRow, times_table
from inductorscope.fields import Hidden, Prose
from inductorscope.formats.vocabulary import SOURCE, TRITON_OTHER
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.tables.models import Artifact, Graph, Kernel

SHOWN = 100
SLOWEST = 15
"""Most kernels of a trace to show; the table of times has all."""
MOST_FILES, MOST_LINES, MOST_KERNELS = 100, 60, 20
"""Most files, lines, and kernels per line in the map; the rest is summed up."""
NOTHING = 1e-9
"""A remainder below this share of the total is due to rounding."""
NO_LINE = "no line is known"


class MapPart(msgspec.Struct, frozen=True):
    """A tile of the map: a file, one of its lines, or a kernel of that line; its area is shared
    time."""

    id: str
    parent: str
    label: str
    us: float
    category: str | None
    href: Hidden[str | None]
    """The page that a tile without inner tiles links to."""


class TimePage(msgspec.Struct, frozen=True):
    """Time `/runs/{run}/time`."""

    run: RunName
    eager_ms: float | None
    compiled_ms: float | None
    speed_up: float | None
    timings: dict[str, Any]
    script: ScriptShown | None
    """The steps of a captured script."""
    kernel_time_us: float | None
    kernel_time_of: Prose
    """What that is the time of: a step, or a call of the graph."""
    held_up: Prose | None
    """A warning if the profile contradicts the timings."""
    unattributed_us: float | None
    """Kernel time of the compiled profile that belongs to no kernel of the run's code."""
    categories: list[CategoryTime]
    graphs: list[GraphRow]
    kernels: list[KernelRow]
    nodes: list[NodeTime]
    source_lines: list[LineTime]
    map: Hidden[list[MapPart]]
    profiles: list[ProfileTable]
    profile: str
    """Label of the requested profile; empty for the default."""
    shown: ProfileShown | None
    """The requested profile; by default the joined one, else the compiled one, else the first with
    a breakdown."""
    trace_kernels: list[TraceRow]
    """The slowest kernels of the shown profile; empty if `kernels` has its times."""


def time_page(session: Session, run_id: str, profile: str = "") -> TimePage:
    run = run_of(session, run_id)
    profiles = profile_tables(session, run)
    shown = shown_profile(run_id, profiles, profile)
    kernels_us = kernel_time(session, run_id)
    return TimePage(
        run=RunName(run.id, run.name),
        eager_ms=run.eager_ms,
        compiled_ms=run.compiled_ms,
        speed_up=speed_up(run),
        timings=run.timings,
        script=script_shown(run),
        kernel_time_us=kernels_us,
        kernel_time_of=kernel_time_is_of(profiles),
        held_up=slowdown_warning(kernels_us, run.compiled_ms),
        unattributed_us=unattributed(profiles),
        categories=categories(session, run_id),
        graphs=graph_rows(session, run_id),
        kernels=kernel_rows(session, run_id, SHOWN),
        nodes=node_times(session, run_id, SHOWN),
        source_lines=with_code(session, run_id, line_times(session, run_id, SHOWN)),
        map=_map(session, run_id),
        profiles=profiles,
        profile=profile,
        shown=shown,
        trace_kernels=slowest_of_trace(session, run_id, shown),
    )


def slowest_of_trace(session: Session, run: str, shown: ProfileShown | None) -> list[TraceRow]:
    """Returns the slowest kernels of a trace, if the code's kernels do not have its times."""
    if shown is None or shown.joined_to_code:
        return []
    return times_table(session, run, RowsAsked(TRACE, shown.id)).trace[:SLOWEST]


def _map(session: Session, run: str) -> list[MapPart]:
    """Returns file → line → kernel by shared time; each level sums to the one above."""
    lines = line_costs(session, run, MOST_LINES)
    if not lines:
        return []
    wanted = {int(kernel) for line in lines for kernel, _ in line.parts[:MOST_KERNELS]}
    query = (
        select(Kernel.id, Kernel.name, Kernel.category, Graph.slug, DEAREST_CALL)
        .join(Graph, Graph.id == Kernel.graph_id)
        .where(Graph.run_id == run, Kernel.id.in_(wanted))
    )
    names = {
        number: (name, category, urls.kernel(run, slug, name, handle))
        for number, name, category, slug, handle in session.execute(query)
    }
    table, all_kernels = urls.time_table(run, of="lines"), urls.kernels(run)
    files = {path or "": us for path, us in source_times(session, run).items()}
    parts: list[MapPart] = []
    known: dict[str, float] = defaultdict(float)
    for place, line in enumerate(lines):
        parts += _tiles(line, place, names, all_kernels)
        known[line.path or ""] += line.shared_us
    shown = sorted(files.items(), key=lambda file: (file[0] not in known, -file[1]))
    few = dict(shown[:MOST_FILES])
    parts += [
        MapPart(f"{path} rest", f"file {path}", "other lines", us - known[path], None, href=table)
        for path, us in few.items()
        if us - known[path] > us * NOTHING
    ]
    tops = [
        MapPart(f"file {path}", "", PurePosixPath(path).name or NO_LINE, us, None, href=None)
        for path, us in few.items()
    ]
    left = sum(us for _, us in shown[MOST_FILES:])
    if left:
        tops.append(MapPart("files rest", "", "other files", left, category=None, href=table))
    return [*tops, *parts]


def _tiles(
    line: LineCostRow, place: int, names: dict[int, tuple[str, str, str]], all_kernels: str
) -> list[MapPart]:
    own = f"line {place}"
    label = f"line {line.line}" if line.line is not None else NO_LINE
    tiles = [MapPart(own, f"file {line.path or ''}", label, line.shared_us, None, href=None)]
    known = 0.0
    for kernel, us in line.parts[:MOST_KERNELS]:
        name, category, href = names.get(int(kernel), ("a kernel", TRITON_OTHER, all_kernels))
        tiles.append(MapPart(f"{own} {int(kernel)}", own, name, us, category=category, href=href))
        known += us
    left = line.shared_us - known
    if left > line.shared_us * NOTHING:
        tiles.append(MapPart(f"{own} rest", own, "other kernels", left, None, href=all_kernels))
    return tiles


def with_code(session: Session, run: str, rows: list[LineTime]) -> list[LineTime]:
    """Returns the rows with the text of their lines, if the run has the file."""
    wanted: dict[str | None, set[int]] = defaultdict(set)
    for row in rows:
        if row.line:
            wanted[row.path].add(row.line)
    query = select(Artifact.path, Artifact.digest).where(
        Artifact.run_id == run, Artifact.role == SOURCE
    )
    code: dict[tuple[str | None, int | None], str] = {}
    for path, digest in session.execute(query.order_by(Artifact.derived, Artifact.id)):
        numbers = wanted.pop(path, None)
        text = stored_text(session, digest) if numbers else None
        if numbers and text is not None:
            first = min(numbers)
            for number, raw in enumerate(text.lines(first, max(numbers)), first):
                if number in numbers:
                    code[path, number] = raw.decode(errors="replace").strip()
    return [replace(row, code=code.get((row.path, row.line)) or None) for row in rows]
