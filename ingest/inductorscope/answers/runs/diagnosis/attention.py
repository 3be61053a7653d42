"""Causes in attention: written out as two products, and computed in float32."""

from inductorscope import urls
from inductorscope.analyze.time.eager_compiled import fused_ops
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.unchanging import graphs_of_dynamo, masked
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import ATTENTION, DYNAMO, FUSED
from inductorscope.units import microseconds, percent

NEEDED = "need_weights = True"
"""How Dynamo writes that `nn.MultiheadAttention` returns its weights."""
SOFTMAX = frozenset(("_softmax", "prepare_softmax_online"))


def written_attention(evidence: Evidence) -> Cause | None:
    """Attention is written as two products around a softmax, which stores all scores."""
    page, step = evidence.roofline, evidence.step_us
    if page is None or page.peaks is None or not step or not evidence.on_device:
        return None
    softmax = [
        kernel
        for kernel in evidence.kernels
        if kernel.category in FUSED and SOFTMAX.intersection(fused_ops(kernel.name, SOFTMAX))
    ]
    graphs = {kernel.graph for kernel in softmax}
    products = [
        kernel
        for kernel in evidence.kernels
        if kernel.graph in graphs and kernel.name.endswith(".bmm") and kernel.calls > 1
    ]
    if not products:
        return None
    names = {(kernel.graph, kernel.name) for kernel in products}
    rows = [row for row in page.kernels if (row.graph, row.name) in names]
    peak = max((page.peaks.matmul.get(row.dtype) or 0.0 for row in rows), default=0.0)
    us = sum(kernel.us for kernel in (*softmax, *products))
    wins = us - sum(row.products or 0.0 for row in rows) / peak * 1e6 if peak else us
    if sum(kernel.us for kernel in softmax) < STANDS_OUT * step or wins < STANDS_OUT * step:
        return None
    unread = ""
    if any(slug in graphs and NEEDED in text for slug, text in evidence.texts(DYNAMO)):
        unread = "If nothing reads the weights that `nn.MultiheadAttention` returns, call it with "
        unread += "`need_weights=False`: then it uses the fused kernel. Elsewhere, "
    return Cause(
        "written attention",
        f"Attention that is written out takes {microseconds(us)} of {evidence.step}: a softmax "
        "between two batched products.",
        f"{unread}`torch.nn.functional.scaled_dot_product_attention` computes it in one kernel. A "
        "mask is its `attn_mask`, or `is_causal=True`.",
        softmax[0].href(evidence.id),
        why="It writes all scores to memory and reads them again; the fused kernel never stores "
        "them.",
        wins_us=wins,
        kernels={kernel.id: kernel.us for kernel in (*softmax, *products)},
    )


def in_float32(evidence: Evidence) -> Cause | None:
    """On a GPU, attention runs in float32, which its fastest kernels do not take."""
    page, step = evidence.roofline, evidence.step_us
    peak = page.peaks.matmul.get("bfloat16") if page is not None and page.peaks else None
    if page is None or not peak or not step or not evidence.on_device:
        return None
    ids = {(ran.graph, ran.name): ran for ran in evidence.kernels if ran.group == ATTENTION}
    rows = [row for row in page.kernels if row.dtype == "float32" and (row.graph, row.name) in ids]
    us = sum(row.time_us or 0.0 for row in rows)
    done = sum(row.products or 0.0 for row in rows)
    wins = us - done / peak * 1e6
    if not done or wins < STANDS_OUT * step:
        return None
    return Cause(
        "float32 attention",
        f"Attention in float32 takes {microseconds(us)} of {evidence.step}.",
        "Pass `torch.bfloat16` to `scaled_dot_product_attention`: leave out `.float()` and "
        "`autocast(enabled=False)` around it, or use `torch.autocast`.",
        urls.roofline(evidence.id, bound="compute"),
        why=f"Its fastest kernels take only half precision, whose peak is far higher: this reaches "
        f"{percent(done / us * 1e6 / peak)} of bfloat16's.",
        wins_us=wins,
        trade="bfloat16 keeps 8 bits of the mantissa instead of 24: check your results.",
        lines=evidence.lines({ids[row.graph, row.name].id for row in rows}),
    )


def same_mask(evidence: Evidence) -> Cause | None:
    """On a GPU, attention reads a mask that is the same in every call, and may be a triangle."""
    step, masks = evidence.step_us, list[FxNode]()
    for _, nodes, names in graphs_of_dynamo(evidence) if evidence.on_device else ():
        masks += [node for node, _ in masked(nodes, names)]
    kernels = {kernel.id: kernel.us for kernel in evidence.kernels if kernel.group == ATTENTION}
    us = sum(kernels.values())
    if not step or not masks or us < STANDS_OUT * step:
        return None
    return Cause(
        "same mask",
        f"Attention reads a mask that is the same in every call: it takes {microseconds(us)} of "
        f"{evidence.step}.",
        "If the mask hides what comes later, leave it out and pass `is_causal=True`, which skips "
        "the hidden half of the work and has faster kernels.",
        why="It computes what the mask hides, too. The files do not say which numbers it has.",
        concerns=us / step / 2,
        lines=evidence.lines_of(masks),
        kernels=kernels,
    )


CHECKS = (written_attention, in_float32, same_mask)
