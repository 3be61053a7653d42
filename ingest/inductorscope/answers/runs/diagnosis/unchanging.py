"""A cause in what each step computes again from weights alone."""

from __future__ import annotations

import re

from sqlalchemy import select

from inductorscope import urls
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.time.lines import node_times
from inductorscope.formats.vocabulary import DYNAMO
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.runs.draft import FxNodeDraft
from inductorscope.store.runs.nodes import fx_nodes
from inductorscope.store.tables.models import Artifact, Graph
from inductorscope.units import microseconds

INFERENCE = "inference"
"""The direction of a graph that computes no gradients, of a program that changes no weights."""
SHOWN = 3
_ARGUMENT = re.compile(r'\b(\w+): *"')
_KEPT = re.compile(r"G_|L_\w*_(?:parameters|buffers)_")
"""Dynamo's names of tensors that no call passes in: globals, parameters and buffers."""
_WRITES = re.compile(r"\w_\.\w+$|^torch\.ops\.(?!aten\.|prims\.|inductor\.)")
"""Operators that change their first argument, or may: those of others."""
_VARIES = re.compile(r"rand|seed|dropout|bernoulli|multinomial|normal")


def unchanging(evidence: Evidence) -> Cause | None:
    """Operations of a graph depend on its weights alone."""
    step, session = evidence.step_us, evidence.session
    if not step or any(graph.direction != INFERENCE for graph in evidence.graphs):
        return None
    times = {(row.graph, row.name): row.shared_us for row in node_times(session, evidence.id)}
    spent: list[tuple[float, str, FxNodeDraft]] = []
    query = select(Artifact.digest, Graph.id, Graph.slug).join(Graph)
    query = query.where(Graph.run_id == evidence.id, Artifact.role == DYNAMO)
    for digest, graph, slug in session.execute(query).all():
        text = (read_blob(session, digest) or b"").decode("utf-8", "replace")
        found = depending_on_weights(fx_nodes(session, graph), text)
        spent += [(times.get((slug, node.name), 0.0), slug, node) for node in found]
    us = sum(each for each, _, _ in spent)
    if us < STANDS_OUT * step:
        return None
    spent.sort(key=lambda each: -each[0])
    lines = [evidence.line(node.stack_file, node.stack_line) for _, _, node in spent]
    shown = {(line.path, line.line): line for own in lines for line in own}
    return Cause(
        "unchanging",
        f"Operations on parameters, buffers or globals alone take {microseconds(us)} of "
        f"{evidence.step}, such as `{spent[0][2].name}`.",
        "Compute them once, before the first step, and keep the result, such as in a buffer.",
        urls.graph(evidence.id, spent[0][1]),
        why="Their results are the same in every step, unless the program changes these between "
        "steps.",
        wins_us=us,
        share=us / step,
        known="estimated",
        lines=list(shown.values())[:SHOWN],
        kernels={
            int(kernel): time
            for row in evidence.costs
            if (row.path, row.line) in shown
            for kernel, time in row.parts
        },
    )


def depending_on_weights(nodes: list[FxNodeDraft], dynamo: str) -> list[FxNodeDraft]:
    """Returns the operations that depend on parameters, buffers and globals alone, which the graph
    does not change. `dynamo`: the text of Dynamo's graph, whose arguments are in the same order."""
    arguments = _ARGUMENT.findall(dynamo.partition("def forward(")[2].partition("):")[0])
    placeholders = [node.name for node in nodes if node.target == node.name != "output"]
    if len(arguments) != len(placeholders):
        return []
    inputs = {node.name: node.inputs for node in nodes}
    written = [name for node in nodes if _WRITES.search(node.target) for name in node.inputs[:1]]
    for name in written:  # it may be a view of an argument
        written += [each for each in inputs.get(name, ()) if each not in written]
    kept = {
        name
        for name, argument in zip(placeholders, arguments, strict=True)
        if _KEPT.match(argument) and name not in written
    }
    found: list[FxNodeDraft] = []
    for node in nodes:
        varies = not node.target.startswith("torch.ops.") or _VARIES.search(node.target)
        if not varies and kept.issuperset(node.inputs):
            kept.add(node.name)
            found.append(node)
    return found


CHECKS = (unchanging,)
