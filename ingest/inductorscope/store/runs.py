"""Writing a run whole, and taking it away with all that only it used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from . import storable
from .blobs import add_blobs, free_blobs, hold_blobs
from .bulk import insert_records
from .draft import ArtifactDraft, GraphDraft, RunDraft
from .links import coverage_json, pack_links
from .models import (
    Artifact,
    FxNode,
    Graph,
    IrNode,
    Kernel,
    KernelCall,
    Links,
    Profile,
    ProfilerRow,
    Run,
    RunSearch,
)

LONGEST_SEARCHED = 1_000_000
LONGEST_NAME = 300

Values = dict[str, Any]


def find_run(session: Session, content_digest: str) -> Run | None:
    """The run of exactly this content, if it is here."""
    return session.scalars(select(Run).where(Run.content_digest == content_digest)).one_or_none()


def find_run_ids(session: Session, start: str, limit: int = 20) -> list[str]:
    """Ids of the runs that start so."""
    query = select(Run.id).where(Run.id.startswith(start, autoescape=True))
    return list(session.scalars(query.order_by(Run.id).limit(limit)))


def insert_run(session: Session, draft: RunDraft) -> int:
    """Inserts all rows of a run; returns the bytes it takes in the store.

    The row of the run comes first: where another transaction inserts the same content, this one
    waits for it there and then fails with an IntegrityError, having done nothing yet.
    """
    links = {graph: pack_links(graph.links) for graph in draft.graphs if graph.links is not None}
    stored = {item.content.digest: item.content.stored_size for item in draft.artifacts}
    bytes_stored = sum(stored.values()) + sum(map(len, links.values()))
    session.execute(insert(Run), [_run_values(draft, bytes_stored)])
    session.execute(insert(RunSearch), [{"run_id": draft.id, "text": _search_text(draft)}])
    add_blobs(session, (item.content for item in draft.artifacts))
    graph_ids = _insert_graphs(session, draft)
    artifact_ids = _insert_artifacts(session, draft, graph_ids)
    for graph in draft.graphs:
        _insert_graph_rows(session, graph, graph_ids[graph])
    _insert_links(session, links, graph_ids)
    _insert_profiles(session, draft, artifact_ids)
    return bytes_stored


def delete_run(session: Session, run_id: str) -> int:
    """Deletes a run and the contents only it used; returns the bytes freed.

    A run that is not there (any more) frees nothing.
    """
    hold_blobs(session)
    digests = list(session.scalars(select(Artifact.digest).where(Artifact.run_id == run_id)))
    session.execute(delete(Run).where(Run.id == run_id))
    return free_blobs(session, digests)


def _clean(values: Values) -> Values:
    cleaned = storable.plain(values)
    assert isinstance(cleaned, dict)
    return cleaned


def _run_values(draft: RunDraft, bytes_stored: int) -> Values:
    return _clean(
        {
            "id": draft.id,
            "content_digest": draft.content_digest,
            "name": draft.name[:LONGEST_NAME],
            "tags": draft.tags,
            "origin": draft.origin,
            "created_at": draft.created_at,
            "torch_version": draft.torch_version,
            "torch_git": draft.torch_git,
            "device_kind": draft.device_kind,
            "device_name": draft.device_name,
            "graph_count": len(draft.graphs),
            "kernel_count": sum(graph.generated for graph in draft.graphs),
            "graph_breaks": draft.graph_breaks,
            "recompiles": draft.recompiles,
            "compile_seconds": draft.compile_seconds,
            "eager_ms": draft.eager_ms,
            "compiled_ms": draft.compiled_ms,
            "timings": draft.timings,
            "environment": draft.environment,
            "report": draft.report,
            "dropped_count": sum(item["count"] for item in draft.report.get("dropped", ())),
            "failure": draft.failure,
            "bytes_in": draft.bytes_in,
            "bytes_stored": bytes_stored,
        }
    )


def _search_text(draft: RunDraft) -> str:
    def words() -> Iterator[str]:
        yield from (draft.name, *draft.tags, draft.id)
        for fact in (draft.torch_version, draft.device_kind, draft.device_name):
            if fact:
                yield fact
        for graph in draft.graphs:
            yield graph.name
            for kernel in graph.kernels:
                yield kernel.name

    lines = dict.fromkeys(word.lower() for word in words())
    return storable.text("\n".join(lines)[:LONGEST_SEARCHED])


def _insert_graphs(session: Session, draft: RunDraft) -> dict[GraphDraft, int]:
    rows = [
        _clean(
            {
                "run_id": draft.id,
                "slug": graph.slug,
                "name": graph.name,
                "position": position,
                "direction": graph.direction,
                "aot_id": graph.aot_id,
                "compile_id": graph.compile_id,
                "node_count": graph.node_count,
                "kernel_count": graph.generated,
                "call_count": sum(len(kernel.calls) for kernel in graph.kernels),
                "time_us": graph.time_us,
                "wrapper_first": graph.wrapper_first,
                "wrapper_last": graph.wrapper_last,
            }
        )
        for position, graph in enumerate(draft.graphs)
    ]
    return dict(zip(draft.graphs, _insert_returning(session, Graph, rows), strict=True))


def _insert_artifacts(
    session: Session, draft: RunDraft, graph_ids: dict[GraphDraft, int]
) -> dict[ArtifactDraft, int]:
    rows = [
        _clean(
            {
                "run_id": draft.id,
                "graph_id": None if item.graph is None else graph_ids[item.graph],
                "role": item.role,
                "path": item.path,
                "digest": item.content.digest,
                "size": item.content.size,
                "line_count": item.line_count,
                "derived": item.derived,
            }
        )
        for item in draft.artifacts
    ]
    return dict(zip(draft.artifacts, _insert_returning(session, Artifact, rows), strict=True))


def _insert_returning(
    session: Session, model: type[Graph] | type[Artifact] | type[Kernel], rows: list[Values]
) -> list[int]:
    """Row numbers in the order of the rows."""
    if not rows:
        return []
    statement = insert(model).returning(model.id, sort_by_parameter_order=True)
    return list(session.scalars(statement, rows))


def _insert_graph_rows(session: Session, graph: GraphDraft, graph_id: int) -> None:
    insert_records(session, FxNode, graph.fx_nodes, graph_id=graph_id)
    insert_records(session, IrNode, graph.ir_nodes, graph_id=graph_id)
    rows = [
        _clean(
            {
                "graph_id": graph_id,
                "name": kernel.name,
                "kind": kernel.kind,
                "category": kernel.category,
                "first_line": kernel.first_line,
                "last_line": kernel.last_line,
                "call_count": len(kernel.calls),
                "time_us": kernel.time_us,
                "time_calls": kernel.time_calls,
                "time_source": kernel.time_source,
                "facts": kernel.facts,
            }
        )
        for kernel in graph.kernels
    ]
    ids = _insert_returning(session, Kernel, rows)
    for kernel_id, kernel in zip(ids, graph.kernels, strict=True):
        insert_records(session, KernelCall, kernel.calls, kernel_id=kernel_id, graph_id=graph_id)


def _insert_links(
    session: Session, packed: dict[GraphDraft, bytes], graph_ids: dict[GraphDraft, int]
) -> None:
    for graph, payload in packed.items():
        assert graph.links is not None
        values = {
            "graph_id": graph_ids[graph],
            "engine": graph.links.engine,
            "payload": payload,
            "coverage": coverage_json(graph.links.coverage),
            "notes": graph.links.notes,
        }
        session.execute(insert(Links), [values])


def _insert_profiles(
    session: Session, draft: RunDraft, artifact_ids: dict[ArtifactDraft, int]
) -> None:
    for profile in draft.profiles:
        values = _clean(
            {
                "run_id": draft.id,
                "label": profile.label,
                "device_kind": profile.device_kind,
                "steps": profile.steps,
                "artifact_id": None if profile.trace is None else artifact_ids[profile.trace],
                "facts": profile.facts,
            }
        )
        profile_id = session.scalars(insert(Profile).returning(Profile.id), [values]).one()
        insert_records(session, ProfilerRow, profile.rows, profile_id=profile_id)
