"""Kernels by part of their name, ignoring case; those of the newest run first."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.answers.parts import FIRST_CALL, RunName
from inductorscope.fields import Hidden
from inductorscope.store.tables.models import Graph, Kernel, Run

SHOWN = 12


@dataclass(frozen=True, slots=True)
class KernelHit:
    """A kernel whose name contains all words."""

    run: RunName
    graph: str
    name: str
    handle: int | None
    kind: str
    category: str
    time_us: float | None
    url: Hidden[str | None]
    """URL of its page; None for a kernel without calls."""


def kernels_named(
    session: Session, q: str, run: str | None = None, limit: int = SHOWN
) -> list[KernelHit]:
    """Up to `limit` kernels, the slowest of a run first."""
    words = q.lower().split()
    if not words:
        return []
    query = (
        select(Kernel, Graph.slug, Run.id, Run.name, FIRST_CALL)
        .join(Graph, Graph.id == Kernel.graph_id)
        .join(Run, Run.id == Graph.run_id)
        .order_by(
            Run.created_at.desc(),
            Run.id,
            Kernel.time_us.is_(None),
            Kernel.time_us.desc(),
            Kernel.id,
        )
    )
    for word in words:
        query = query.where(func.lower(Kernel.name).contains(word, autoescape=True))
    if run:
        query = query.where(Run.id == run)
    return [
        KernelHit(
            run=RunName(run_id, run_name),
            graph=slug,
            name=kernel.name,
            handle=first,
            kind=kernel.kind,
            category=kernel.category,
            time_us=kernel.time_us,
            url=None if first is None else urls.kernel(run_id, slug, kernel.name, first),
        )
        for kernel, slug, run_id, run_name, first in session.execute(query.limit(limit))
    ]
