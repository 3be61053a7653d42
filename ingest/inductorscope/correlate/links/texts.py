"""The input of linking: the texts of one graph."""

import msgspec

from inductorscope.formats.code.output_code import OutputCode, parse_output_code
from inductorscope.formats.graph.fx import FxText, parse_fx
from inductorscope.formats.graph.ir import IrText, parse_ir
from inductorscope.formats.graph.provenance import Provenance, parse_provenance


class GraphTexts(msgspec.Struct):
    """The existing artifacts of one graph."""

    post_grad: str | None = None
    readable: str | None = None
    ir_pre: str | None = None
    ir_post: str | None = None
    code: str | None = None
    dynamo: str | None = None
    """The graph as Dynamo captured it."""
    pre_grad: str | None = None
    """The graph after pre-grad passes."""
    provenance: bytes | None = None
    line_record: dict[str, object] | None = None
    """The capture's exact record, made while the code was generated; preferred over inference."""
    sources: dict[str, str] = msgspec.field(default_factory=dict)


class ParsedTexts(msgspec.Struct):
    """The parsed texts; None for missing ones."""

    post_grad: FxText
    readable: FxText | None = None
    ir_pre: IrText | None = None
    ir_post: IrText | None = None
    code: OutputCode | None = None
    provenance: Provenance = msgspec.field(default_factory=Provenance)
    dynamo: FxText | None = None
    pre_grad: FxText | None = None


def parse_texts(texts: GraphTexts) -> ParsedTexts:
    parsed = ParsedTexts(
        post_grad=parse_fx(texts.post_grad or ""),
        readable=None if texts.readable is None else parse_fx(texts.readable),
        ir_pre=None if texts.ir_pre is None else parse_ir(texts.ir_pre),
        ir_post=None if texts.ir_post is None else parse_ir(texts.ir_post),
        code=None if texts.code is None else parse_output_code(texts.code),
        provenance=Provenance() if texts.provenance is None else parse_provenance(texts.provenance),
        dynamo=None if texts.dynamo is None else parse_fx(texts.dynamo),
        pre_grad=None if texts.pre_grad is None else parse_fx(texts.pre_grad),
    )
    return parsed
