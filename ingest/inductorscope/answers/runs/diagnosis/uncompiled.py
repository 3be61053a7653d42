"""Causes outside of compiled code: operators that nobody compiled."""

import re
from collections import defaultdict
from typing import NamedTuple

from sqlalchemy import func, select

from inductorscope import urls
from inductorscope.analyze.compile.breaks import break_places, cut_lines
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.time.kernel_names import operator_family
from inductorscope.answers.runs.diagnosis.cause import Cause, CauseLine, Cleared
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.formats.capture_facts import NO_STEPS
from inductorscope.formats.vocabulary import (
    COMMUNICATION,
    CONVOLUTION,
    EAGER,
    GEMM,
    MEMCPY,
    MEMSET,
    OTHER,
    OVERHEAD,
)
from inductorscope.store.tables.times import TraceKernel
from inductorscope.units import count, microseconds, percent, seconds

SMALLEST = 0.01
"""Smallest share of the step that they must take."""
STANDS_OUT = 0.15
"""Smallest share of a step's kernels that eager operators must launch: an optimizer that is not
compiled takes less."""
KNOWN = 0.5
"""Share of the kernels whose operators must be known to judge."""
FUSED = 0.5
"""Share of their time that fusing may save, for the rank of a cause."""
VAGUE = 0.5
"""Share that counts without a hint: as much as an upper bound."""
FUSES = EAGER
"""The category of eager operators that fuse: element-wise ones, reductions and copies."""
ALIKE = 0.9
"""Share of their time in operators that compiled code calls as well, from which compiling gains
little."""
RECURRENT = "rnn"
SLOW_CONVOLUTION = "aten::_slow_conv2d_forward"
BUSY = 0.7
"""Share of a step in which a device works, from which the host's lines say nothing of it."""
SHOWN = 3
BLOCK_MASK = "create_block_mask("
AT_ONCE = re.compile(r"aten::_(foreach|fused)_")
VERY_OFTEN = 100
"""Times that an operator of one step runs, if a loop runs it object by object."""
_SAME = re.compile(
    r"(?:::|aten\.)_?(index|gather|embedding|sort|topk|randperm|fft|linalg_svd"
    r"|linalg_(?!vector_norm)|cholesky|nonzero"
    r"|unique|multinomial|bincount|histc|cdist|cum)"
    r"|(?:Mkldnn|Cudnn|mkldnn_|cudnn_)(?:Rnn|rnn)"
)
"""Operators, beside products and convolutions, for which compiled code calls the same function."""
HINTS = {
    GEMM: "If an operand is mostly zeros, keep its other numbers: `to_sparse_csr()`; if its rows "
    "are one-hot, index instead; if it is float64, float32 takes half of the time.",
    CONVOLUTION: "If a kernel has hundreds of numbers, a product of spectra is faster: "
    "`torch.fft.rfft` and `irfft`.",
    "index": "Keep what belongs to one index side by side in memory: instead of `x[:, i]`, "
    "`y[i]` of `y = x.t().contiguous()`, which is made once.",
    "embedding": "If few rows of a table count, `sparse=True` keeps its gradient small.",
    "linalg_svd": "If a matrix is not square, `full_matrices=False` leaves out the vectors that "
    "only fill it up; `torch.linalg.svdvals` computes none.",
    "sort": "If only the largest or smallest are read, `torch.topk` sorts no others.",
    "randperm": "To draw few of many numbers, `torch.randint` does not shuffle them all.",
}


class Shares(NamedTuple):
    """Kernel time of a step, in µs."""

    whole: float
    ops: dict[str, float]
    """Of kernels that an operator outside of compiled code launched, the slowest first."""
    fuses: float
    """The part of `eager` that fuses."""
    unknown: float
    """Of kernels without an operator."""
    compiled: float
    """Of kernels that compiled code launched."""
    times: dict[str, float]
    """How often each of `ops` runs in a step."""
    at_once: float
    """Of optimizers that update all parameters at once, fused or not."""

    @property
    def eager(self) -> float:
        return sum(self.ops.values())


def not_compiled(evidence: Evidence) -> Cause | Cleared | None:
    """Operators run in eager mode beside compiled code, or there is no compiled code at all."""
    shares, step = kernel_shares(evidence), evidence.step_us
    other, missing = uncalled(evidence), evidence.run.environment.get("missing", ())
    if NO_STEPS in missing and not evidence.graphs and other is None:
        return Cause(
            "nothing compiled",
            "The program compiles nothing and calls no optimizer: everything runs in eager mode.",
            "`torch.compile` the model or its blocks.",
        )
    if shares is None or not step or shares.unknown > (1 - KNOWN) * shares.whole:
        return None
    names = ", ".join(f"`{name}`" for name in [*shares.ops][:SHOWN])
    story, nothing = evidence.story.story, nothing_compiled(evidence, shares)
    if other is not None or (
        story is not None
        and (
            any(nothing or place.skips for place in break_places(story))
            or broken_out(evidence, shares)
            or any(history.reached_limit for history in histories(story))
        )
    ):
        return None  # a cause of its own, or on graph breaks or recompiles, says why
    kind, same = same_operators(shares.ops)
    us = sum(shares.ops[op] for op in same)
    slow = ", ".join(f"`{op}`" for op in same[:SHOWN])
    calls = f"{percent(us / shares.whole)} of the kernels' time is in {slow}, which compiled code "
    calls = f"{calls}calls as well" if same else ""
    if nothing and us > ALIKE * shares.whole:
        return Cleared(f"Nothing is compiled. {calls}.")
    if nothing:
        return Cause(
            "nothing compiled",
            "Nothing in the trace is compiled: eager operators "
            f"{'launch all kernels,' if evidence.on_device else 'take'} "
            f"{microseconds(shares.whole)} of {evidence.step}.",
            "The convolution is that of a build of torch without oneDNN: use one that has it, or "
            "another device."
            if same[:1] == [SLOW_CONVOLUTION]
            else "`torch.compile` the model or its blocks, and record it again.",
            why=f"{calls and f'{calls}. '}{percent(shares.fuses / shares.whole)} of the time is in "
            "element-wise operators, reductions and copies, which fuse. The slowest operators: "
            f"{names}.",
            concerns=FUSED * shares.fuses / step,
            lines=_lines(evidence, shares.whole),
        )
    line, shown = evidence.timeline, evidence.shown
    if line is not None and shown is not None and not evidence.on_device:
        steps = sum(optimizer.us for optimizer in line.optimizers)
        loads = sum(wait.us for wait in line.waits)
        if (steps + loads) / shown.by >= FUSED * shares.eager:
            return None  # the causes on the optimizer and on loading data say so
    if shares.eager < max(STANDS_OUT * shares.whole, SMALLEST * step):
        compiled = percent(1 - shares.eager / shares.whole)
        return Cleared(f"{compiled} of the kernels' time is compiled.")
    if kind == CONVOLUTION and line and [wait.kind for wait in line.waits[:1]] == ["searching"]:
        return None  # most of their kernels are trials
    if kind == RECURRENT and us >= FUSED * shares.eager:
        return Cleared(
            f"{microseconds(us)} of {evidence.step} are in {slow}: a library "
            "computes recurrent layers, and compiling does not change them."
        )
    if us >= FUSED * shares.eager:
        return Cause(
            "eager operator",
            f"{microseconds(us)} of {evidence.step} are spent outside of compiled code in {slow}: "
            "compiled code would call the same functions.",
            less_of(kind),
            concerns=min(us / step, 1.0) * (1.0 if kind in HINTS else VAGUE),
            lines=_lines(evidence, us),
        )
    masks = [line for line in evidence.sampled(shares.eager) if BLOCK_MASK in line.code]
    return Cause(
        "not compiled",
        f"{microseconds(shares.eager)} of the {microseconds(shares.whole)} that kernels take are "
        "not compiled: eager operators outside of compiled code launch them.",
        "`create_block_mask` asks the rule for each pair of positions: make each mask once, before "
        "the first step, or compile it: `torch.compile(create_block_mask)`."
        if masks
        else repeated(evidence, shares)
        or "Compile the function around them too, such as the whole model or the optimizer's step, "
        "or run them less often.",
        why=f"The slowest operators: {names}.",
        concerns=FUSED * shares.fuses / step,
        lines=masks or _lines(evidence, shares.eager),
    )


def less_of(kind: str) -> str:
    """Returns what to do about operators of this kind, which are the same in compiled code."""
    fix = "Give it less to do, or do it less often: if what it takes stays the same, once before "
    return f"{HINTS.get(kind, '')} {fix}the steps.".lstrip()


def _lines(evidence: Evidence, us: float) -> list[CauseLine]:
    """Returns the lines in which the host is, unless it only waits for a busy device."""
    line, shown, step = evidence.timeline, evidence.shown, evidence.step_us
    if evidence.on_device and line and shown and line.busy_us > BUSY * shown.by * (step or 0.0):
        return []
    return evidence.sampled(us)


def repeated(evidence: Evidence, shares: Shares) -> str:
    """Returns what to do if one of the slowest operators runs very often. A trace alone does not
    tell a loop from a deep model."""
    if evidence.script is None:
        return ""
    for op in [*shares.ops][:SHOWN]:
        if shares.times[op] >= VERY_OFTEN and op.startswith("aten::"):
            times = count(round(shares.times[op]))
            return (
                f"`{op}` runs {times} times in each step: compile the loop around it, or, if it "
                "handles one object after the other, compute all at once, with one dimension more, "
                "or of a list of tensors, with functions such as `torch._foreach_lerp_`. If it "
                "makes the same in every step, make it once, before the first."
            )
    return ""


def same_operators(ops: dict[str, float]) -> tuple[str, list[str]]:
    """Returns the slowest kind of operators for which compiled code would call the same function,
    and those of `ops`, which has the time of each."""
    kinds: dict[str, list[str]] = {}
    for op in ops:
        found = _SAME.search(op)
        kind = (found[1] or RECURRENT) if found else operator_family(op)
        kinds.setdefault(kind, []).append(op)
    kinds.pop(OTHER, None)
    slowest = max(kinds, key=lambda kind: sum(ops[op] for op in kinds[kind]), default="")
    return slowest, kinds.get(slowest, [])


def uncalled(evidence: Evidence) -> Cause | None:
    """What `torch.compile` made is never called."""
    for given in evidence.steps.uncalled:
        why, what = "", f"the function that `torch.compile({given.name})` returns"
        fix = f"Keep and call what it returns: `{given.name} = torch.compile({given.name})`."
        if given.methods is not None:
            what = f"`{given.name}.forward`, which `torch.compile` compiles"
            name = next(iter(given.methods), "method")
            fix = (
                f"Compile the method that you call, such as `model.{name} = "
                f"torch.compile(model.{name})`, or call the model that `torch.compile` returns."
            )
            why = "A compiled module passes its other methods on to the original one."
        return Cause(
            "uncalled",
            f"The program never calls {what}: everything runs in eager mode.",
            fix,
            why=why,
            urgent=True,
            lines=evidence.line(given.file, given.line),
        )
    return None


def broken_out(evidence: Evidence, shares: Shares) -> bool:
    """Whether a line that runs longest without being compiled is one in which a graph breaks."""
    story, lines = evidence.story.story, evidence.sampled(shares.eager)
    places = [] if story is None else break_places(story)
    cut = [at for place in places if story for at in cut_lines(story, place)]
    return any((line.path, line.line) in cut for line in lines)


def compiled_once(evidence: Evidence) -> Cause | None:
    """A script compiles something before its steps, none of which runs it."""
    story, events = evidence.story.story, evidence.steps.compiles
    took = sum(event.seconds for event in events)
    if story is None or not (took and story.compiles) or any(event.step > 1 for event in events):
        return None
    if break_places(story) or not nothing_compiled(evidence, kernel_shares(evidence)):
        return None
    made = {compile_.function: compile_ for compile_ in story.compiles}
    frames = [[story.frames[number] for number in compile_.stack] for compile_ in made.values()]
    return Cause(
        "compiled once",
        f"Compiling {', '.join(f'`{name}`' for name in [*made][:SHOWN])} takes {seconds(took)}, "
        "and no profiled step runs compiled code.",
        "Leave out its `torch.compile`, unless it is called often elsewhere; compile what the "
        "steps run instead.",
        urls.compile_story(evidence.id),
        wins_us=1e6 * took,
        share=1.0,
        of="compile time",
        known="at most",
        lines=[line for stack in frames[:SHOWN] for line in evidence.own_line(stack)],
    )


def nothing_compiled(evidence: Evidence, shares: Shares | None) -> bool:
    """Whether the trace is known to have no compiled code."""
    return (
        shares is not None
        and shares.unknown <= (1 - KNOWN) * shares.whole
        and not shares.compiled
        and not evidence.kernels
    )


def kernel_shares(evidence: Evidence) -> Shares | None:
    shown = evidence.shown
    if shown is None or evidence.timeline is None or shown.label == EAGER:
        return None
    us, calls = func.sum(TraceKernel.total_us), func.sum(TraceKernel.calls)
    operator = TraceKernel.op if evidence.on_device else TraceKernel.name
    query = (
        select(TraceKernel.category, operator, us, calls)
        .where(
            TraceKernel.profile_id == shown.id,
            TraceKernel.category.not_in((COMMUNICATION, MEMCPY, MEMSET, OVERHEAD)),
        )
        .group_by(TraceKernel.category, operator)
        .order_by(us.desc())
    )
    rows = [
        (category, op, us / shown.by, calls / shown.by)
        for category, op, us, calls in evidence.session.execute(query)
    ]
    # A fused optimizer is one kernel already: `aten::_fused_adamw_`.
    # A function that Dynamo skipped runs inside of a compiled region all the same.
    nothing = evidence.script is not None and not evidence.graphs
    own = [
        row
        for row in rows
        if (nothing or row[0].startswith(EAGER)) and "::_fused_" not in (row[1] or "")
    ]
    whole = sum(row[2] for row in rows)
    ops, times = defaultdict[str, float](float), defaultdict[str, float](float)
    for _, op, spent, ran in own:
        if op is not None:
            ops[op] += spent
            times[op] += ran
    fuses = sum(row[2] for row in own if row[0] == FUSES and (row[1] or "").startswith("aten::"))
    unknown = sum(us for _, op, us, _ in own if op is None)
    compiled = sum(row[2] for row in rows if not (nothing or row[0].startswith(EAGER)))
    at_once = sum(us for _, op, us, _ in rows if op is not None and AT_ONCE.match(op))
    found = Shares(whole, ops, fuses, unknown, compiled=compiled, times=times, at_once=at_once)
    return found if whole else None


CHECKS = (uncalled, compiled_once, not_compiled)
