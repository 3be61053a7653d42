"""Output code with comments that quote the FX lines each of its lines computes."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph_texts import graph_links
from inductorscope.answers.missing import NotHere, begin
from inductorscope.answers.parts import graph_of
from inductorscope.correlate.annotate.code import annotate, node_texts
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.vocabulary import CODE, POST_GRAD
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact


def can_annotate(session: Session, graph: int) -> bool:
    """Whether the graph has both output code and FX graph."""
    query = select(Artifact.role).where(
        Artifact.graph_id == graph, Artifact.role.in_((CODE, POST_GRAD))
    )
    return len(set(session.scalars(query))) == 2


def annotated_output(session: Session, run: str, slug: str) -> str:
    """The graph's output code with comments; raises NotHere without code or FX graph."""
    graph = graph_of(session, run, slug)
    query = select(Artifact.role, Artifact.digest).where(
        Artifact.graph_id == graph.id, Artifact.role.in_((CODE, POST_GRAD))
    )
    digests = {role: digest for role, digest in session.execute(query.order_by(Artifact.id.desc()))}  # noqa: C416  # rows
    texts = {
        role: content.decode("utf-8", "replace")
        for role, digest in digests.items()
        if (content := read_blob(session, digest)) is not None
    }
    if len(texts) < 2:
        missing = "fx_graph_transformed.py" if CODE in texts else "output_code.py"
        raise NotHere(
            f"Graph {slug} of run {run} has no {missing}, which annotation needs.",
            "Upload the graph's whole debug folder.",
        )
    begin(f"code of graph {slug}", sum(map(len, texts.values())))
    links = graph_links(session, graph.id)
    fx = texts[POST_GRAD]
    return annotate(texts[CODE], links, node_texts(fx, parse_fx(fx)))
