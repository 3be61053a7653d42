"""What annotated code is made from: a graph's links and the texts they refer to."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.parts import graph_of
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.formats.vocabulary import CODE, POST_GRAD
from inductorscope.store.runs.links import unpack_links
from inductorscope.store.tables.models import Artifact, Links


@dataclass(frozen=True, slots=True)
class AnnotationParts:
    """Links and texts of a graph."""

    links: GraphLinks
    code: int | None
    """Artifact of the output code."""
    graph: int | None
    """Artifact of the FX graph that the code was generated from."""


def annotation_parts(session: Session, run: str, slug: str) -> AnnotationParts:
    graph = graph_of(session, run, slug)
    payload = session.scalar(select(Links.payload).where(Links.graph_id == graph.id))
    query = select(Artifact.role, Artifact.id).where(
        Artifact.graph_id == graph.id, Artifact.role.in_((CODE, POST_GRAD))
    )
    rows = session.execute(query.order_by(Artifact.id.desc()))
    artifacts = {role: artifact for role, artifact in rows}  # noqa: C416  # rows
    return AnnotationParts(
        links=unpack_links(payload) if payload is not None else GraphLinks(),
        code=artifacts.get(CODE),
        graph=artifacts.get(POST_GRAD),
    )
