"""Runs generated wrappers as they are, and keeps every buffer that their lines compute.

Nothing of the code is changed: Python's tracing tells when a line of the wrapper has run, and then
the buffers that it names are copied, before a later line frees or reuses them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from types import FrameType

import torch
from torch._functorch.aot_autograd import get_aot_graph_name
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V

from inductorscope.capture.inside.untyped import Untyped

_BUFFER = re.compile(r"buf\d+")
_HANDLE = re.compile(r"# \[Provenance debug handles\] (.+)")
_MAKES_NO_VALUE = ("empty", "reinterpret_tensor", "alloc_from_pool", "assert_")
"""How the names of calls begin that allocate or look at memory anew, and compute nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of the wrapper after which buffers have new values."""

    first: int
    last: int
    buffers: tuple[str, ...]
    kernel: str
    handle: int | None
    launches: bool
    """A call for what it does to its arguments, as of a kernel; else a value is assigned."""


@dataclass(slots=True)
class Kept:
    """A buffer's value, and the call that wrote it first."""

    value: torch.Tensor
    kernel: str
    handle: int | None
    line: int


@dataclass(slots=True)
class Budget:
    """Bytes of copies that may still be made."""

    left: int
    refused: int = 0


@dataclass(slots=True)
class GraphRun:
    """One compiled graph, and what its first call took and computed."""

    module: torch.fx.GraphModule
    """The post-grad graph, as Inductor lowered it."""
    name: str
    """Of its debug folder, as pages have it; else as AOTAutograd names it."""
    backward: bool
    code: str
    origins: dict[str, str]
    """Buffer → the FX node whose value it holds."""
    inputs: list[Untyped] = field(default_factory=list)
    mutated: dict[str, torch.Tensor] = field(default_factory=dict)
    """Node that writes to an input → the input after the call."""
    buffers: dict[str, Kept] = field(default_factory=dict)
    again: dict[str, torch.Tensor] = field(default_factory=dict)
    """The same buffers of a second call with the same inputs."""
    left_out: int = 0
    """Buffers that were not kept, for want of room."""
    called: bool = False


def copied(value: Untyped) -> Untyped:
    """A tensor's copy with the same strides, also where elements overlap; others as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    if value.layout != torch.strided or value.numel() == 0:
        return value.clone()
    sizes = zip(value.shape, value.stride(), strict=True)
    extent = 1 + sum((size - 1) * step for size, step in sizes)
    whole = torch.as_strided(value, (extent,), (1,)).clone()
    return torch.as_strided(whole, value.shape, value.stride(), 0)


@contextmanager
def watching(room: int) -> Iterator[list[GraphRun]]:
    """Graphs compiled inside are watched the first time they are called, `room` bytes in all."""
    runs: list[GraphRun] = []
    first, again = Budget(room // 2), Budget(room // 2)
    original = GraphLowering.compile_to_module

    @wraps(original)
    def compile_to_module(self: Untyped) -> Untyped:
        module = original(self)
        runs.append(_watched(self, module, first, again))
        return module

    GraphLowering.compile_to_module = compile_to_module
    try:
        yield runs
    finally:
        GraphLowering.compile_to_module = original


def _watched(graph: Untyped, module: Untyped, first: Budget, again: Budget) -> GraphRun:
    origins = {}
    for buffer in graph.buffers:
        node = buffer.get_origin_node()
        if node is not None:
            origins[buffer.get_name()] = node.name
    folder = getattr(V.debug, "_path", None)
    run = GraphRun(
        module=graph.orig_gm,
        name=Path(folder).name if folder else get_aot_graph_name(),
        backward=bool(graph.is_backward),
        code=module.__file__,
        origins=origins,
    )
    call = module.call
    steps = steps_of(Path(module.__file__).read_text(encoding="utf-8"))

    def watched(args: list[Untyped]) -> Untyped:
        if run.called:
            return call(args)
        run.called = True
        given = list(args)
        args.clear()  # as the wrapper itself does, so that what it frees is free
        return _call_twice(run, call, given, steps, first, again)

    module.call = watched
    return run


def _call_twice(
    run: GraphRun,
    call: Untyped,
    given: list[Untyped],
    steps: dict[int, list[Step]],
    first: Budget,
    again: Budget,
) -> Untyped:
    run.inputs = [copied(value) for value in given]
    random = _random_state()
    with tracing(run.code, steps, again) as kept:
        call([copied(value) for value in given])
    run.again = {name: buffer.value for name, buffer in kept.items()}
    _set_random_state(random)
    mutated = mutated_inputs(run.module)
    held = {node: given[place] for node, place in mutated.items()}
    refused = first.refused
    with tracing(run.code, steps, first) as kept:
        outputs = call(given)
    run.buffers = kept
    run.left_out = first.refused - refused
    run.mutated = {node: copied(value) for node, value in held.items()}
    return outputs


def mutated_inputs(module: torch.fx.GraphModule) -> dict[str, int]:
    """`copy_` node that writes to an input of the graph → the input's place."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    places = {node: place for place, node in enumerate(inputs)}
    return {
        node.name: places[node.args[0]]
        for node in module.graph.nodes
        if node.target is torch.ops.aten.copy_.default and node.args[0] in places
    }


@contextmanager
def tracing(code: str, steps: dict[int, list[Step]], budget: Budget) -> Iterator[dict[str, Kept]]:
    """What the lines of one file compute while they run in this thread."""
    kept: dict[str, Kept] = {}

    def of_frame(frame: FrameType, event: str, _: Untyped) -> Untyped:
        if frame.f_code.co_filename != code or frame.f_code.co_name == "<module>":
            return None
        pending: list[Step] = []

        def of_line(frame: FrameType, event: str, _: Untyped) -> Untyped:
            line = frame.f_lineno
            if pending and (event == "return" or not pending[0].first <= line <= pending[-1].last):
                for step in pending:
                    _keep(step, frame, kept, budget)
                pending.clear()
            if event == "line" and not pending:
                pending.extend(steps.get(line, ()))
            return of_line

        return of_line

    before = sys.gettrace()
    sys.settrace(of_frame)
    try:
        yield kept
    finally:
        sys.settrace(before)


def _keep(step: Step, frame: FrameType, kept: dict[str, Kept], budget: Budget) -> None:
    there = frame.f_locals
    for name in step.buffers:
        value = there.get(name)
        if not isinstance(value, torch.Tensor):
            continue
        known = kept.get(name)
        if known is None:
            size = value.numel() * value.element_size()
            if size > budget.left:
                budget.refused += 1
                continue
            budget.left -= size
            kept[name] = Kept(copied(value), step.kernel, step.handle, step.first)
        elif step.launches:  # it may have been written to in place
            known.value = copied(value)


def steps_of(source: str) -> dict[int, list[Step]]:
    """First line of a statement → what the statement computes, of all functions of a wrapper.

    A buffer that nobody reads after it was passed to a kernel is left out: its kernel need not have
    stored it, and its memory may hold what was there before.
    """
    lines = source.split("\n")
    found: dict[int, list[Step]] = {}
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        statements = [each for each in ast.walk(function) if isinstance(each, ast.stmt)]
        statements.sort(key=lambda each: each.lineno)
        last_read, bases = _last_reads(statements, lines), _alias_bases(statements, lines)
        made: dict[str, Step] = {}
        for statement in statements:
            step = _step(statement, lines) or _piece(statement, lines, made)
            if step is None:
                continue
            if not step.launches:
                made.update(dict.fromkeys(step.buffers, step))
            if step.launches:
                read = (
                    name
                    for name in step.buffers
                    if last_read.get(name, 0) > step.first or name in bases
                )
                step = replace(step, buffers=tuple(read))
            found.setdefault(step.first, []).append(step)
    return found


def _last_reads(statements: list[ast.stmt], lines: list[str]) -> dict[str, int]:
    """Buffer → the last line that passes it to a call or returns it; a new name is no reading."""
    last: dict[str, int] = {}
    for statement in statements:
        if isinstance(statement, ast.Return | ast.Expr | ast.Assign):
            value = statement.value
        else:
            continue
        renames = isinstance(statement, ast.Assign) and isinstance(value, ast.Name)
        if value is None or renames or "# reuse" in lines[statement.lineno - 1]:
            continue
        for name in ast.walk(value):
            if isinstance(name, ast.Name) and _BUFFER.fullmatch(name.id):
                last[name.id] = max(last.get(name.id, 0), statement.lineno)
    return last


def _alias_bases(statements: list[ast.stmt], lines: list[str]) -> set[str]:
    """Buffers that are written in pieces, through views of them, as those of `cat` are."""
    found = set()
    for statement in statements:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call = statement.value
        if ast.unparse(call.func) != "reinterpret_tensor" or not call.args:
            continue
        if isinstance(call.args[0], ast.Name) and "# reuse" not in lines[statement.lineno - 1]:
            found.add(call.args[0].id)
    return found


def _step(statement: ast.stmt, lines: list[str]) -> Step | None:
    if isinstance(statement, ast.Return) and statement.value is not None:
        returned = _names([statement.value])
        last = statement.end_lineno or statement.lineno
        return Step(statement.lineno, last, returned, "", None, False)
    if not isinstance(statement, ast.Expr | ast.Assign) or not isinstance(
        statement.value, ast.Call
    ):
        return None
    called = ast.unparse(statement.value.func)
    if called.rpartition(".")[2].startswith(_MAKES_NO_VALUE):
        return None
    launches = isinstance(statement, ast.Expr)
    nodes: list[ast.AST] = [statement.value] if launches else list(statement.targets)  # type: ignore[union-attr]
    names = _names(nodes)
    if not names:
        return None
    handle = _handle(lines, statement.lineno - 2)
    kernel = called.removesuffix(".run")
    return Step(
        statement.lineno,
        statement.end_lineno or statement.lineno,
        names,
        kernel if handle is None else handle[0],
        None if handle is None else handle[1],
        launches,
    )


def _piece(statement: ast.stmt, lines: list[str], made: dict[str, Step]) -> Step | None:
    """`buf2 = buf1[0]`, `buf5 = buf4`: a result of an operator, under a name of its own."""
    if not isinstance(statement, ast.Assign) or "# reuse" in lines[statement.lineno - 1]:
        return None
    whole = statement.value
    while isinstance(whole, ast.Subscript):
        whole = whole.value
    called = made.get(whole.id) if isinstance(whole, ast.Name) else None
    names = _names(list(statement.targets))
    if called is None or not names:
        return None
    return replace(called, first=statement.lineno, last=statement.lineno, buffers=names)


def _names(nodes: list[ast.AST]) -> tuple[str, ...]:
    """Buffers, in the order in which they stand."""
    found = (name for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name))
    return tuple(dict.fromkeys(name.id for name in found if _BUFFER.fullmatch(name.id)))


def _handle(lines: list[str], above: int) -> tuple[str, int] | None:
    """Inductor's own number of the call, where the line above says it."""
    said = _HANDLE.search(lines[above]) if above >= 0 else None
    if said is None:
        return None
    name, _, number = said.group(1).strip().rpartition(":")
    return (name, int(number)) if name and number.isdigit() else None


def _random_state() -> tuple[torch.Tensor, list[torch.Tensor]]:
    there = torch.cuda.is_available() and torch.cuda.is_initialized()
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if there else []


def _set_random_state(state: tuple[torch.Tensor, list[torch.Tensor]]) -> None:
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])
