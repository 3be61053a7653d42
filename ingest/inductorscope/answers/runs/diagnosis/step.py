"""Causes that cost time in every step."""

import re
from collections.abc import Collection

from sqlalchemy import select

from inductorscope import urls
from inductorscope.analyze.roofline.devices import device_peaks
from inductorscope.analyze.time.eager_compiled import GROUPS, fused_ops
from inductorscope.analyze.time.facts import NO_CPP
from inductorscope.analyze.trial.catalogue import PADDED
from inductorscope.answers.compile.fusing import UNFIXABLE
from inductorscope.answers.compile.torch_says import loops, torch_report
from inductorscope.answers.compile.unfused import unfused_rows
from inductorscope.answers.runs.diagnosis.cause import MEASURE, STANDS_OUT, Cause, Cleared
from inductorscope.answers.runs.diagnosis.costly import (
    DRAW_OUTSIDE,
    DRAWN,
    DRAWS,
    FAR_FROM_ROOF,
)
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.uncompiled import BUSY, less_of, same_operators
from inductorscope.answers.time.graph_facts import facts_of_graphs, slowest_graphs
from inductorscope.answers.time.kernel_work import ALIGNED, KernelWork
from inductorscope.formats.change import Change
from inductorscope.formats.vocabulary import (
    ATTENTION,
    COMMUNICATION,
    CONVOLUTION,
    CPP,
    EXTERN,
    FUSED,
    GEMM,
    OTHER,
    OVERHEAD,
)
from inductorscope.store.runs.nodes import all_kernel_facts, compiled_kernels
from inductorscope.store.tables.models import Graph, Kernel
from inductorscope.store.tables.times import TraceKernel
from inductorscope.units import microseconds, percent, plural, size_in_bytes

SMALL_US = 5.0
"""In shorter calls, starting dominates, so no roofline says how fast they could be."""
PRODUCTS_LIMITED = 0.5
"""Products that reach this share of the float32 peak are limited by it."""
NO_TF32 = 1.25
"""Products that reach more of it may be in TF32, if the capture does not tell."""

SURELY = 0.3
"""Share of a step from which overhead is not only what disturbed the run."""
OVERHEAD_STANDS_OUT = 0.04
"""Smallest share of a step that is worth larger calls."""
NOISE = 0.1
"""Two traces differ by this share of a group's time without a reason."""
MANY_CALLS = 20
"""Calls of kernels in a step from which their wrapper costs more than guards and the like."""
MOSTLY_FLOAT64 = 0.2
"""Smallest share of a step that kernels in float64 must take: some sums want to be exact."""
_IN_FLOAT32 = re.compile(r"sgemm|scudnn|fmha_cutlass[FB]_f32|Cijk_\w{1,30}_SB_")
"""Kernels that use no tensor cores, although the numbers could."""
MOSTLY_FLOAT32 = 0.25
"""Smallest share of a step of such kernels."""

AUTOTUNE = "`torch.compile(…, mode='max-autotune')` times other kernels for these shapes."
FEWER_VALUES = (
    "Let fewer values live at once: compute them again where they are used, or split the function. "
    "The kernel's page names the lines that spill."
)
FREEZE = (
    "`torch._inductor.config.freezing = True` under `torch.no_grad()` packs the weights; then "
    "`mode='max-autotune'` has kernels to choose from."
)
_ATTENTION = (
    "Compare the call with eager's: mask, layout and dtype decide which kernel runs. Instead of a "
    "causal mask, pass `is_causal=True`, which skips half of the work."
)
VIEWS = frozenset((
    "view", "_unsafe_view", "permute", "transpose", "t", "expand", "unsqueeze", "squeeze", "slice",
    "select", "as_strided",
))  # fmt: skip
GATHERS = frozenset(("index", "index_select", "gather", "embedding", "take"))
CASTS = frozenset(("_to_copy", "convert_element_type"))
COPIES = frozenset(("clone", "copy", "copy_", "contiguous"))
FUNCTIONS = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logsumexp", "pow", "sin", "cos",
    "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "erf", "erfc", "erfinv",
    "lgamma", "digamma", "sigmoid", "silu", "gelu", "mish", "softplus", "elu", "celu", "selu",
    "sqrt", "rsqrt", "logit", "_softmax", "_log_softmax", "_euclidean_dist", "native_dropout",
    "rand", "rand_like", "randn", "randn_like", "bernoulli",
))  # fmt: skip
"""Operators of many instructions, how many depends on the library: on a processor, a kernel with
one is limited by neither memory nor plain arithmetic."""


def autotune(evidence: Evidence) -> str:
    """Returns how to choose other kernels for products; empty where torch has none to choose from:
    on a processor it needs packed weights, which training does not have."""
    if evidence.on_device:
        return AUTOTUNE
    if str((evidence.run.environment.get("config") or {}).get("freezing")) == "True":
        return AUTOTUNE
    trains = any("backward" in graph.slug for graph in evidence.graphs)
    return "" if trains else FREEZE


def slower_group(evidence: Evidence) -> Cause | Cleared | None:
    """A group of operators takes longer compiled than in eager."""
    shown, step = evidence.shown, evidence.step_us
    both = None if shown is None else shown.comparison
    if not both or not step:
        return Cleared("No eager trace: what compiling made slower is unknown.", judged=False)
    # Communication mostly waits for other ranks: see `exposed`. Eager has no `overhead`.
    apart = (GROUPS[COMMUNICATION], GROUPS[OVERHEAD])
    groups = [change for change in both.groups if change.group not in apart]
    group = max(groups, key=lambda change: change.compiled_us - change.eager_us, default=None)
    more = 0.0 if group is None else group.compiled_us - group.eager_us
    if group is None or more < max(STANDS_OUT * step, NOISE * group.eager_us):
        return Cleared("No group of operators takes longer than in eager.")
    known = next((name for name, title in GROUPS.items() if title == group.group), OTHER)
    took = f"{microseconds(group.compiled_us)} compiled, {microseconds(group.eager_us)} eager"
    if not group.eager_us:
        took = f"{microseconds(group.compiled_us)} of {evidence.step}"
    kernels = [kernel for kernel in evidence.kernels if kernel.group == known]
    fix = _ATTENTION if known == ATTENTION else ""
    if known in (GEMM, CONVOLUTION):
        fix = autotune(evidence)
    elif not fix and kernels:
        fix = f"Begin with the slowest, `{kernels[0].name}`: its page shows what limits it."
    if not fix or evidence.disturbed:
        why = "Something disturbed them" if evidence.disturbed else "Eager makes the same calls"
        return Cleared(f"{group.group.capitalize()}: {took}. {why}.", judged=False)
    ours = sum(kernel.us for kernel in kernels) if kernels else more
    if ours < max(STANDS_OUT * step, NOISE * more):
        took += f", of which compiled code launches {microseconds(ours)}"
        return Cleared(f"{group.group.capitalize()}: {took}.")
    more = min(more, ours)
    differs = evidence.script is not None and bool(evidence.script.differs)
    lines = evidence.lines({kernel.id for kernel in kernels})
    drawing = [] if evidence.on_device else evidence.computing(DRAWN, DRAWS)
    if sum(kernel.us for kernel, _ in drawing if kernel.group == known) >= more / 2:
        fix = DRAW_OUTSIDE
        lines = evidence.lines_of(node for _, nodes in drawing for node in nodes)
    return Cause(
        "slower than eager",
        f"{group.group.capitalize()}: {took}.",
        fix,
        urls.time(evidence.id) + "#eager-compiled",
        wins_us=more,
        known="at most" if differs or not group.eager_us else "estimated",
        lines=lines,
        kernels={kernel.id: kernel.us for kernel in kernels},
    )


def overhead(evidence: Evidence) -> Cause | Cleared | None:
    """On a processor, calling compiled code takes long beside what it computes. With graph breaks,
    what runs between the graphs counts as overhead, and their cause says so."""
    shown, line, step = evidence.shown, evidence.timeline, evidence.step_us
    story = evidence.story.story
    if shown is None or line is None or not step or evidence.on_device or (story and story.breaks):
        return None
    written = select(Kernel.id).join(Graph).where(Graph.run_id == evidence.id, Kernel.kind == CPP)
    findings = shown.breakdown.findings if shown.breakdown is not None else ()
    if any(row.what == NO_CPP for row in findings) and evidence.session.scalar(written.limit(1)):
        return Cleared(f"Overhead: {NO_CPP}, and count as the code around them.", judged=False)
    us = min(sum(part.us for part in line.parts if part.name == OVERHEAD) / shown.by, step)
    wraps = sum(kernel.calls for kernel in evidence.kernels) >= MANY_CALLS
    least = SURELY if evidence.disturbed else OVERHEAD_STANDS_OUT
    if us < least * step or (wraps and evidence.disturbed):
        return None
    fix = "Each call of compiled code costs this: compute more in one, such as a larger batch."
    change = Change(inductor={"cpp_wrapper": "True"}) if wraps else None
    often = max((region.calls / shown.by for region in evidence.regions), default=0.0)
    if often >= MANY_CALLS:
        fix = f"A compiled function is called {round(often)} times in each step: compile the loop "
        fix += "that calls it, or compute all in one call, with one dimension more."
    elif evidence.steps.rows:
        name, rows = next(iter(evidence.steps.rows.items()))
        fix = f"Each call is given one row of `{name}`, of {rows:,}. Unless a row needs what "
        fix += "another one gave, pass all in one call; the gradient of each row by itself comes "
        fix += "from `torch.func.vmap(torch.func.grad(f))`."
        change = None
    elif change:
        fix = "`torch._inductor.config.cpp_wrapper = True` replaces the Python wrapper."
    return Cause(
        "overhead",
        f"Compiled code's overhead: {microseconds(us)} of {evidence.step}.",
        fix,
        # Larger calls also make better use of the machine, and spare what runs between them.
        wins_us=us if wraps and often < MANY_CALLS else None,
        concerns=us / step / 2,  # at most
        change=None if often >= MANY_CALLS else change,
    )


def float32_products(evidence: Evidence) -> Cause | Cleared | None:
    """Matrix products run in float32 where tensor cores could compute them."""
    page, step = evidence.roofline, evidence.step_us
    if page is None or page.peaks is None or not step:
        return _float32_by_name(evidence)
    table = device_peaks(page.device)
    tf32 = page.peaks.matmul.get("tf32") or (table.matmul.get("tf32") if table else None)
    float32 = page.peaks.matmul.get("float32")
    ids = {(ran.graph, ran.name): ran for ran in evidence.kernels if ran.group == GEMM}
    rows = [
        row
        for row in page.kernels
        if row.products and row.time_us and row.dtype == "float32" and (row.graph, row.name) in ids
    ]
    us = sum(row.time_us or 0.0 for row in rows)
    if not tf32 or not float32 or us < STANDS_OUT * step:
        return None
    done = sum(row.products or 0.0 for row in rows)
    reached = done / us * 1e6 / float32
    wins = us - done / tf32 * 1e6
    in_float32 = evidence.steps.float32_products == "highest" or reached <= NO_TF32
    if reached < PRODUCTS_LIMITED or not in_float32 or wins < STANDS_OUT * step:
        return None
    return Cause(
        "float32 products",
        f"Matrix products in float32 take {microseconds(us)} of {evidence.step}.",
        "`torch.set_float32_matmul_precision('high')` lets tensor cores compute them in TF32.",
        urls.roofline(evidence.id, bound="compute"),
        why=f"They reach {percent(reached)} of the float32 peak; TF32's is "
        f"{tf32 / float32:.1f} times as high.",
        wins_us=wins,
        trade="TF32 keeps 10 bits of the mantissa instead of 23: check your results.",
        change=Change(float32_products="high"),
        lines=evidence.lines({ids[row.graph, row.name].id for row in rows}),
    )


def _float32_by_name(evidence: Evidence) -> Cause | None:
    """The names of a busy device's kernels tell that they compute in float32, without a graph."""
    line, shown, step = evidence.timeline, evidence.shown, evidence.step_us
    if line is None or shown is None or not step or not evidence.on_device:
        return None
    query = select(TraceKernel.name, TraceKernel.total_us).where(TraceKernel.profile_id == shown.id)
    rows = evidence.session.execute(query)
    us = sum(spent for name, spent in rows if _IN_FLOAT32.search(name)) / shown.by
    if us < MOSTLY_FLOAT32 * step or line.busy_us / shown.by < BUSY * step:
        return None
    return Cause(
        "float32 products",
        f"The device is busy, with products and convolutions in float32 for {microseconds(us)} of "
        f"{evidence.step}.",
        "`torch.autocast('cuda', dtype=torch.bfloat16)` around the forward pass, or float16 before "
        "Ampere: tensor cores compute them. From Ampere on, "
        "`torch.set_float32_matmul_precision('high')` keeps float32 with fewer digits.",
        why="The names of their kernels tell it, such as `sgemm`.",
        concerns=us / step,
        trade="Fewer digits: check your results.",
    )


def float64(evidence: Evidence) -> Cause | None:
    """Kernels compute in float64."""
    step = evidence.step_us
    if not step:
        return None
    own = in_float64(evidence)
    kernels = {ran.id: ran.us for ran in evidence.kernels if (ran.graph, ran.name) in own}
    us = sum(kernels.values())
    if us < MOSTLY_FLOAT64 * step:
        return None
    return Cause(
        "float64",
        f"Kernels that compute in float64 take {microseconds(us)} of {evidence.step}.",
        "Compute in float32, which has 7 digits instead of 16: `.float()` on the inputs and the "
        "model. Arrays of NumPy are float64 unless made otherwise.",
        urls.roofline(evidence.id),
        why="In float32 they move half of the memory, and processors compute twice as fast; many "
        "GPUs far more.",
        wins_us=us / 2,
        known="estimated",
        kernels=kernels,
    )


def in_float64(evidence: Evidence) -> set[tuple[str, str]]:
    """Returns graph and name of kernels that compute in float64."""
    rows = () if evidence.roofline is None else evidence.roofline.kernels
    return {(row.graph, row.name) for row in rows if row.dtype == "float64"}


def far_from_roof(evidence: Evidence) -> Cause | Cleared | None:
    """A kernel is far from what the machine can do."""
    page, step = evidence.roofline, evidence.step_us
    if not evidence.kernels or not step:
        return Cleared("No kernel of the code has a time.", judged=False)
    if page is None:
        return Cleared(f"No kernel takes {percent(STANDS_OUT)} of a step.")
    if evidence.disturbed:
        return Cleared("Something slowed the kernels down: no roofline.", judged=False)
    if page.peaks is None:
        return Cleared("The peaks of this device are unknown: no roofline.", judged=False)
    # No setting of torch makes a library's attention faster: it depends on the call's arguments.
    # Nor its convolutions in backward, for which Inductor has no kernel.
    groups = {(kernel.graph, kernel.name): kernel.group for kernel in evidence.kernels}
    usual = {(ran.graph, ran.name): ran.us / (ran.mean_us or 1.0) for ran in evidence.kernels}
    tunes = bool(autotune(evidence))
    unknown = {
        (row.graph, row.name)
        for row in page.kernels
        if (not evidence.on_device or row.standing.bound == "compute")
        and not FUNCTIONS.isdisjoint(fused_ops(row.name, FUNCTIONS))
    }
    judged = [
        row
        for row in page.kernels
        if row.standing.headroom_us
        and not row.standing.over
        and (row.each_us or 0.0) >= SMALL_US
        and groups.get((row.graph, row.name)) != ATTENTION
        and "convolution_backward" not in row.name
        and (tunes or row.products is None)
        and (row.graph, row.name) not in unknown
    ]

    def headroom(row: KernelWork) -> float:
        """The time above the roof, of runs that take their median."""
        us = (row.time_us or 0.0) * usual.get((row.graph, row.name), 1.0)
        return us - (row.standing.roof_us or 0.0)

    far = [row for row in judged if (row.standing.share or 1.0) < FAR_FROM_ROOF]
    worst = max(far, key=headroom, default=None)
    wins = 0.0 if worst is None else headroom(worst)
    if worst is None or wins < STANDS_OUT * step:
        if page.notes:
            return Cleared("Some graphs are missing here: see the page Roofline.", judged=False)
        least = percent(STANDS_OUT)
        left = [
            kernel
            for kernel in evidence.kernels
            if "convolution_backward" in kernel.name or (kernel.graph, kernel.name) in unknown
        ]
        if left and left[0].us >= OVERHEAD_STANDS_OUT * step:
            why = "is a library's" if left[0].category == EXTERN else "computes functions"
            return Cleared(
                f"`{left[0].name}` takes {microseconds(left[0].us)} of {evidence.step}, and {why}: "
                "how fast it could be is unknown.", judged=False,
            )  # fmt: skip
        return Cleared(f"At the machine's limits no kernel would win {least} of a step.")
    own = {ran.id for ran in evidence.kernels if (ran.graph, ran.name) == (worst.graph, worst.name)}
    us = (worst.time_us or 0.0) * usual.get((worst.graph, worst.name), 1.0)
    rest = (worst.time_us or 0.0) - us
    slow = f" Its slow runs add {microseconds(rest)}." if rest >= STANDS_OUT * step else ""
    spilled = _spilled(evidence, worst)
    odd = worst.unaligned if evidence.on_device and "convolution" not in worst.name else 0
    calls = f"{plural(worst.calls, 'call')} with {worst.shapes}. " if worst.shapes else ""
    padded = f"Make the size a multiple of {ALIGNED}: {-(-odd // ALIGNED) * ALIGNED}, not {odd}. "
    padded += "`torch._inductor.config.shape_padding = True` pads such products."
    uneven = f" Its rows have {odd} numbers of 16 bits; fast products need multiples of 16 bytes."
    limit = "memory" if worst.standing.bound == "memory" else "arithmetic"
    return Cause(
        "far from its roof",
        f"`{worst.name}` takes {microseconds(us)} of {evidence.step}, and reaches "
        f"{percent((worst.standing.roof_us or 0.0) / us)} of what {limit} allows.",
        padded if odd else FEWER_VALUES if spilled else _tuning(worst, evidence),
        urls.kernel(evidence.id, worst.graph, worst.name, worst.handle),
        why=f"{calls}At that limit it would take {microseconds(worst.standing.roof_us)}."
        f"{slow}{spilled}" + (uneven if odd else ""),
        wins_us=wins,
        lines=evidence.lines(own, us),
        kernels=dict.fromkeys(own, wins),
        change=PADDED if odd else None,
    )


def _spilled(evidence: Evidence, row: KernelWork) -> str:
    """Describes the local memory of the configuration that ran; empty if it uses none."""
    graph = select(Graph.id).where(Graph.run_id == evidence.id, Graph.slug == row.graph)
    facts = all_kernel_facts(evidence.session, evidence.session.scalar(graph) or 0)
    known = compiled_kernels(facts.get(row.name, {}))
    taken = next((compiled for compiled in known if compiled.ran), None)
    if taken is None or not taken.local:
        return ""
    return (
        f" Each thread keeps {size_in_bytes(taken.local)} in local memory, which is slow: more "
        f"values are live than its {taken.registers} registers hold, or it uses arrays."
    )


def _tuning(row: KernelWork, evidence: Evidence) -> str:
    if row.products is not None:
        return autotune(evidence)
    if row.kind == "triton":
        return (
            "Try other block sizes: `torch._inductor.config.coordinate_descent_tuning = True`. "
            f"{MEASURE}"
        )
    if GATHERS.intersection(fused_ops(row.name, GATHERS)):
        return (
            "It reads numbers at computed indices: keep what belongs to one index side by side in "
            "memory, such as `.t().contiguous()` once before the steps, so that each takes one "
            "line of the cache."
        )
    return MEASURE


def casts(evidence: Evidence) -> Cause | Cleared | None:
    """Kernels that only convert dtypes."""
    fix = (
        "Convert once, before the step: keep weights and inputs in the dtype that the step "
        "computes in, `model.to(torch.bfloat16)` for instance."
    )
    if any(graph.direction == "backward" for graph in evidence.graphs):
        fix = (
            "Convert inputs once, before the step. Weights that are trained change in each step, "
            "so autocast converts them in each: keep them in bfloat16, and copies in float32 in "
            "the optimizer alone."
        )
    return _only(evidence, "casts", "Conversions between dtypes", CASTS, VIEWS | COPIES, fix)


def copies(evidence: Evidence) -> Cause | Cleared | None:
    """Kernels that only rearrange memory."""
    return _only(
        evidence, "copies", "Copies into another layout", COPIES, VIEWS,
        "Create the tensor in the layout that its reader needs (`channels_last`, a transposed "
        "weight), or drop the `.contiguous()` or `.clone()` on this line.",
    )  # fmt: skip


def _only(
    evidence: Evidence, kind: str, what: str, wanted: Collection[str], beside: Collection[str],
    fix: str,
) -> Cause | Cleared | None:  # fmt: skip
    """Returns fused kernels that contain an operation of `wanted`, and otherwise only those of
    `beside`."""
    step = evidence.step_us
    if not step or not evidence.kernels:
        return None
    own = []
    for kernel in evidence.kernels:
        ops = set(fused_ops(kernel.name, wanted)) if kernel.category in FUSED else set()
        if ops.intersection(wanted) and ops.issubset({*wanted, *beside}):
            own.append(kernel)
    us = sum(kernel.us for kernel in own)
    if not own:
        return Cleared(f"{what}: no kernel does only that.")
    if us < STANDS_OUT * step:
        return Cleared(f"{what} alone take {microseconds(us)} of {evidence.step}.")
    calls = plural(round(sum(kernel.calls for kernel in own)), "call")
    return Cause(
        kind,
        f"{what} take {microseconds(us)} of {evidence.step}: {calls} of kernels that do nothing "
        "else.",
        fix,
        own[0].href(evidence.id),
        wins_us=us,
        kernels={kernel.id: kernel.us for kernel in own},
    )


def not_fused(evidence: Evidence) -> Cause | Cleared | None:
    """Two kernels share memory and are not fused."""
    step = evidence.step_us
    fused = [kernel.us for kernel in evidence.kernels if kernel.category in FUSED]
    if not step or sum(fused[:2]) < STANDS_OUT * step:  # the most one pair can save
        return None
    notes: list[str] = []
    graphs = slowest_graphs(evidence.session, evidence.id)
    facts = facts_of_graphs(evidence.session, graphs, notes, room=0)
    slow = in_float64(evidence)  # a cause of its own
    rows = [
        row
        for graph, known in facts
        for row in unfused_rows(evidence.story, graph, known)
        if row.rule not in UNFIXABLE and (graph.slug, row.one.kernel) not in slow
    ]
    worst = max(rows, key=lambda row: row.saved_us or 0.0, default=None)
    wins = 0.0 if worst is None else worst.saved_us or 0.0
    if worst is None or wins < STANDS_OUT * step:
        if notes:
            return Cleared("Some graphs are missing here: see *Not fused*.", judged=False)
        return Cleared(
            f"No two kernels share so much memory that fusing them would win {percent(STANDS_OUT)} "
            "of a step."
        )
    both = (worst.one, worst.other)
    return Cause(
        "not fused",
        f"`{worst.one.kernel}` and `{worst.other.kernel}` are not fused: "
        f"{size_in_bytes(worst.saved)} move twice each time they run.",
        _APART.get(worst.rule, "Compute both in one graph, over the same sizes in the same order."),
        urls.compile_part(evidence.id, "fusing") + "#unfused",
        why=next(iter(worst.reasons), ""),
        wins_us=wins,
        lines=list(
            dict.fromkeys(line for side in both for line in evidence.line(side.file, side.line))
        ),
    )


_APART = {
    "many": "Raise `torch._inductor.config.max_fusion_size`.",
    "order": "Create the tensor in the order in which the other kernel reads it: `.contiguous()`, "
    "`channels_last` or a transposed view in the right place.",
}


def fallbacks(evidence: Evidence) -> Cause | Cleared | None:
    """Operators for which Inductor generates no code."""
    step = evidence.step_us
    own = [ran for ran in evidence.kernels if ran.group == OTHER and ran.category == EXTERN]
    if not step or not evidence.kernels:
        return None
    us = sum(kernel.us for kernel in own)
    if us < STANDS_OUT * step:
        took = f"take {microseconds(us)}" if us else "are not in the graphs"
        return Cleared(f"Operators that Inductor leaves to eager {took}.")
    names = dict.fromkeys(f"`{kernel.name.removeprefix('torch.ops.')}`" for kernel in own)
    kind, same = same_operators({kernel.name: kernel.us for kernel in own})
    fix = "Nothing fuses with them. Express them by operators that Inductor compiles"
    if on_complex_numbers(evidence):
        fix = "Inductor has no code for complex numbers: compute with real and imaginary parts"
    fix += ", or write a Triton kernel." if evidence.on_device else "."
    if sum(kernel.us for kernel in own if kernel.name in same) > us / 2:
        fix = less_of(kind)
    return Cause(
        "fallbacks",
        f"Operators that Inductor does not compile take {microseconds(us)} of {evidence.step}: "
        f"{', '.join([*names][:3])}.",
        fix,
        own[0].href(evidence.id),
        wins_us=us,
        kernels={kernel.id: kernel.us for kernel in own},
    )


def on_complex_numbers(evidence: Evidence) -> bool:
    """Whether a graph has complex numbers. Loops over their parts load every other number."""
    nodes = (node for own in evidence.nodes().values() for node in own)
    return any(re.match(r"c\d", node.annotation or "") for node in nodes)


def scalar_loops(evidence: Evidence) -> Cause | Cleared | None:
    """Loops of C++ kernels that are not vectorised."""
    step = evidence.step_us
    table = loops(evidence.session, evidence.id, torch_report(evidence.session, evidence.id))
    if table is None or not step:
        return None
    slow = in_float64(evidence)  # a cause of its own
    scalar = {(row.graph, row.kernel): row for row in table.rows if not row.vectorised}
    scalar = {key: row for key, row in scalar.items() if key not in slow}
    own = [kernel for kernel in evidence.kernels if (kernel.graph, kernel.name) in scalar]
    us = sum(kernel.us for kernel in own)
    if us >= STANDS_OUT * step and on_complex_numbers(evidence):
        return None  # the cause on what Inductor does not compile says so
    if us < STANDS_OUT * step:
        return Cleared(f"Kernels with loops that are not vectorised take {microseconds(us)}.")
    worst = scalar[own[0].graph, own[0].name]
    return Cause(
        "scalar loops",
        f"Kernels with loops that are not vectorised take {microseconds(us)} of {evidence.step}.",
        "Avoid what keeps the compiler from vector instructions on this line: integers of 64 bits, "
        "indirect indices, operators without a vector form.",
        urls.compile_part(evidence.id, "fusing") + "#loops",
        why=f"`{worst.kernel}`: {worst.how}",
        wins_us=us,
        kernels={kernel.id: kernel.us for kernel in own},
    )


CHECKS = (
    slower_group, overhead, float32_products, float64, far_from_roof, not_fused,
    casts, copies, fallbacks, scalar_loops,
)  # fmt: skip
"""What to change first: the causes that cost a run most."""
