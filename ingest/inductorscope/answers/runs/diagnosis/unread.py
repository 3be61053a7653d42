"""Causes in what is computed in vain: never read, or of the wrong shape or mode."""

import re
from math import prod

from inductorscope import urls
from inductorscope.analyze.time.kernel_names import operator_family
from inductorscope.answers.parts import GraphRow
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.time.lines import node_times
from inductorscope.formats.graph.fx_nodes import FxNode, short_name
from inductorscope.formats.vocabulary import GEMM
from inductorscope.units import microseconds, percent, plural, size_in_bytes

SLOWEST = 5
PART = 0.5
"""Largest share of a product's numbers that may be read."""
PADDED = 0.3
"""Smallest share of columns that are padding in every call."""
_SAME = frozenset(("view", "_unsafe_view", "reshape", "permute", "transpose", "t", "unsqueeze",
                   "squeeze"))  # fmt: skip
_TURNS = frozenset(("permute", "transpose", "t"))
_CASTS = frozenset(("convert_element_type", "_to_copy"))
_COUNTS = frozenset(("iota", "arange"))
_PARTS = frozenset(("select", "slice", "narrow"))
_BY_ROW = frozenset((
    "amax", "sum", "mean", "exp", "log", "sub", "add", "mul", "div", "neg", "sigmoid", "tanh",
    "relu", "rsqrt", "sqrt", "reciprocal", "pow", "convert_element_type",
))  # fmt: skip
"""Operators on each number, or along the last dimension if only its size changes."""
_COMBINES = frozenset(("sub", "add", "mul", "div", "eq", "ne", "lt", "gt", "le", "ge"))
GROWS = 2
"""Peak of a program's memory, in peaks of a step, from which it keeps more and more."""
FEW = 8
"""Numbers of a column and a row that may be combined on purpose."""
_SIZES = re.compile(r"\[([\d, ]{0,400})\]")


def unread(evidence: Evidence) -> Cause | None:
    """Only a part of a matrix product is read."""
    step = evidence.step_us
    for row in node_times(evidence.session, evidence.id, SLOWEST) if step else ():
        if operator_family(short_name(row.target)) != GEMM or not step:
            continue
        nodes = evidence.nodes()[row.graph]
        share = read_share(nodes, row.name)
        wins = row.shared_us * (1 - share)
        if share <= PART and wins >= STANDS_OUT * step:
            node = next(node for node in nodes if node.name == row.name)
            return Cause(
                "unread",
                f"Only {percent(share)} of what the product `{row.name}` computes is read: it "
                f"takes {microseconds(row.shared_us)} of {evidence.step}.",
                "Take that part of its operands before the product, such as the last position of a "
                "sequence before the head.",
                urls.graph(evidence.id, row.graph),
                wins_us=wins,
                known="estimated",
                lines=evidence.line(node.stack_file, node.stack_line),
            )
    return None


def read_share(nodes: list[FxNode], name: str) -> float:
    """Returns the share of a node's numbers that others read; 1 if it is not known."""
    return _read_shares(nodes).get(name, (1.0, 1.0))[0]


def _read_shares(nodes: list[FxNode]) -> dict[str, tuple[float, float]]:
    """Returns the share of each node's numbers that others read, and that of its rows."""
    shapes = {node.name: sides(node.annotation) for node in nodes}
    parts: dict[str, list[tuple[float, float]]] = {}
    rows: dict[str, list[float]] = {}
    shares: dict[str, tuple[float, float]] = {}
    for node in reversed(nodes):
        of_parts, of_rows = parts.pop(node.name, []), max(rows.pop(node.name, [0.0]))
        own = (sum(numbers for numbers, _ in of_parts), sum(row for _, row in of_parts))
        known = (min(1.0, own[0] + of_rows), min(1.0, own[1] + of_rows))
        shares[node.name] = known = known if any(known) else (1.0, 1.0)
        op, shape = short_name(node.target), shapes[node.name]
        for source in node.inputs:
            given = shapes.get(source)
            whole = prod(given) if given else 0
            same_rows = bool(shape and given and shape[-1] == given[-1]) and op not in _TURNS
            if op in _SAME:
                taken = (known[0], known[1] if same_rows else 1.0)
            elif op in _PARTS and shape and whole:
                part = prod(shape) / whole
                taken = (part, part if same_rows else 1.0)
            elif op in _BY_ROW and shape and given and len(shape) == len(given):
                rows.setdefault(source, []).append(known[1] if _by_row(shape, given) else 1.0)
                continue
            else:
                taken = (1.0, 1.0)
            parts.setdefault(source, []).append(taken)
    return shares


def _by_row(shape: list[int], given: list[int]) -> bool:
    """Whether each row of a result needs only that row of what it is computed from."""
    return shape[:-1] == given[:-1] and (shape[-1] == given[-1] or 1 in (shape[-1], given[-1]))


def numbers(annotation: str | None) -> int | None:
    """Returns how many numbers `f32[8, 48]` has; None for sizes that are not fixed."""
    found = sides(annotation)
    return None if found is None else prod(found)


def one_hot(evidence: Evidence) -> Cause | None:
    """A product with one-hot vectors picks rows."""
    found = evidence.slowest(lambda nodes: [(node, 0) for node in [one_hot_product(nodes)] if node])
    if found is None:
        return None
    return found.cause(
        "one-hot",
        f"The product `{found.nodes[0].name}` with one-hot vectors picks rows: its line takes",
        "Index instead: `table[indices]`, `torch.nn.functional.embedding`, or `index_add_` where "
        "rows are summed.",
    )


def one_hot_product(nodes: list[FxNode]) -> FxNode | None:
    """Returns a matrix product of which an operand is a comparison with all indices."""
    known = {node.name: node for node in nodes}
    for node in nodes:
        for name in node.inputs if operator_family(short_name(node.target)) == GEMM else ():
            operand = known.get(name)
            while operand and short_name(operand.target) in _SAME | _CASTS and operand.inputs:
                operand = known.get(operand.inputs[0])
            if operand and short_name(operand.target) == "eq":
                compared = [known[source].target for source in operand.inputs if source in known]
                if any(short_name(target) in _COUNTS for target in compared):
                    return node
    return None


def square(evidence: Evidence) -> Cause | None:
    """A column and a row of as many numbers become a square."""
    for graph in evidence.graphs:
        node = combined_square(evidence.nodes()[graph.slug])
        if node is None or graph.direction == "backward":
            continue
        side = (sides(node.annotation) or [0])[0]
        return Cause(
            "square",
            f"A column of {side:,} numbers and a row of {side:,} become {side:,} × {side:,} in "
            f"`{node.name}`: each of the one with each of the other.",
            "If each number belongs to one of the other's, the result is wrong, such as a loss: "
            "give both the same shape, with `.squeeze(1)` for instance.",
            urls.graph(evidence.id, graph.slug),
            urgent=True,
            lines=evidence.line(node.stack_file, node.stack_line),
        )
    return None


def combined_square(nodes: list[FxNode]) -> FxNode | None:
    """Returns an operation on a column and a row of as many numbers, unless the program shaped them
    so."""
    known = {node.name: node for node in nodes}
    for node in nodes:
        if short_name(node.target) not in _COMBINES or len(node.inputs) != 2:
            continue
        given = [known[name] for name in node.inputs if name in known]
        given.sort(key=lambda source: -len(sides(source.annotation) or ()))
        sizes = [sides(source.annotation) for source in given]
        side = (sizes[-1] or [0])[0] if sizes else 0
        if side >= FEW and sizes == [[side, 1], [side]]:
            shaped = {short_name(source.target) for source in given} & (_SAME | _COUNTS | _PARTS)
            if not shaped:
                return node
    return None


def shaped(name: str, known: dict[str, FxNode]) -> FxNode | None:
    """Returns the node of a name, or what it only gives another shape."""
    node = known.get(name)
    while node is not None and short_name(node.target) in ("unsqueeze", "view", "reshape"):
        node = known.get("".join(node.inputs[:1]))
    return node


def sides(annotation: str | None) -> list[int] | None:
    """Returns the sizes of `f32[8, 48]`; None if they are not fixed."""
    found = _SIZES.search(annotation or "")
    return None if found is None else [int(size) for size in filter(None, found[1].split(", "))]


def active_dropout(evidence: Evidence) -> Cause | None:
    """Code that computes no gradients drops random numbers."""
    for graph in evidence.graphs:
        drawn = dropouts(evidence.nodes()[graph.slug]) if graph.direction == "inference" else []
        if drawn:
            return Cause(
                "dropout",
                f"Dropout is active in {plural(len(drawn), 'place')} of code that computes no "
                "gradients: the same input gives another result in each call.",
                "`model.eval()` before the model is called to predict or to evaluate, unless "
                "random results are meant.",
                urls.graph(evidence.id, graph.slug),
                urgent=True,
                lines=evidence.line(drawn[0].stack_file, drawn[0].stack_line),
            )
    return None


def dropouts(nodes: list[FxNode]) -> list[FxNode]:
    """Returns the comparisons of random numbers that dropout makes."""
    drawn = {node.name for node in nodes if short_name(node.target) == "inductor_random"}
    return [node for node in nodes if short_name(node.target) == "gt" and drawn & {*node.inputs}]


def unread_gradients(evidence: Evidence) -> Cause | None:
    """Gradients are computed that no optimizer reads."""
    step, modules = evidence.step_us, evidence.steps.unread_gradients
    share = sum(modules.values())
    backward = {graph.slug for graph in evidence.graphs if graph.direction == "backward"}
    kernels = [kernel for kernel in evidence.kernels if kernel.graph in backward]
    spent = sum(kernel.us for kernel in kernels)
    if not step or share * spent < STANDS_OUT * step:
        return None
    name = next(iter(modules))
    return Cause(
        "unread gradients",
        f"Each step computes gradients of {', '.join(f'`{module}`' for module in modules)} that no "
        f"optimizer reads: {percent(share)} of all gradients' numbers.",
        f"`{name}.requires_grad_(False)` computes none of them; where nothing before it needs "
        "gradients, call it under `torch.no_grad()`.",
        why=f"The backward graphs take {microseconds(spent)} of {evidence.step}.",
        concerns=share * spent / step,
        lines=evidence.lines({kernel.id for kernel in kernels}),
    )


def no_backward(evidence: Evidence) -> Cause | None:
    """Forward graphs keep values for a backward that never runs."""
    step, steps, failure = evidence.step_us, evidence.steps, evidence.run.failure or ""
    # They lack those after the last step if the script was ended.
    recorded = {event.compile_id for event in steps.compiles}
    graphs, others = without_backward(evidence.graphs, recorded)
    full = "OutOfMemoryError" in failure
    if evidence.script is None or not graphs or not step or (others and failure and not full):
        return None  # a program that fails may not have come to its backward
    kernels = {kernel.id: kernel.us for kernel in evidence.kernels if kernel.graph in graphs}
    us, memory = sum(kernels.values()), ""
    if us < STANDS_OUT * step and not others:
        return None
    most, once = steps.allocated_bytes or 0, steps.peak.bytes if steps.peak else 0
    if others and 0 < GROWS * once < most:
        memory = f" Memory grows to {size_in_bytes(most)}; a step needs {size_in_bytes(once)}."
    took = f": its kernels take {microseconds(us)} of {evidence.step}" if us else ""
    return Cause(
        "no backward",
        f"Compiled code keeps values for gradients that are never computed{took}.{memory}",
        "Call it under `torch.inference_mode()`, or `torch.no_grad()` if gradients are needed "
        "later: `model.eval()` alone keeps them. Sum `loss.item()` or `loss.detach()`, not `loss`.",
        why=f"{'The program ran out of memory. ' * full}Values that backward would read are kept "
        "as long as the result, or a sum of it.",
        concerns=us / step or None,
        urgent=full or bool(memory),
        lines=evidence.caller(graphs[0]) if others else evidence.lines(kernels),
    )


def without_backward(graphs: list[GraphRow], recorded: set[str]) -> tuple[list[str], bool]:
    """Returns the forward graphs whose backward never runs, and whether that of another compile of
    the same function does. Torch compiles a backward when it is first called."""
    ids = {graph.slug: (graph.compile_id or "").partition("_")[0] for graph in graphs}
    back = {ids[graph.slug] for graph in graphs if graph.direction == "backward"}
    forward = [graph.slug for graph in graphs if graph.direction == "forward"]
    if not back:
        return forward if len(forward) == len(graphs) else [], False
    same = tuple(number.partition("/")[0] + "/" for number in back)
    alone = recorded - back
    return [slug for slug in forward if ids[slug] in alone and ids[slug].startswith(same)], True


def padding(evidence: Evidence) -> Cause | None:
    """Every row of an argument is padded."""
    shares = evidence.steps.padding
    name = max(shares, key=lambda part: shares[part], default="")
    if shares.get(name, 0.0) < PADDED:
        return None
    return Cause(
        "padding",
        f"The last {percent(shares[name])} of the columns of `{name}` hold one value in every row "
        "and every call: padding, which is computed too.",
        "Pad each batch to its longest row, or to one of a few sizes, since each size has its own "
        "compile.",
        concerns=shares[name],
        lines=evidence.lines({kernel.id for kernel in evidence.kernels}),
    )


CHECKS = (square, active_dropout, unread, one_hot, unread_gradients, no_backward, padding)
