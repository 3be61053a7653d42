"""Causes that keep the device idle: named gaps, and the state of the host in all others."""

import re
from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from sqlalchemy import func, select

from inductorscope import urls
from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.failures.fold import is_library
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.time.facts import HOST_BOUND, Wait
from inductorscope.analyze.time.parts import (
    BETWEEN,
    COPYING,
    GUARDING,
    LAUNCHING,
    LOADING,
    ONCE_PARTS,
    OPERATING,
    OUTSIDE,
    PROFILING,
    QUEUED,
    SYNCHRONISING,
    UNKNOWN,
)
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause, CauseLine, Cleared
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.slow_steps import AGAIN, done_again
from inductorscope.answers.runs.diagnosis.uncompiled import (
    kernel_shares,
    nothing_compiled,
    repeated,
)
from inductorscope.answers.runs.diagnosis.unread import numbers
from inductorscope.formats.capture_facts import CudaGraphs
from inductorscope.formats.change import CUDA_GRAPHS, Change
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import TRITON_TEMPLATE
from inductorscope.store.tables.times import TraceKernel
from inductorscope.units import microseconds, percent, plural

FEW = 10
"""Gaps of a step that one wait may have, to be called few."""
STATIC = (
    "Each call joins more to an argument, and returns it for the next: make it once at its largest "
    "size, write at a position (`index_copy_`), and mask the rest, as a static KV cache does."
)
"""What to do with an argument that grows."""
TELLING = ("loading data", "blocking", "host operator", "call", "searching")
"""Kinds of waits that say what to change, however many gaps there are."""
MOST_OF_IDLE = 0.4
"""Share of the idle time that a wait must have to be named."""
LONG_US = 5000.0
"""Gaps without any event of the host that are no pause of Python between operators."""
OFTEN = 2
"""Times in a step that reading a value is more than the loss of a step."""
ONCE_STANDS_OUT = 0.25
"""Smallest share of a step that reading one value must cost: all compute a loss."""
OFTEN_STANDS_OUT = 0.1
"""Smallest share of a step that short gaps of one reason must add up to."""
MANY_LAUNCHES = 50
FUSED_LAUNCHES = 4
DENSE_GRADIENT = "aten::embedding_dense_backward"
"""The gradient of an embedding that is as large as its table."""
ZEROS, ZEROS_STAND_OUT = "aten::fill_", 0.1
"""What begins such a gradient, and the share of the optimizer's time from which it is large."""
FUSED_STEP = "aten::_fused_%"
FUSED = ("Adam", "AdamW", "SGD", "Adagrad")
"""Optimizers of torch that can update all parameters at once, in about `FUSED_LAUNCHES`."""
FUSED_STANDS_OUT = 0.15
"""Share of a step from which an optimizer that launches all at once is worth a word."""
OUTSIDE_STANDS_OUT = 0.1
"""Smallest share of a processor's step that must be outside of operators."""

WARMED = 3
"""Calls of one function without a CUDA graph, on average, from which it is not only new."""

_LOADS = (
    "Load in other processes while the device works: `DataLoader(…, num_workers=4, "
    "pin_memory=True, persistent_workers=True)`."
)
_LOADS_HERE = (
    "Load in other processes, as many as keep up if cores are idle: `DataLoader(…, num_workers={}, "
    "persistent_workers=True)`. Or compute with whole arrays instead of single numbers, and if the "
    "data is in memory, index a whole batch at once: `__getitems__` of the dataset."
)
MOST_WORKERS = 8
_WORKERS = (
    "The workers of the data loader are slower than the device: raise `num_workers` or "
    "`prefetch_factor`, or make `__getitem__` and the transforms cheaper."
)
_BLOCKS = {
    "aten::item": "Keep the value on the device, or read it only every hundred steps, such as for "
    "logging.",
    "aten::nonzero": "Avoid sizes that depend on data, such as boolean indices: `torch.where` and "
    "masks keep the size.",
    "copy": "Copy from pinned memory with `non_blocking=True`, so that the host goes on.",
    "": "Remove it from the step, or do it less often: nothing is launched while the host waits.",
}
_READS = {
    "aten::item": re.compile(
        r"\.(item|tolist|cpu|numpy)\(|\b(bool|float|int|print)\(|^(if|while) "
    ),
    "aten::nonzero": re.compile(r"nonzero|unique|where\(|masked_select|\["),
}
"""How lines that wait in such an operator look."""
_SPARSE = (
    "If a batch names few rows of an embedding: `torch.nn.Embedding(…, sparse=True)`, and "
    "SparseAdam, Adagrad or SGD for it, update no others. Not every torch compiles its backward."
)
_CALLS = {
    "Malloc": "Memory is allocated anew: keep sizes the same from step to step, or set "
    "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.",
    "Free": "The cache of memory is emptied: leave out `torch.cuda.empty_cache()`, or use less "
    "memory.",
    "": "The driver takes so long for one call: the timeline shows what happens beside it.",
}
_OUTSIDE = (
    "Python runs between the operators. Move it out of the step, such as logging and preparing "
    "data, or compile the code around it, such as the optimizer's step."
)
_IN_PYTHON = (
    "The host runs Python in these lines, outside of operators: do it before the loop, in workers "
    "of a loader, or with one operation on arrays instead of one on each number."
)
_STATES = {
    LOADING: _LOADS,
    SYNCHRONISING: "Something waits for the device in every step: look for `.item()`, `.cpu()`, "
    "`print` of a tensor and `torch.cuda.synchronize()`.",
    GUARDING: "Fewer, larger compiled functions check fewer guards.",
    OUTSIDE: _OUTSIDE,
    LAUNCHING: "Launching takes this long: fewer, larger kernels wait less often.",
    QUEUED: "The work was launched in time, and the device began it late: either it waited, such "
    "as for another stream, or the trace lacks what ran, such as kernels of CUDA graphs. Record "
    "with CUDA graphs off to see which.",
    UNKNOWN: "Record the trace with `ProfilerActivity.CPU` to see what the device waits for.",
    OPERATING: "Eager code launches operators one by one: compile it too, such as the optimizer's "
    "step.",
}
_IN_WORDS = {
    GUARDING: "checking guards", SYNCHRONISING: "the host waits for it",
    UNKNOWN: "the trace does not say why",
}  # fmt: skip
GRAPHS = Change(inductor={CUDA_GRAPHS: "True"})
_MORE_WORK = "Larger batches give the device more work for each launch."


class Idle(NamedTuple):
    """The idle time of a step that is not ordinary, in µs."""

    us: float
    once: float
    """Time of waits that only first steps have; not in `us`."""
    states: dict[str, float]


def _idle(evidence: Evidence) -> Idle | None:
    """Divides the idle time; None if there is no trace of a device."""
    shown, line, step = evidence.shown, evidence.timeline, evidence.step_us
    if shown is None or line is None or not step or not evidence.on_device:
        return None
    states = {part.name: part.us / shown.by for part in line.parts if part.idle}
    ordinary = states.pop(BETWEEN, 0.0) + states.pop(PROFILING, 0.0)
    once = sum(states.pop(name, 0.0) for name in ONCE_PARTS)
    idle = (line.span_us - line.busy_us) / shown.by - ordinary - once
    return Idle(max(0.0, min(idle, step - line.busy_us / shown.by)), once, states)


def first_calls(evidence: Evidence) -> Cause | None:
    """The trace has first calls, captures or compiles, which later steps do not have."""
    idle, line, shown = _idle(evidence), evidence.timeline, evidence.shown
    if idle is None or line is None or shown is None or evidence.run.compiled_ms:
        return None
    if (
        idle.once < MOST_OF_IDLE * (idle.us + idle.once)
        or idle.once < STANDS_OUT * line.span_us / shown.by
    ):
        return None
    waits = [wait for wait in line.waits if wait.kind in ONCE_PARTS]
    longest = max(waits, key=lambda wait: wait.longest_us)
    us, count = sum(wait.us for wait in waits), sum(wait.count for wait in waits)
    per = f"{microseconds(us)} of the trace's {microseconds(line.span_us)}"
    inside = f" in `{longest.inside}`" if longest.inside else ""
    what = {
        "first calls": f"First calls, which load libraries and kernels, keep the device idle for "
        f"{per}: {_times(count, longest)}.",
        "capturing a graph": f"The trace records how a graph is captured: nothing runs for {per}.",
        "compiling": f"The trace records how torch compiles: the device waits for {per}.",
    }[longest.kind]
    return Cause(
        "first calls",
        what,
        "Record after the warm-up: let some steps run before the profiler starts, such as with "
        "`torch.profiler.schedule(wait=2, warmup=2, active=3)`.",
        _at(evidence, longest),
        why=f"The longest is `{longest.name or longest.kind}`{inside}, "
        f"{microseconds(longest.longest_us)}. Later steps do not have it, so there is nothing to "
        "win.",
        concerns=us / line.span_us,
        lines=evidence.line(longest.file, longest.line, f"in {longest.function}"),
    )


def waiting(evidence: Evidence) -> Cause | Cleared | None:
    """The device waits for the host."""
    idle, line, shown, step = _idle(evidence), evidence.timeline, evidence.shown, evidence.step_us
    if shown is None or line is None or not step:
        lacks = "The trace has neither operators nor kernels" if evidence.traces else "No trace"
        return Cleared(f"{lacks}: whether the device waits is unknown.", judged=False)
    if idle is None:
        return None
    if idle.us < STANDS_OUT * step:
        busy = percent(min(1.0, line.busy_us / shown.by / step))
        return Cleared(f"The device is busy for {busy} of {evidence.step}.")
    own = [wait for wait in line.waits if wait.kind not in (*ONCE_PARTS, "profiler", "queued")]
    loads = bool(own) and own[0].kind in ("loading data", "blocking")
    if not loads and records_graphs(evidence) and _replayed(evidence):
        # Each new size has first calls again.
        us = min(idle.us + idle.once, step - line.busy_us / shown.by)
        return _state(evidence, idle._replace(us=max(us, idle.us)))
    if own and own[0].kind == "loading data" and done_again(evidence):
        return None  # it says why
    for wait in own[:1]:
        alike = [other for other in own if other.kind == wait.kind in TELLING] or [wait]
        us = sum(other.us for other in alike) / shown.by
        few = wait.kind in TELLING or wait.count / shown.by <= FEW
        known = wait.name or wait.inside or wait.longest_us >= LONG_US
        if few and us >= MOST_OF_IDLE * idle.us and known:
            return _named_gaps(evidence, alike, min(us, idle.us), idle)
    reads = synchronises(evidence)
    if reads is not None and (reads.wins_us or 0.0) >= idle.us / 2:
        return None  # it says why
    return _state(evidence, idle)


def synchronises(evidence: Evidence) -> Cause | None:
    """Operators read values from the device in every step."""
    idle, line, shown, step = _idle(evidence), evidence.timeline, evidence.shown, evidence.step_us
    wait = line.synchronising if line is not None else None
    if idle is None or line is None or wait is None or shown is None or not step:
        return None
    us = min(wait.us * _unprofiled(evidence), idle.us)
    times = round(wait.count / shown.by)
    lines = evidence.sampled(us)
    named = line.waits[0].kind == "blocking" if line.waits else False
    if named or not times or us < (OFTEN_STANDS_OUT if times >= OFTEN else ONCE_STANDS_OUT) * step:
        return None
    if times < OFTEN and evidence.story.story and break_places(evidence.story.story):
        return None  # which a value that is read or printed makes: the cause on breaks says so
    return Cause(
        "synchronising",
        f"The host waits for the device {'once' if times == 1 else plural(times, 'time')} in each "
        f"step, in `{wait.inside}`: around this the device is idle for {microseconds(us)} of "
        f"{evidence.step}.",
        _BLOCKS[wait.inside],
        _at(evidence, wait),
        why="Nothing is queued while the host waits, so the device runs dry until the next launch.",
        wins_us=us,
        known="estimated",  # the value is then not computed in each step either
        lines=[line for line in lines if _READS[wait.inside].search(line.code)] or lines,
    )


def optimizer(evidence: Evidence) -> Cause | None:
    """An optimizer updates one parameter after the other."""
    line, step, device = evidence.timeline, evidence.step_us, evidence.on_device
    if line is None or not step or not line.optimizers:
        return None
    own = max(line.optimizers, key=lambda ran: ran.us)
    idle, launches = _idle(evidence), own.launches / own.count
    us = min(own.us * _unprofiled(evidence), step)
    wins = us if idle is None else min(us, idle.us) * (1 - FUSED_LAUNCHES / max(launches, 1))
    if launches < MANY_LAUNCHES or wins < OFTEN_STANDS_OUT * step or _spent(evidence, FUSED_STEP):
        shares = kernel_shares(evidence) if device else None
        if shares is not None:  # the time of its kernels, not of the host
            us = shares.at_once
        return None if us < FUSED_STANDS_OUT * step else _whole_tables(evidence, own.name, us)
    what = f"launches {round(launches)} kernels one by one, which takes the host"
    fix = "`torch.compile(optimizer.step)` updates all parameters in a few kernels."
    if own.name in FUSED:
        fix += f" So does `torch.optim.{own.name}(…, fused=True)`."
    if _spent(evidence, DENSE_GRADIENT):
        large = large_table(evidence) or _spent(evidence, ZEROS) > ZEROS_STAND_OUT * own.us
        fix = f"{_SPARSE} Otherwise, {fix}" if large else f"{fix} {_SPARSE}"
    return Cause(
        "optimizer",
        f"`{own.name}.step` {what if device else 'runs one operator after the other for'} "
        f"{microseconds(us)} of {evidence.step}.",
        fix,
        urls.time(evidence.id) + "#timeline",
        wins_us=wins,
        known="estimated" if device else "at most",
        change=Change(optimizer=True),
        lines=evidence.sampled(us),
    )


def _whole_tables(evidence: Evidence, name: str, us: float) -> Cause | None:
    """The optimizer, launched at once, updates all rows of an embedding."""
    table = large_table(evidence)
    if not _spent(evidence, DENSE_GRADIENT) and table is None:
        return None
    return Cause(
        "optimizer",
        f"`{name}.step` takes {microseconds(us)} of {evidence.step}, and updates every row of an "
        "embedding: its gradient is as large as its table.",
        _SPARSE,
        urls.time(evidence.id) + "#timeline",
        why="The gradient is filled with zeros in each step, which takes more.",
        concerns=us / (evidence.step_us or us),
        lines=evidence.sampled(us)
        if table is None
        else evidence.line(table.stack_file, table.stack_line),
    )


def large_table(evidence: Evidence) -> FxNode | None:
    """Returns what looks into an embedding whose table is most of what a graph that trains takes
    in."""
    for graph in evidence.graphs:
        nodes = evidence.nodes().get(graph.slug, ()) if graph.direction == "forward" else ()
        sizes = {
            node.name: numbers(node.annotation) or 0 for node in nodes if node.target == node.name
        }
        for node in nodes:
            looks = operation(node.target) == "embedding" and node.inputs
            if looks and sizes.get(node.inputs[0], 0) > sum(sizes.values()) / 2:
                return node
    return None


def _spent(evidence: Evidence, operator: str) -> float:
    """Returns the time of such operators in the trace. `%` stands for any text."""
    shown = evidence.shown
    query = select(func.sum(TraceKernel.total_us)).where(
        TraceKernel.profile_id == (shown.id if shown else 0),
        (TraceKernel.op if evidence.on_device else TraceKernel.name).like(operator),
    )
    return evidence.session.scalar(query) or 0.0


def _unprofiled(evidence: Evidence) -> float:
    """Returns what scales a sum of the host's times to a timed step: a profile slows the host
    down."""
    step, line, shown = evidence.step_us, evidence.timeline, evidence.shown
    if step is None or line is None or shown is None:
        return 1.0
    return min(1 / shown.by, step / line.span_us)


def beside_operators(evidence: Evidence) -> Cause | None:
    """Without a device: the thread that computes loads data, or is outside of operators."""
    line, shown, step = evidence.timeline, evidence.shown, evidence.step_us
    if line is None or shown is None or not step or evidence.on_device:
        return None
    wait, again = max(line.waits, key=lambda wait: wait.us, default=None), done_again(evidence)
    if wait is not None and wait.us / shown.by >= STANDS_OUT * step:
        us, href = min(wait.us / shown.by, step), _at(evidence, wait)
        what = f"loads data in `{wait.name}`"
        most = min(MOST_WORKERS, evidence.run.environment.get("cores") or MOST_WORKERS)
        workers = min(most, ceil(us / (step - us)) if us < step else most)
        fix = _WORKERS if "MultiProcessing" in wait.name else _LOADS_HERE.format(workers)
        if evidence.sampled(us, "loader"):
            fix = AGAIN["loader"][1]
    else:
        # The profiler makes steps longer, between operators too.
        timed = 1000 * evidence.run.compiled_ms if evidence.run.compiled_ms else step
        busy = line.busy_us / shown.by
        us, href = min(timed, line.span_us / shown.by) - busy, urls.time(evidence.id)
        what, fix = "is outside of operators, in Python or waiting,", _OUTSIDE
        # Of operators that launch one by one, it is said that they are not compiled.
        is_eager = us < busy and nothing_compiled(evidence, kernel_shares(evidence))
        if us < OUTSIDE_STANDS_OUT * step or is_eager:
            return None
    if again is not None and (again.wins_us or 0.0) >= us / 2:
        return None  # it says why
    return Cause(
        "waiting",
        f"The thread that computes {what} for {microseconds(us)} of {evidence.step}.",
        fix,
        href,
        wins_us=us,
        lines=evidence.sampled(us),
    )


def _named_gaps(evidence: Evidence, waits: list[Wait], us: float, idle: Idle) -> Cause:
    """Gaps in which the host did the same are most of the idle time. `waits`: the longest first;
    all are of one kind."""
    step, wait, count = evidence.step_us or 1.0, waits[0], sum(other.count for other in waits)
    per = f"{microseconds(us)} of {evidence.step}"
    names = ", ".join(dict.fromkeys(f"`{other.inside or other.name}`" for other in waits[1:3]))
    why = f"This is {percent(us / idle.us)} of the time that the device waits."
    why += f" Others are in {names}." if names else ""
    freed = next((gap for gap in waits if "Free" in gap.name), wait)  # why memory is allocated
    copies = copied_for(evidence, wait)
    if copies:
        why += f" Copying between host and device takes {microseconds(copies)} more."
        us = min(us + copies, step)
    sampled = evidence.sampled(us) if wait.kind in ("unnamed", "searching") else []
    fix = _IN_PYTHON if sampled and wait.kind == "unnamed" else _FIXES[wait.kind](freed)
    if wait.kind == "searching" and not evidence.steps.cudnn_benchmark:
        fix = f"If it is on, {fix}"
    return Cause(
        "waiting",
        f"The device is idle for {per} while {_doing(wait)}: {_times(count, wait)}.",
        fix,
        _at(evidence, wait),
        why=why,
        wins_us=us,
        lines=evidence.line(wait.file, wait.line, f"in {wait.function}") or sampled,
    )


def copied_for(evidence: Evidence, wait: Wait) -> float:
    """Returns the time of a step in which the device only copies, if the host computes with what it
    copies."""
    line, shown = evidence.timeline, evidence.shown
    if wait.kind != "host operator" or line is None or shown is None:
        return 0.0
    return sum(part.us for part in line.parts if part.name == COPYING) / shown.by


def _doing(wait: Wait) -> str:
    """Returns what the host does: `aten::randn` runs on the host."""
    inside = f", called by `{wait.inside}`," if wait.inside else ""
    words = {
        "loading data": f"the host loads data in `{wait.name}`",
        "blocking": f"the host waits in the blocking call `{wait.name}`{inside}",
        "call": f"the host is in `{wait.name}`{inside}",
        "searching": f"a library tries out its algorithms in `{wait.name}`",
        "operator": f"`{wait.name}` runs on the host" if wait.name else "operators are launched",
        "host operator": f"`{wait.name}` runs on the host",
        "python": f"Python runs in `{wait.name or wait.inside}`, outside of operators",
        "unnamed": "the trace has no event of the host",
    }
    return words[wait.kind].replace(",,", ",").rstrip(",")


_FIXES: dict[str, Callable[[Wait], str]] = {
    "loading data": lambda wait: _WORKERS if "MultiProcessing" in wait.name else _LOADS,
    "blocking": lambda wait: _BLOCKS.get(
        wait.inside, _BLOCKS["copy" if "Memcpy" in wait.name else ""]
    ),
    "call": lambda wait: next(fix for part, fix in _CALLS.items() if part in wait.name),
    "searching": lambda _: "`torch.backends.cudnn.benchmark` searches anew for each size: leave it "
    "out, or pad the inputs to a few sizes. What a search takes varies, compiled or not.",
    "operator": lambda _: "The operator itself takes this long on the host: compile the code "
    "around it, so that it is launched with others.",
    "host operator": lambda _: "Compute it on the device (`device='cuda'`), or prepare it before "
    "the step or in another thread.",
    "unnamed": lambda _: "The host slept, waited, or ran Python that was not recorded: record with "
    "`with_stack=True` to see what it does.",
    "python": lambda _: "Move it out of the step, do it less often, or let it run in another "
    "thread while the device works.",
}  # fmt: skip


def _times(count: int, longest: Wait) -> str:
    """Returns how often, and when: 5 gaps, the longest of 61.2 ms at 717 ms."""
    at = f"{microseconds(longest.at_us)} into the trace"
    if count == 1:
        return f"one gap of {microseconds(longest.longest_us)}, {at}"
    return f"{plural(count, 'gap')}, the longest of {microseconds(longest.longest_us)}, {at}"


def _at(evidence: Evidence, wait: Wait) -> str:
    """The address of the timeline around the longest gap."""
    around = wait.longest_us * 0.2
    start, end = max(0.0, wait.at_us - around), wait.at_us + wait.longest_us + around
    label = evidence.shown.label if evidence.shown is not None else None
    return urls.timeline(evidence.id, profile=label, start=f"{start:.3f}", end=f"{end:.3f}")


def _state(evidence: Evidence, idle: Idle) -> Cause:
    """Many gaps: names the state in which the host was for most of their time."""
    shown, step = evidence.shown, evidence.step_us or 1.0
    most = max(idle.states, key=lambda name: idle.states[name], default=UNKNOWN)
    saves = min(shown.graphs_save_us if shown is not None else 0.0, idle.us)
    fix, lines, change = _STATES.get(most, _MORE_WORK), [], None
    shares = kernel_shares(evidence)
    loop = ""
    if shares is not None and most in (OPERATING, OUTSIDE, LAUNCHING):
        loop = repeated(evidence, shares)
    if most in (OUTSIDE, OPERATING) and nothing_compiled(evidence, shares):
        fix = "Compile it: `torch.compile(…, mode='reduce-overhead')` launches kernels together."
    recorded, again = records_graphs(evidence), _replayed(evidence)
    if loop and not again and (recorded or saves < idle.us / 2):
        saves, fix, lines = 0.0, loop, evidence.sampled(idle.us)
    elif recorded:
        saves, fix = 0.0, again or f"CUDA graphs are on already. {fix}"
        lines = evidence.lines_of(grown(evidence)) if again else []
    elif saves >= STANDS_OUT * step:
        lines = _slowest_region(evidence)
        if skipped := _skipped(evidence):
            fix = f"CUDA graphs are on, and torch skipped them: {skipped} "
            fix += next((fix for part, fix in _UNSKIPPED.items() if part in skipped), "")
        else:
            fix = "Record CUDA graphs, which launch all kernels of a graph at once: "
            tuned = any(kernel.category == TRITON_TEMPLATE for kernel in evidence.kernels)
            fix += f"`torch.compile(…, mode='{'max-autotune' if tuned else 'reduce-overhead'}')`."
            change = GRAPHS
    elif most == LAUNCHING or most not in _STATES:
        fix += " CUDA graphs (`mode='reduce-overhead'`) launch all kernels of a graph at once."
    wins = saves if saves >= STANDS_OUT * step else idle.us
    share = idle.states.get(most, 0.0) / (sum(idle.states.values()) or 1.0)
    why = f"The largest part of its idle time in the trace, {percent(share)}: "
    why += f"{_IN_WORDS.get(most, most)}.{_queued(evidence) if most == QUEUED else ''}"
    waits = evidence.timeline.waits if evidence.timeline is not None else []
    if evidence.script is None and any(wait.file for wait in waits):
        why += " The trace has stacks, which slow the host down: record without them to be sure."
    return Cause(
        "waiting",
        f"The device is idle for {microseconds(idle.us)} of {evidence.step}.",
        fix,
        urls.time(evidence.id) + "#timeline",
        why=why,
        wins_us=None if most == QUEUED else wins,
        known="estimated" if wins == saves else "at most",
        concerns=idle.us / step / 2,
        lines=lines,
        change=change,
    )


def _queued(evidence: Evidence) -> str:
    """Returns which call launched the work that began late: `cudaGraphLaunch`."""
    waits = evidence.timeline.waits if evidence.timeline is not None else []
    late = next((wait for wait in waits if wait.kind == "queued" and wait.name), None)
    if late is None:
        return ""
    return f" `{late.name}` launched the work that began late: {_times(late.count, late)}."


def between_kernels(evidence: Evidence) -> Cause | None:
    """The ordinary pauses between kernels add up."""
    shown, line, step = evidence.shown, evidence.timeline, evidence.step_us
    if shown is None or line is None or not step or records_graphs(evidence):
        return None
    us = sum(part.us for part in line.parts if part.name == BETWEEN) / shown.by
    if us < STANDS_OUT * step or shown.graphs_save_us >= us:  # these are a part of that
        return None
    return Cause(
        "between kernels",
        f"Pauses of less than 3 µs between kernels add up to {microseconds(us)} of "
        f"{evidence.step}: each is ordinary.",
        "Fewer kernels have fewer pauses, and CUDA graphs shorten them: "
        "`torch.compile(…, mode='reduce-overhead')`.",
        urls.time(evidence.id) + "#timeline",
        wins_us=us,
        change=GRAPHS,
    )


def records_graphs(evidence: Evidence) -> bool:
    return any(region.replayed for region in evidence.regions) or any(
        graph.replayed or graph.recorded or graph.warmed for graph in _cuda_graphs(evidence)
    )


def _cuda_graphs(evidence: Evidence) -> list[CudaGraphs]:
    """Returns what happened to CUDA graphs in each process of a captured script."""
    processes = evidence.script.processes if evidence.script is not None else ()
    return [process.cuda_graphs for process in processes if process.cuda_graphs is not None]


def _replayed(evidence: Evidence) -> str:
    """Returns what to do if CUDA graphs are on, and fewer are replayed than made."""
    new, functions, recorded, replayed = (
        sum(getattr(graph, what) for graph in _cuda_graphs(evidence))
        for what in ("warmed", "functions", "recorded", "replayed")
    )
    if replayed >= new + recorded:
        return ""
    if 0 < WARMED * functions < new:
        return (
            f"CUDA graphs are on, and {plural(new, 'call')} of {plural(functions, 'function')} ran "
            "without one: torch records none while results of earlier calls wait for their "
            "backward pass. Call it under `torch.no_grad()`, or let each step call `backward()`."
        )
    pad = "Pad the inputs to a few sizes: each size needs a graph of its own."
    if grown(evidence):
        pad = STATIC
    return (
        f"CUDA graphs are on, and hardly replayed: {plural(new, 'call')} had a new function or "
        f"size, {recorded} recorded a graph, {replayed} replayed one. {pad}"
    )


def grown(evidence: Evidence) -> list[FxNode]:
    """Returns what joins as much as in each call to an argument of any size, and is returned."""
    found: list[FxNode] = []
    for nodes in evidence.nodes().values():
        sizes = {node.name: numbers(node.annotation) for node in nodes}
        given = {node.name for node in nodes if node.target == node.name}
        for node in nodes:
            if operation(node.target) == "cat" and node.name in nodes[-1].inputs:
                joined = [(name in given, bool(sizes.get(name))) for name in node.inputs]
                found += [node] * (joined == [(True, False), (False, True)])
    return found


def _skipped(evidence: Evidence) -> str:
    """Returns why torch recorded no CUDA graph."""
    compiles = evidence.story.story.compiles if evidence.story.story else ()
    skips = [compile_.cudagraph_skip for compile_ in compiles if compile_.cudagraph_skip]
    skips += [reason for graphs in _cuda_graphs(evidence) for reason in graphs.skipped]
    return f"{skips[0][:200].rstrip('.')}." if skips else ""


_UNSKIPPED = {
    "mutated inputs": "Keep what is changed, such as a cache, in buffers of the module, which stay "
    "at one address: `self.register_buffer`. Or return the new value, and assign it outside of the "
    "compiled function.",
    "cpu device": "Keep all of its tensors on the GPU, its scalars as Python numbers.",
    "dynamic": "Pad the inputs to a few sizes.",
}  # fmt: skip
"""How to do without what keeps torch from recording a CUDA graph."""


def _slowest_region(evidence: Evidence) -> list[CauseLine]:
    """Returns the function whose compiled code makes the device wait longest."""
    waits = [
        region for region in evidence.regions if region.verdict == HOST_BOUND and region.compile_id
    ]
    most = max(waits, key=lambda region: region.graphs_save_us * region.calls, default=None)
    story = evidence.story.story
    for compile_ in story.compiles if story is not None and most is not None else ():
        if story is not None and most is not None and compile_.id == most.compile_id:
            if is_library(compile_.file or ""):
                return evidence.own_line([story.frames[number] for number in compile_.stack])
            return evidence.line(compile_.file, compile_.first_line, f"def {compile_.function}(…)")
    return []


def judged_trace(evidence: Evidence) -> Cleared | None:
    """Several traces were read, and one of them is judged."""
    if evidence.shown is None or evidence.traces < 2 or evidence.shown.joined_to_code:
        return None
    return Cleared(
        f"Of {evidence.traces} traces, `{evidence.shown.label}` is judged: among those of its rank "
        "without first calls, its step is the median."
    )


CHECKS = (
    judged_trace, first_calls, waiting, synchronises, optimizer, beside_operators, between_kernels,
)  # fmt: skip
