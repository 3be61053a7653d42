"""All references of one graph."""

from inductorscope.correlate.buffers.origins import Origins
from inductorscope.correlate.code_lines import Inference, link_ir_nodes, link_lines
from inductorscope.correlate.links import text_stages
from inductorscope.correlate.links.coverage import coverage_of
from inductorscope.correlate.links.dynamo_nodes import link_dynamo
from inductorscope.correlate.links.kernel_nodes import link_kernels
from inductorscope.correlate.links.model import CALLS, Collector, GraphLinks
from inductorscope.correlate.links.record import link_record
from inductorscope.correlate.links.texts import GraphTexts, ParsedTexts, parse_texts
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.scopes import Inside, scoped_nodes, scopes_of
from inductorscope.correlate.without_ir.lines import add_lines, has_bodies
from inductorscope.correlate.without_ir.walk import nodes_of_lines
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.ir import IrText
from inductorscope.formats.vocabulary import DYNAMO, IR_POST, IR_PRE, PRE_GRAD


def graph_links(
    texts: GraphTexts, parsed: ParsedTexts | None = None, *, align: bool = True
) -> GraphLinks:
    """Link every stage of a graph as far as its artifacts allow.

    `parsed`: the same texts, if already read. `align`: whether to align lines of kernels and
    Dynamo's nodes, which takes most of the time; links without it have version `CALLS` and no
    coverage.
    """
    read = parsed or parse_texts(texts)
    collector = Collector()
    post = read.post_grad
    text_stages.link_post_grad(collector, post)
    if read.readable is not None:
        text_stages.link_readable(collector, read.readable, post)
    for stage, fx in ((DYNAMO, read.dynamo), (PRE_GRAD, read.pre_grad)) if align else ():
        if fx is not None:
            link_dynamo(collector, stage, fx, post, read.provenance.post_to_pre)
    for stage, ir in ((IR_PRE, read.ir_pre), (IR_POST, read.ir_post)):
        if ir is not None:
            text_stages.link_ir(collector, stage, ir)
    code = read.code
    if texts.code is not None and code is not None:
        _link_code(collector, read, code, texts, align=align)
    links = collector.finish()
    if align:
        links.coverage = coverage_of(links, post, code, texts.code or "")
    else:
        links.engine = CALLS
    return links


def _link_code(
    collector: Collector, read: ParsedTexts, code: OutputCode, texts: GraphTexts, *, align: bool
) -> None:
    post, text = read.post_grad, texts.code or ""
    before, after = read.ir_pre or IrText(), read.ir_post or IrText()
    scopes = scopes_of(code, text, post)
    known = {
        scope.function: {node.name: scope.prefix for node in scope.post.nodes} for scope in scopes
    }
    text_stages.link_code(collector, text, code, known)
    link_kernels(collector, code, scoped_nodes(scopes, read.provenance))
    prefixes = {scope.function: scope.prefix for scope in scopes}
    recorded = link_record(collector, code, texts.line_record, prefixes)
    for scope in scopes:
        inside = Inside(collector, scope)
        origins, own = Origins(), scope.ir(after)
        if align and own.nodes:
            inference = Inference(scope, read, recorded.calls)
            link_lines(inside, inference)
            origins, own = inference.origins, inference.ir
        if align and not has_bodies(own):
            graph, nodes = FxGraph(scope.post), scope.nodes(read.provenance)
            raised = nodes_of_lines(graph, scope.code, scope.lines, nodes)
            add_lines(inside, raised, recorded.calls)
        for stage, ir in ((IR_PRE, scope.ir(before)), (IR_POST, own)):
            nodes_of = recorded.nodes.get(scope.function, {})
            link_ir_nodes(inside, stage, ir, origins, nodes_of)
