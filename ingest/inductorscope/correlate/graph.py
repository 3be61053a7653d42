"""All references of one graph."""

from __future__ import annotations

from inductorscope.correlate import text_stages
from inductorscope.correlate.code_lines import link_ir_nodes, link_lines
from inductorscope.correlate.collect import Collector
from inductorscope.correlate.coverage import coverage_of
from inductorscope.correlate.fx_values import FxGraph
from inductorscope.correlate.kernel_nodes import link_kernels, nodes_of_calls
from inductorscope.correlate.model import GraphLinks
from inductorscope.correlate.record import link_record
from inductorscope.correlate.texts import GraphTexts
from inductorscope.formats.fx import parse_fx
from inductorscope.formats.ir import IrText, parse_ir
from inductorscope.formats.output_code import OutputCode, parse_output_code
from inductorscope.formats.provenance import parse_provenance


def graph_links(texts: GraphTexts) -> GraphLinks:
    """Link every stage of a graph as far as its artifacts allow."""
    collector = Collector()
    post = parse_fx(texts.fx_transformed or "")
    text_stages.link_post_grad(collector, texts.fx_transformed or "", post)
    known = {f"fx:{node.name}" for node in post.main()}
    if texts.fx_readable is not None:
        readable = parse_fx(texts.fx_readable)
        text_stages.link_readable(collector, texts.fx_readable, readable, post)
    before, after = IrText(), IrText()
    for stage, text in (("ir_pre", texts.ir_pre), ("ir_post", texts.ir_post)):
        if text is not None:
            parsed = parse_ir(text)
            text_stages.link_ir(collector, stage, parsed)
            before, after = (parsed, after) if stage == "ir_pre" else (before, parsed)
    code: OutputCode | None = None
    if texts.output_code is not None:
        code = parse_output_code(texts.output_code)
        text_stages.link_code(collector, texts.output_code, code, known)
        nodes = nodes_of_calls(code, parse_provenance(texts.provenance or b"{}"), known)
        link_kernels(collector, code, nodes)
        recorded = link_record(collector, code, texts.line_record)
        origins = link_lines(
            collector, code, texts.output_code, (before, after), FxGraph(post), recorded.calls
        )
        for stage, parsed in (("ir_pre", before), ("ir_post", after)):
            link_ir_nodes(collector, stage, parsed, origins, recorded.nodes)
    links = collector.finish()
    links.coverage = coverage_of(links, post, code, texts.output_code or "")
    return links
