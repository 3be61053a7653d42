"""The memory plan from a graph's texts: what is allocated when, the peak, what reuse saves."""

from collections import Counter

from inductorscope.analyze.memory.layouts import constants_of, layouts_of
from inductorscope.analyze.memory.plan import Walk, steps_of
from inductorscope.analyze.memory.records import MemoryPlan, Storage
from inductorscope.analyze.memory.sizes import hints_of
from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.output_code import OutputCode, parse_output_code
from inductorscope.formats.code.wrapper_lines import WrapperLine, parse_wrapper
from inductorscope.formats.graph.fx import FxText, parse_fx
from inductorscope.formats.graph.ir import IrText, parse_ir
from inductorscope.formats.text import plain_lines


def memory_plan(
    code_text: str, ir_text: str | None = None, fx_text: str | None = None
) -> MemoryPlan:
    """Reads output code, Python or C++; the IR and the FX graph add what the code lacks."""
    code = parse_output_code(code_text)
    ir = parse_ir(ir_text, only_buffers=True) if ir_text is not None else None
    fx = parse_fx(fx_text) if fx_text is not None else None
    return plan_of(code, plain_lines(code_text), parse_wrapper(code_text, code), ir, fx)


def plan_of(
    code: OutputCode,
    lines: list[str],
    wrapper: list[WrapperLine],
    ir: IrText | None,
    fx: FxText | None,
) -> MemoryPlan:
    layouts = layouts_of(wrapper, code, lines, ir, fx)
    hints = symbol_values(code, lines, wrapper)
    walk = Walk(wrapper, code, lines, layouts=layouts, hints=hints, constants=constants_of(lines))
    plan = walk.walk()
    _choose_device(plan)
    # Outputs stay allocated, and inputs, except those that only autograd keeps for the backward.
    given = [storage for storage in plan.storages if storage.role == "input"]
    backward = any(storage.name.startswith("tangents") for storage in given)
    kept = [row for row in given if not backward or row.name.startswith("primals")]
    for storage in (*walk.returned, *kept):
        storage.freed = plan.last_line
    plan.steps = steps_of(plan, wrapper, lines)
    _find_peaks(plan)
    _sum_up(plan)
    _name_makers(plan, ir)
    return plan


def symbol_values(code: OutputCode, lines: list[str], wrapper: list[WrapperLine]) -> dict[str, int]:
    """Values of symbols when the code's own benchmark was written."""
    asserted: dict[str, Layout] = {
        made.uses[0]: made.layout
        for made in wrapper
        if made.kind == "assert" and made.uses and made.layout is not None
    }
    body = lines[max(code.wrapper_first - 1, 0) : code.wrapper_last]
    return hints_of(body, lines[code.wrapper_last :], asserted, code.inputs)


def _choose_device(plan: MemoryPlan) -> None:
    """Returns the device whose memory is planned; tensors on unknown devices count as on it."""
    allocated: Counter[str] = Counter()
    for storage in plan.storages:
        if storage.inside is None and storage.role != "constant":
            allocated[storage.device] += (storage.nbytes or 0) + 1
    named = {device: size for device, size in allocated.items() if device}
    plan.device = max(named, key=lambda device: named[device], default="")
    for storage in plan.storages:
        storage.device = storage.device or plan.device
    for storage in plan.storages:
        if storage.device != plan.device and storage.role in {"intermediate", "output"}:
            known = plan.other_devices.get(storage.device, 0)
            plan.other_devices[storage.device] = known + (storage.nbytes or 0)


def _find_peaks(plan: MemoryPlan) -> None:
    for step in plan.steps:
        if step.live > plan.peak:
            plan.peak, plan.peak_line = step.live, step.line
        plan.peak_with_inputs = max(plan.peak_with_inputs, step.live + step.inputs)
    at = plan.peak_line
    held = [
        storage
        for storage in plan.storages
        if _counts(plan, storage) and storage.nbytes and storage.born <= at
        and (storage.freed > at or (storage.role == "output" and storage.freed == plan.last_line))
    ]  # fmt: skip
    held.sort(key=lambda storage: -(storage.nbytes or 0))
    plan.peak_storages = [storage.number for storage in held]


def _counts(plan: MemoryPlan, storage: Storage) -> bool:
    return (
        storage.device == plan.device
        and storage.inside is None
        and storage.role in {"intermediate", "output"}
    )


def _sum_up(plan: MemoryPlan) -> None:
    for storage in plan.storages:
        size = storage.nbytes or 0
        if storage.known == "unknown":
            plan.unknown.append(storage.number)
        if storage.device != plan.device or storage.inside is not None:
            continue
        if storage.role == "input":
            plan.input_bytes += size
        elif storage.role == "constant":
            plan.constant_bytes += size
        else:
            plan.allocated += size
            plan.output_bytes += size if storage.role == "output" else 0
    plan.avoided = sum(reuse.nbytes or 0 for reuse in plan.reuses)


def _name_makers(plan: MemoryPlan, ir: IrText | None) -> None:
    """Names the scheduler node that makes each buffer."""
    if ir is None:
        return
    makers: dict[str, tuple[str, int]] = {}
    for node in (*ir.top(), *ir.nodes):
        for buffer in node.buffers:
            makers.setdefault(buffer.name, (node.name, node.first_line))
    for storage in plan.storages:
        for holding in storage.holdings:
            if holding.name in makers:
                holding.made_by, holding.ir_line = makers[holding.name]
