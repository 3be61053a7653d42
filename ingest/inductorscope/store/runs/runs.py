"""Writes the rows of a run, and deletes a run with the contents that only it uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.orm import Session

from inductorscope.formats.secret_rules import OWN_SETTING
from inductorscope.formats.vocabulary import SEARCHED
from inductorscope.store.contents.blobs import (
    add_blobs,
    contents_of,
    free_blobs,
    hold_blobs,
    unused,
)
from inductorscope.store.contents.fulltext import unindex
from inductorscope.store.database import storable
from inductorscope.store.database.bulk import (
    insert_numbered,
    insert_records,
    insert_returning,
    insert_rows,
    row_of,
    table_of,
)
from inductorscope.store.report import Report
from inductorscope.store.runs.draft import (
    ArtifactDraft,
    CallDraft,
    GraphDraft,
    ProfileDraft,
    RunDraft,
)
from inductorscope.store.runs.nodes import NodesRow, rows_of_nodes
from inductorscope.store.runs.packing import CALLS, pack_kernels
from inductorscope.store.tables.models import (
    COMPLETE,
    READING,
    Artifact,
    FoundSecret,
    Graph,
    GraphNodes,
    Kernel,
    KernelCall,
    Links,
    Profile,
    ProfilerRow,
    Run,
    RunSearch,
)
from inductorscope.store.tables.times import CallTime

LONGEST_SEARCHED = 1_000_000
LONGEST_NAME = 300
MOST_NAMED = 5
"""Runs with secrets that are named."""

Values = dict[str, Any]


def find_run_ids(session: Session, start: str, limit: int = 20) -> list[str]:
    query = select(Run.id).where(Run.id.startswith(start, autoescape=True))
    return list(session.scalars(query.order_by(Run.id).limit(limit)))


def insert_header(session: Session, draft: RunDraft, reader: str | None) -> None:
    """Inserts the row of the run, marked as being read.

    It comes first: if another transaction inserts the same content, this one waits for it here and
    then fails with an IntegrityError before it has done anything.
    """
    values = _run_values(draft) | {
        "state": READING,
        "reader": reader,
        "read_at": draft.created_at,
        "bytes_stored": 0,
    }
    session.execute(insert(Run), [values])
    session.execute(insert(RunSearch), [{"run_id": draft.id, "text": _search_text(draft)}])


def complete_run(session: Session, draft: RunDraft) -> int:
    """Marks a run as completely read; returns the bytes that it takes in the store."""
    stored = bytes_stored(session, draft.id)
    values = _run_values(draft) | {
        "state": COMPLETE,
        "reader": None,
        "step": None,
        "bytes_stored": stored,
    }
    session.execute(update(Run).where(Run.id == draft.id), values)
    note_secrets(session, draft.id, draft.report)
    statement = update(RunSearch).where(RunSearch.run_id == draft.id)
    session.execute(statement, {"text": _search_text(draft)})
    return stored


def note_secrets(session: Session, run_id: str, report: Report) -> None:
    """Stores the counts of removed secrets of a report, which the server reports at startup."""
    counts: Counter[str] = Counter()
    for note in report.dropped:
        if note.kind == "removed":
            counts[note.reason] += note.count
    rows = [{"run_id": run_id, "kind": kind, "count": counts[kind]} for kind in sorted(counts)]
    if rows:
        session.execute(insert(FoundSecret), rows)


def report_secrets(session: Session) -> str | None:
    """Returns sentences on runs that contained secrets of this installation and were not reported
    yet, and marks them as reported."""
    unreported = FoundSecret.kind == OWN_SETTING, FoundSecret.told.is_(False)
    query = select(FoundSecret.run_id).where(*unreported).order_by(FoundSecret.id)
    runs = list(dict.fromkeys(session.scalars(query)))
    if not runs:
        return None
    session.execute(update(FoundSecret).where(*unreported).values(told=True))
    named = ", ".join(runs[:MOST_NAMED]) + (", …" if len(runs) > MOST_NAMED else "")
    several = len(runs) > 1
    return (
        f"{len(runs):,} stored {'runs' if several else 'run'} held an access token or a database "
        f"address of Inductorscope ({named}; the page What was read names the files). "
        "They were removed, but anybody who could read "
        f"{'these runs' if several else 'this run'} may know them: if they are still in use, "
        "change INDUCTORSCOPE_TOKEN and the database's password."
    )


def bytes_stored(session: Session, run_id: str) -> int:
    """Returns the bytes of a run's contents (each once, even if shared), nodes and links."""
    graphs = select(Graph.id).where(Graph.run_id == run_id)
    links = select(func.sum(func.length(Links.payload))).where(Links.graph_id.in_(graphs))
    nodes = select(func.sum(func.length(GraphNodes.payload))).where(GraphNodes.graph_id.in_(graphs))
    packed = sum(int(session.scalar(query) or 0) for query in (links, nodes))
    return contents_of(session, [run_id]) + packed


def delete_run(session: Session, run_id: str) -> int:
    """Deletes a run and the contents only it used; returns the bytes freed.

    A run that does not exist frees nothing.
    """
    hold_blobs(session)
    digests = list(session.scalars(select(Artifact.digest).where(Artifact.run_id == run_id)))
    session.execute(delete(Run).where(Run.id == run_id))
    unindex(session, unused(session, digests))
    return free_blobs(session, digests)


def rename_run(session: Session, run: Run, name: str, tags: Sequence[str]) -> None:
    """Gives a run that has been read another name and other tags."""
    run.name, run.tags = name[:LONGEST_NAME], list(dict.fromkeys(tags))
    row = session.scalars(select(RunSearch).where(RunSearch.run_id == run.id)).one()
    lines = row.text.split("\n")
    rest = lines[lines.index(run.id) :]  # name and tags come before the id
    words = dict.fromkeys([name.lower(), *map(str.lower, run.tags), *rest])
    row.text = storable.text("\n".join(words)[:LONGEST_SEARCHED])


def _run_values(draft: RunDraft) -> Values:
    return row_of(
        Run,
        draft,
        name=draft.name[:LONGEST_NAME],
        graph_count=len(draft.graphs),
        kernel_count=sum(graph.kernel_count for graph in draft.graphs),
        dropped_count=draft.report.count("dropped"),
    )


def _search_text(draft: RunDraft) -> str:
    def words() -> Iterator[str]:
        yield from (draft.name, *draft.tags, draft.id)
        for fact in (draft.torch_version, draft.device_kind, draft.device_name, draft.failure):
            if fact:
                yield fact
        yield from draft.kernel_names
        for graph in draft.graphs:
            yield graph.name
            for kernel in graph.kernels:
                yield kernel.name

    lines = dict.fromkeys(word.lower() for word in words())
    return storable.text("\n".join(lines)[:LONGEST_SEARCHED])


def insert_graphs(
    session: Session, run_id: str, graphs: Sequence[GraphDraft]
) -> dict[GraphDraft, int]:
    """Inserts the rows of graphs, in order; `fill_graphs` adds their parts."""
    rows = [
        {"run_id": run_id, "position": position, **_graph_values(graph)}
        for position, graph in enumerate(graphs)
    ]
    return dict(zip(graphs, insert_returning(session, Graph, rows), strict=True))


def _graph_values(graph: GraphDraft) -> Values:
    return row_of(Graph, graph, call_count=sum(kernel.call_count for kernel in graph.kernels))


def insert_artifacts(
    session: Session,
    run_id: str,
    artifacts: Sequence[ArtifactDraft],
    graph_ids: Mapping[GraphDraft, int],
) -> dict[ArtifactDraft, int]:
    """Stores contents and rows that refer to them. Does not index them for search."""
    add_blobs(session, (item.content for item in artifacts if item.content is not None))
    rows = [
        row_of(
            Artifact, item, run_id=run_id,
            graph_id=None if item.graph is None else graph_ids[item.graph],
        )
        for item in artifacts
    ]  # fmt: skip
    return dict(zip(artifacts, insert_returning(session, Artifact, rows), strict=True))


def searchable(artifacts: Sequence[ArtifactDraft]) -> list[ArtifactDraft]:
    """Returns the texts that belong in the full-text index."""
    return [item for item in artifacts if item.role in SEARCHED and item.line_count is not None]


def fill_graphs(session: Session, graphs: Sequence[tuple[GraphDraft, int]]) -> None:
    """Inserts the parts of stored graphs: nodes, kernels, calls, links."""
    if not graphs:
        return
    table = table_of(Graph)
    statement = update(table).where(table.c.id == bindparam("graph"))
    values = [{"graph": graph_id, **_graph_values(graph)} for graph, graph_id in graphs]
    session.connection().execute(statement, values)
    kernels = [kernel for graph, _ in graphs for kernel in graph.kernels]
    for graph, graph_id in graphs:
        for kernel in graph.kernels:
            kernel.graph_id = graph_id
    for kernel, kernel_id in zip(kernels, insert_numbered(session, Kernel, kernels), strict=True):
        kernel.id = kernel_id
    calls: list[CallDraft] = []
    numbers: Counter[int | None] = Counter()
    for kernel in kernels:
        for call in kernel.calls:
            call.graph_id, call.kernel_id = kernel.graph_id, kernel.id
            call.number = numbers[call.graph_id]
            numbers[call.graph_id] += 1
            calls.append(call)
    insert_records(session, KernelCall, calls)
    nodes: list[NodesRow] = []
    links: list[Values] = []
    for graph, graph_id in graphs:
        packed = {} if CALLS in graph.nodes else pack_kernels(graph.kernels)
        nodes += rows_of_nodes(graph_id, graph.nodes | packed)
        if graph.links is not None:
            links.append(row_of(Links, graph.links, graph_id=graph_id))
    insert_rows(session, GraphNodes, nodes)
    insert_rows(session, Links, links)


def update_times(session: Session, graphs: Mapping[GraphDraft, int]) -> None:
    """Stores times of kernels that became known after the graphs were stored."""
    for graph, graph_id in graphs.items():
        timed = [kernel for kernel in graph.kernels if kernel.time_source is not None]
        rows = [row_of(Kernel, kernel) for kernel in timed]
        if rows:
            session.execute(update(Kernel), rows)
        if graph.call_times:
            numbered = select(KernelCall.number, KernelCall.id)
            of_graph = session.execute(numbered.where(KernelCall.graph_id == graph_id)).all()
            ids, calls = dict(of_graph), graph.call_times.items()
            times = [row_of(CallTime, time, call_id=ids[number]) for number, time in calls]
            insert_rows(session, CallTime, times)
        if graph.time_us is not None:
            session.execute(update(Graph).where(Graph.id == graph_id), {"time_us": graph.time_us})


def insert_profiles(
    session: Session,
    run_id: str,
    profiles: Sequence[ProfileDraft],
) -> dict[ProfileDraft, int]:
    """Inserts profiles and returns their ids; `name_traces` adds their traces later."""
    if not profiles:
        return {}
    # These import numpy too.
    from inductorscope.store.tables.times import Timeline, TimelineChunk, TraceKernel

    ids = {}
    for profile in profiles:
        values = row_of(Profile, profile, run_id=run_id)
        profile_id = session.scalars(insert(Profile).returning(Profile.id), [values]).one()
        insert_records(session, ProfilerRow, profile.rows, profile_id=profile_id)
        insert_records(session, TraceKernel, profile.kernels, profile_id=profile_id)
        if profile.timeline is not None:
            facts = {"profile_id": profile_id, "facts": profile.timeline.facts}
            insert_rows(session, Timeline, [facts])
            insert_records(session, TimelineChunk, profile.timeline.chunks, profile_id=profile_id)
        ids[profile] = profile_id
    return ids


def name_traces(
    session: Session, ids: Mapping[ProfileDraft, int], artifact_ids: Mapping[ArtifactDraft, int]
) -> None:
    """Sets the trace that each profile was read from, if there is one."""
    for profile, profile_id in ids.items():
        if profile.trace is not None:
            values = {"artifact_id": artifact_ids[profile.trace]}
            session.execute(update(Profile).where(Profile.id == profile_id), values)
