"""What a graph of a failed run knows of the lines that a compiler blames."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...analyze.failures_cpp import KernelText
from ...correlate.model import Confidence
from ...formats.fx import parse_fx
from ...formats.fx_text import FxTextNode
from ..links import unpack_links
from ..models import Graph, Kernel, KernelCall, Links
from .graph_texts import TooLong, graph_texts

MOST_GRAPHS = 40
"""Graphs looked into: a failure stops at one, and pages wait for it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One link of the chain from the user's line to the kernel's."""

    stage: str
    """A stage of the explorer, `source` for the user's."""
    title: str
    text: str
    line: int | None
    path: str = ""
    """Of a source."""


@dataclass(slots=True)
class GraphKnown:
    """The texts of one graph and what their lines mean."""

    graph: Graph
    kernels: list[KernelText] = field(default_factory=list)
    handles: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, FxTextNode] = field(default_factory=dict)
    ops: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Operation of a loop body → its line in the IR, and that line."""
    entities: dict[int, list[tuple[str, bool]]] = field(default_factory=dict)
    """Line of the output code → what it refers to, and whether that is exact."""

    def fx_nodes(self, line: int) -> list[tuple[FxTextNode, bool]]:
        return [
            (self.nodes[name[3:]], exact)
            for name, exact in self.entities.get(line, ())
            if name.startswith("fx:") and name[3:] in self.nodes
        ]

    def operations(self, line: int) -> list[str]:
        """Of the loop body; what only names an index is left out."""
        return [
            name[3:]
            for name, _ in self.entities.get(line, ())
            if name.startswith("op:") and not name.rpartition(".")[2].startswith("get_index")
        ]

    def expected(self, line: int) -> tuple[str, bool]:
        """The dtype that the line's FX node has; empty where nodes of several do."""
        found = self.fx_nodes(line)
        dtypes = {node.dtype for node, _ in found}
        if len(dtypes) != 1:
            return "", False
        return dtypes.pop(), all(exact for _, exact in found)

    def chain(self, line: int, text: str) -> list[Step]:
        """From the user's line over FX node and operation to this line of a kernel."""
        steps: list[Step] = []
        for node, _ in self.fx_nodes(line)[:3]:
            if node.stack_file:
                steps.append(
                    Step("source", "Your line", node.stack_code, node.stack_line, node.stack_file)
                )
            steps.append(Step("post_grad", "FX node", written(node), node.line))
        for name in self.operations(line)[:3]:
            if name in self.ops:
                at, said = self.ops[name]
                steps.append(Step("ir_post", "Inductor's IR", said, at))
        steps.append(Step("kernel", "Kernel", text, line))
        return list(dict.fromkeys(steps))


def written(node: FxTextNode) -> str:
    return f"{node.name} = {node.target.removeprefix('torch.ops.')}({node.args_text})"


def known_graphs(session: Session, run_id: str) -> list[GraphKnown]:
    """The run's graphs; those that are too long to look into are left out."""
    query = select(Graph).where(Graph.run_id == run_id).order_by(Graph.position).limit(MOST_GRAPHS)
    found = []
    for graph in session.scalars(query):
        try:
            texts = graph_texts(session, graph.id).read(session)
        except TooLong:
            continue
        found.append(_known(session, graph, texts))
    return found


def _known(session: Session, graph: Graph, texts: dict[str, str]) -> GraphKnown:
    known = GraphKnown(graph)
    known.nodes = {node.name: node for node in parse_fx(texts.get("fx_transformed", "")).main()}
    code = texts.get("output_code", "").split("\n")
    handles = dict(
        session.execute(
            select(KernelCall.kernel_id, KernelCall.handle)
            .where(KernelCall.graph_id == graph.id)
            .order_by(KernelCall.handle.desc())
        ).all()
    )
    for kernel in session.scalars(select(Kernel).where(Kernel.graph_id == graph.id)):
        if kernel.first_line is None or kernel.last_line is None:
            continue
        lines = code[kernel.first_line - 1 : kernel.last_line]
        if lines:
            known.kernels.append(KernelText(graph.slug, kernel.name, kernel.first_line, lines))
            known.handles[kernel.name] = handles.get(kernel.id, 1)
    _link(session, known, texts.get("ir_post_fusion", "").split("\n"))
    return known


def _link(session: Session, known: GraphKnown, ir: list[str]) -> None:
    payload = session.scalar(select(Links.payload).where(Links.graph_id == known.graph.id))
    if payload is None:
        return
    links = unpack_links(payload)
    code = links.stages.get("code")
    if code is not None:
        for line, entity, known_how in zip(code.lines, code.entities, code.confidence, strict=True):
            exact = known_how == Confidence.exact
            if known_how >= Confidence.inferred:
                known.entities.setdefault(line, []).append((links.entities[entity], exact))
    post = links.stages.get("ir_post")
    if post is not None:
        for line, entity in zip(post.lines, post.entities, strict=True):
            name = links.entities[entity]
            if name.startswith("op:") and line <= len(ir):
                text = ir[line - 1].strip()
                if text.startswith(f"{name.rpartition('.')[2]} ="):
                    known.ops[name[3:]] = (line, text)
