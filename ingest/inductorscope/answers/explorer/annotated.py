"""Output code with comments that quote the FX lines each of its lines computes."""

from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph_texts import graph_links, graph_texts
from inductorscope.answers.missing import NotHere, begin
from inductorscope.answers.parts import graph_of
from inductorscope.correlate.annotate.code import annotate, node_texts
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.vocabulary import CODE, POST_GRAD
from inductorscope.store.contents.texts import text_of


def annotated_output(session: Session, run: str, slug: str) -> str:
    """The graph's output code with comments; raises NotHere without code or FX graph."""
    graph = graph_of(session, run, slug)
    stored = graph_texts(session, graph.id).only(CODE, POST_GRAD)
    if len(stored.digests) < 2:
        missing = "fx_graph_transformed.py" if CODE in stored.digests else "output_code.py"
        raise NotHere(
            f"Graph {slug} of run {run} has no {missing}, which annotation needs.",
            "Upload the graph's whole debug folder.",
        )
    begin(f"code of graph {slug}", stored.size)
    links = graph_links(session, graph.id)
    code, fx = (text_of(session, stored.digests[role]) for role in (CODE, POST_GRAD))
    return annotate(code, links, node_texts(fx, parse_fx(fx)))
