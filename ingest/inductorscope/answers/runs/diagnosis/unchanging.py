"""Causes in what a step computes from: weights and arguments that stay the same, or zeros."""

import re
from collections.abc import Iterator, Sequence

from inductorscope import urls
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.time.kernel_names import operator_family
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.time.lines import node_times
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import DYNAMO, GEMM, POST_GRAD
from inductorscope.units import microseconds, percent

INFERENCE = "inference"
"""The direction of a graph that computes no gradients, of a program that changes no weights."""
TRAINING_STANDS_OUT = 0.1
"""Smallest share of a step that trains, which may get the same data in a benchmark alone."""
SHOWN = 3
MOSTLY = 0.5
_HALF = {"bf16": "bfloat16", "f16": "float16"}
SPARSE = 0.9
"""Share of zeros from which a product without them is much faster."""
_ARGUMENT = re.compile(r'\b(\w+): *"')
_KEPT = re.compile(r"G_|L_\w*_(?:parameters|buffers)_")
"""Dynamo's names of tensors that no call passes in: globals, parameters and buffers."""
_RETURN = re.compile(r"^ {1,16}return \((.{1,100000})\)$", re.M)
_SQUARE = re.compile(r"b8\[(?:1, )*(\d{2,}), \1\]")
_WRITES = re.compile(r"\w_\.\w+$|^torch\.ops\.(?!aten\.|prims\.|inductor\.)")
"""Operators that change their first argument, or may: those of others."""
_OPERATORS = ("torch.ops.", "operator.getitem", "_operator.getitem")
_VARIES = re.compile(r"rand|seed|dropout|bernoulli|multinomial|normal")


def unchanging(evidence: Evidence) -> Cause | None:
    """Operations of a graph depend on its weights alone."""
    step, session = evidence.step_us, evidence.session
    if not step:
        return None
    trains = any(graph.direction != INFERENCE for graph in evidence.graphs)  # weights change
    times = {(row.graph, row.name): row.shared_us for row in node_times(session, evidence.id)}
    spent: list[tuple[float, str, FxNode]] = []
    graphs = list(graphs_of_dynamo(evidence))
    same = [f"L_{name}_" for name in evidence.steps.unchanged]
    passed = {name for _, _, names in graphs for name in names.values() if not _KEPT.match(name)}
    if passed.issubset(same) and not trains:
        same = []  # a benchmark passes nothing else
    kept = without_gradient(evidence) if trains else {}
    frozen = False
    for slug, nodes, arguments in graphs:
        if trains:
            own = {name for name in kept.get(slug, ()) if _KEPT.match(arguments.get(name, ""))}
            frozen = frozen or bool(own)
            arguments = {name: to for name, to in arguments.items() if to in same or name in own}
        apart = {mask.name for _, mask in masked(nodes, arguments)}  # a cause of its own
        found = [node for node in depending_on(nodes, arguments, same) if node.name not in apart]
        spent += [(times.get((slug, node.name), 0.0), slug, node) for node in found]
    us = sum(took for took, _, _ in spent)
    if us < (TRAINING_STANDS_OUT if trains else STANDS_OUT) * step:
        return None
    spent.sort(key=lambda row: -row[0])
    lines = [evidence.line(node.stack_file, node.stack_line) for _, _, node in spent]
    shown = {(line.path, line.line): line for own in lines for line in own}
    inputs = ", ".join(f"`{name[2:-1]}`" for name in same)
    given = "parameters, buffers or globals"
    given = given if not trains else f"frozen {given}" if frozen else ""
    given += ", and on " if given and inputs else ""
    given += f"{inputs}, which all observed calls passed unchanged," if inputs else ""
    what, fix = "", "Compute them once, before the first step, and keep the result, such as in a "
    half = _HALF.get((spent[0][2].annotation or "").partition("[")[0])
    converts = (took for took, _, node in spent if "convert_element_type" in node.target)
    if half and sum(converts) > MOSTLY * us:
        what = f", mostly conversions to {half},"
        fix = f"Convert the model once, `model.to(torch.{half})`, and leave out `torch.autocast`, "
        fix += "or what else converts it, and check the results. Keep other results, such as in a "
    return Cause(
        "unchanging",
        f"Operations on {given} alone{what} take {microseconds(us)} "
        f"of {evidence.step}, such as `{spent[0][2].name}`.",
        f"{fix}buffer.",
        urls.graph(evidence.id, spent[0][1]),
        why="Their results are the same in every step, unless the program changes these between "
        "steps.",
        wins_us=us,
        known="estimated",
        lines=list(shown.values())[:SHOWN],
        kernels=evidence.kernels_of(shown),
    )


def without_gradient(evidence: Evidence) -> dict[str, set[str]]:
    """Returns the inputs of each forward graph for which its backward returns no gradient."""
    backward = {row.slug: row.compile_id for row in evidence.graphs if row.direction == "backward"}
    found = {}
    for slug, text in evidence.texts(POST_GRAD):
        if slug in backward:
            found[backward[slug]] = without_own(text)
    return {row.slug: found[row.compile_id] for row in evidence.graphs if row.compile_id in found}


def without_own(backward: str) -> set[str]:
    """Returns the inputs of a forward graph that have no gradient, from the text of its backward,
    which returns one for each."""
    returned = (_RETURN.findall(backward) or [""])[-1]
    return {f"primals_{at}" for at, own in enumerate(returned.split(", "), 1) if own == "None"}


def graphs_of_dynamo(evidence: Evidence) -> Iterator[tuple[str, list[FxNode], dict[str, str]]]:
    """Yields the graphs that Dynamo's text is known of: slug, nodes, and Dynamo's name of each
    placeholder."""
    for slug, text in evidence.texts(DYNAMO):
        nodes = evidence.nodes()[slug]
        yield slug, nodes, dynamo_names(nodes, text)


def dynamo_names(nodes: list[FxNode], dynamo: str) -> dict[str, str]:
    """Returns Dynamo's name of each placeholder: its graph has them in the same order. Empty if it
    has others."""
    arguments = _ARGUMENT.findall(dynamo.partition("def forward(")[2].partition("):")[0])
    placeholders = [node.name for node in nodes if node.target == node.name != "output"]
    same = len(arguments) == len(placeholders)
    return dict(zip(placeholders, arguments, strict=True)) if same else {}


def depending_on(
    nodes: list[FxNode], names: dict[str, str], same: Sequence[str] = ()
) -> list[FxNode]:
    """Returns the operations that depend on parameters, buffers and globals alone, which the graph
    does not change, and on the arguments `same`."""
    inputs = {node.name: node.inputs for node in nodes}
    written = [name for node in nodes if _WRITES.search(node.target) for name in node.inputs[:1]]
    for name in written:  # it may be a view of an argument
        written += [source for source in inputs.get(name, ()) if source not in written]
    kept = {
        name
        for name, argument in names.items()
        if (_KEPT.match(argument) or argument in same) and name not in written
    }
    found: list[FxNode] = []
    for node in nodes:
        varies = not node.target.startswith(_OPERATORS) or _VARIES.search(node.target)
        if not varies and kept.issuperset(node.inputs):
            kept.add(node.name)
            found += [node] if node.inputs else []  # a constant costs nothing in a kernel
    return found


def masked(nodes: list[FxNode], names: dict[str, str]) -> list[tuple[FxNode, FxNode]]:
    """Returns attention with its mask, if that is one matrix of truths, as many rows as columns,
    that is the same in every call."""
    known = {node.name: node for node in nodes}
    same = {node.name for node in depending_on(nodes, names)}
    same |= {name for name, argument in names.items() if _KEPT.match(argument)}
    found = []
    for node in nodes:
        mask = known.get("".join(node.inputs[3:4])) if "scaled_dot_product" in node.target else None
        if mask is None or mask.name not in same:
            continue
        truths = [known[name] for name in mask.inputs[:1]] if ".where." in mask.target else [mask]
        if any(_SQUARE.fullmatch(truth.annotation or "") for truth in truths):
            found.append((node, mask))
    return found


def zeros(evidence: Evidence) -> Cause | None:
    """A product reads an argument that is almost only zeros."""
    step, shares = evidence.step_us, evidence.steps.unchanged
    if not step:
        return None
    empty = {f"L_{name}_": name for name, share in shares.items() if (share or 0.0) >= SPARSE}
    found: dict[tuple[str | None, int | None], str] = {}
    for _, nodes, names in graphs_of_dynamo(evidence) if empty else ():
        for node in nodes:
            read = [empty[names[source]] for source in node.inputs if names.get(source) in empty]
            if read and operator_family(operation(node.target)) == GEMM:
                found[node.stack_file, node.stack_line] = read[0]
    products = {kernel.id for kernel in evidence.kernels if kernel.group == GEMM}
    rows = [row for row in evidence.costs if (row.path, row.line) in found]
    us = sum(time for row in rows for kernel, time in row.parts if kernel in products)
    if us < STANDS_OUT * step:
        return None
    name = next(iter(found.values()))
    share = shares[name] or 0.0
    return Cause(
        "zeros",
        f"{percent(share)} of `{name}` are zeros, and products that read it take "
        f"{microseconds(us)} of {evidence.step}.",
        f"Keep only its other numbers: `{name}.to_sparse_csr()`, or their indices, with a gather "
        "and `index_add_`.",
        wins_us=us * share,
        lines=[line for path, at in found for line in evidence.line(path, at)][:SHOWN],
    )


CHECKS = (unchanging, zeros)
