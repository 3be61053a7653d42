"""Causes in kernels with an operation that costs more than moving memory or plain arithmetic."""

import re
from collections.abc import Iterator

from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause, CauseLine
from inductorscope.answers.runs.diagnosis.evidence import SAMPLED_LINES, Evidence
from inductorscope.answers.runs.diagnosis.unread import numbers
from inductorscope.answers.time.lines import node_times
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import DYNAMO
from inductorscope.units import microseconds, size_in_bytes

FAR_FROM_ROOF = 0.6
"""A kernel below this share of its roof counts as far from it."""
HALF = 0.5
"""Share of such a kernel that others of its operations may take, for its rank."""
SMALL = 8 * 1024 * MIB
"""Peak of a device's memory below which checkpoints are hardly needed."""
MEET = 64.0
"""Additions to each place, on average, from which they are likely to meet."""
ADDS = ("index_put", "index_put_", "_unsafe_index_put", "scatter_add", "scatter_add_")
ATOMIC = re.compile(r"\batomic_add\w*\(")
POWER = re.compile(r"[.:]pow\(")
DRAWN = re.compile(r"\b(?:randn|normalized_rand|randint64)_cpu\(")
DRAWS = ("inductor_random", "inductor_randint")
DRAW_OUTSIDE = (
    "It draws random numbers one by one, which eager does many at a time: draw them outside of the "
    "compiled function, and pass them in, or set `torch._inductor.config.fallback_random = True`."
)


def headrooms(evidence: Evidence) -> dict[tuple[str, str], float]:
    """Returns the time above its roof of each kernel that is far from it, by graph and name."""
    page = evidence.roofline
    return {
        (row.graph, row.name): row.standing.headroom_us
        for row in (() if page is None or page.peaks is None else page.kernels)
        if row.standing.headroom_us and (row.standing.share or 1.0) < FAR_FROM_ROOF
    }


def meeting(node: FxNode, nodes: list[FxNode]) -> float:
    """Returns how many numbers a node adds to each of its places, on average; 0 if its sizes are
    not fixed."""
    sizes = {value.name: numbers(value.annotation) or 0 for value in nodes}
    added = max((sizes[name] for name in node.inputs[1:] if name in sizes), default=0)
    return added / sizes[node.name] if sizes[node.name] else 0.0


def atomics(evidence: Evidence) -> Cause | None:
    """Atomic additions to shared places keep kernels far from their roof."""
    step, far = evidence.step_us, headrooms(evidence)
    found = [
        (kernel, nodes)
        for kernel, nodes in (evidence.computing(ATOMIC, ADDS) if far else ())
        if (kernel.graph, kernel.name) in far
        and any(meeting(node, evidence.nodes()[kernel.graph]) >= MEET for node in nodes)
    ]
    wins = sum(min(far[kernel.graph, kernel.name], kernel.us) for kernel, _ in found)
    if not step or wins < STANDS_OUT * step:
        return None
    return Cause(
        "atomics",
        f"Kernels that add numbers to shared places take "
        f"{microseconds(sum(kernel.us for kernel, _ in found))} of {evidence.step}, "
        f"{microseconds(wins)} more than memory needs.",
        "If few places are added to, multiply by the one-hot matrix of their indices: "
        "`(index[:, None] == torch.arange(n, device=x.device)).to(x.dtype).t() @ x`. If many, sort "
        "by place, once if the indices stay the same, and sum segments: `torch.segment_reduce`.",
        found[0][0].href(evidence.id),
        why="Atomic additions to one place wait for each other. Other block sizes do not change "
        "that.",
        wins_us=wins,
        lines=evidence.lines_of(node for _, nodes in found for node in nodes),
        kernels={kernel.id: kernel.us for kernel, _ in found},
    )


def powers(evidence: Evidence) -> Cause | None:
    """A kernel computes powers by logarithm and exponential."""
    step, far = evidence.step_us, headrooms(evidence)
    found = evidence.computing(POWER, ("pow",)) if far else []
    found = [(kernel, nodes) for kernel, nodes in found if (kernel.graph, kernel.name) in far]
    us = sum(kernel.us for kernel, _ in found)
    if not step or us < STANDS_OUT * step:
        return None
    return Cause(
        "powers",
        f"Kernels that compute powers of any exponent take {microseconds(us)} of {evidence.step}.",
        "Write whole exponents as Python numbers, which become products: `x**6`, and `x**12` as "
        "its square. An exponent that is a tensor, a parameter or no whole number needs a "
        "logarithm and an exponential; `x**1.5` is `x * x.sqrt()`.",
        found[0][0].href(evidence.id),
        why="How much of their time the powers take is unknown: they are far from what memory "
        "allows.",
        concerns=HALF * us / step,
        lines=evidence.lines_of(node for _, nodes in found for node in nodes),
        kernels={kernel.id: kernel.us for kernel, _ in found},
    )


def checkpoints(evidence: Evidence) -> Cause | None:
    """Backward graphs compute again what checkpoints did not keep."""
    step, us = evidence.step_us, 0.0
    lines: dict[CauseLine, None] = {}
    for slug, text in evidence.texts(DYNAMO):
        own = next((graph for graph in evidence.graphs if graph.slug == slug), None)
        if own is None or own.direction != "forward":
            continue
        back = [
            {node.name for node in evidence.nodes()[graph.slug] if node.inputs}
            for graph in evidence.graphs
            if graph.direction == "backward" and graph.compile_id == own.compile_id
        ]
        places = [*_checkpointed(text)] if back else []
        for path, number in places:
            lines |= dict.fromkeys(evidence.line(path, number))
        # The backward computes them by the names that they have in the forward.
        again = set[str]().union(*back) if places else ()
        rows = node_times(evidence.session, evidence.id) if again else ()
        us += sum(row.shared_us for row in rows if row.graph == slug and row.name in again)
    peak, line, shown = evidence.steps.allocated_bytes or 0, evidence.timeline, evidence.shown
    if not step or us < STANDS_OUT * step:
        return None
    busy = line.busy_us / shown.by if line is not None and shown is not None else step
    small = f"The peak of its memory is only {size_in_bytes(peak)}." if 0 < peak < SMALL else ""
    return Cause(
        "checkpoints",
        f"The backward computes again what checkpoints did not keep: {microseconds(us)} of "
        f"{evidence.step}.",
        "Call the layers without `checkpoint` if their results fit in memory, or only some layers "
        "with it.",
        why=small,
        wins_us=us * max(1.0, step / busy),  # the host launches them too
        known="estimated",
        trade="" if small else "Results of the layers stay in memory until the backward.",
        lines=[*lines][:SAMPLED_LINES],
    )


def _checkpointed(text: str) -> Iterator[tuple[str, int]]:
    """Yields the program's lines that call a checkpoint, from Dynamo's text of a graph."""
    path = number = ""
    for line in text.split("\n"):
        if "# File: " in line:
            path, _, number = line.partition("# File: ")[2].partition(" in ")[0].rpartition(":")
        elif ".tag_activation_checkpoint(" in line and number.isdecimal():
            yield path, int(number)


CHECKS = (atomics, powers, checkpoints)
