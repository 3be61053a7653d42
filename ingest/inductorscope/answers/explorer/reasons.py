"""Why a line of a graph has its links, worked out on request."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph_texts import graph_links, graph_texts, remembered
from inductorscope.answers.parts import graph_of
from inductorscope.correlate.explain import Explainer, Reason
from inductorscope.correlate.links.model import Confidence
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.formats.vocabulary import CODE, IR_POST, IR_PRE
from inductorscope.store.tables.models import Links

EXPLAINED = (CODE, IR_PRE, IR_POST)
"""Stages whose links are inferred."""


class Reasons(msgspec.Struct, frozen=True):
    """Reasons for the links of a line."""

    stage: str
    line: int
    reasons: list[Reason]


_explainer_of = remembered(lambda texts: Explainer(msgspec.convert(texts, GraphTexts)))


def reasons_of_line(session: Session, run: str, slug: str, stage: str, line: int) -> Reasons:
    """Returns the reasons for a line's links. Raises NotAnalysed."""
    graph = graph_of(session, run, slug)
    recorded = _recorded(session, graph.id, stage, line)
    if recorded is not None:
        return Reasons(stage, line, [recorded])
    explainer = _explainer_of(session, graph_texts(session, graph.id))
    return Reasons(stage, line, explainer.reasons(stage, line))


def _recorded(session: Session, graph_id: int, stage: str, line: int) -> Reason | None:
    """Returns the reason for a link that a capture recorded, so that nothing had to be inferred."""
    coverage = session.scalar(select(Links.coverage).where(Links.graph_id == graph_id))
    if not (coverage or {}).get("lines_exact"):
        return None
    links = graph_links(session, graph_id)
    references = links.stages.get(stage)
    if references is None:
        return None
    nodes: dict[str, None] = {}
    calls: dict[str, None] = {}
    for number, entity, known, call in zip(
        references.lines, references.entities, references.confidence, references.call, strict=True
    ):
        name = links.entities[entity]
        if number == line and known == Confidence.exact and name.startswith("fx:"):
            nodes[name] = None
            if call >= 0:
                calls[links.entities[call]] = None
    if not nodes:
        return None
    sentence = "Recorded while Inductor generated this code; nothing is inferred."
    return Reason("recorded", sentence, Confidence.exact.name, "", list(nodes), calls=list(calls))
