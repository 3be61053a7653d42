"""Runs generated wrappers unchanged, and copies every buffer that their lines compute.

Python's tracing reports when a line of the wrapper has run; then the buffers that it names are
copied, before a later line frees or reuses them.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from types import FrameType

import torch
from torch._functorch.aot_autograd import get_aot_graph_name
from torch._inductor.graph import GraphLowering

from inductorscope.capturing.inside.diagnose.copying import copied
from inductorscope.capturing.inside.loaded import debug_folder, tracing
from inductorscope.capturing.inside.untyped import Untyped

_BUFFER = re.compile(r"buf\d+")
_HANDLE = re.compile(r"# \[Provenance debug handles\] (.+)")
_MAKES_NO_VALUE = ("empty", "reinterpret_tensor", "alloc_from_pool", "assert_")
"""Prefixes of the names of calls that allocate or reinterpret memory, and compute nothing."""


@dataclass(frozen=True, slots=True)
class Writing:
    """A wrapper's statement that gives buffers new values."""

    first: int
    last: int
    buffers: tuple[str, ...]
    kernel: str
    handle: int | None
    launches: bool
    """Whether it is a call that writes to its arguments, such as a kernel, not an assignment."""


@dataclass(slots=True)
class CopiedBuffer:
    """A buffer's value, and the first call that wrote it."""

    value: torch.Tensor
    kernel: str
    handle: int | None
    line: int


@dataclass(slots=True)
class Budget:
    """Bytes that may still be copied."""

    left: int
    refused: int = 0


@dataclass(slots=True)
class GraphRun:
    """A compiled graph, with the inputs and buffers of its first call."""

    module: torch.fx.GraphModule
    """Post-grad graph that Inductor lowered."""
    name: str
    """Name of its debug folder, as on pages; otherwise AOTAutograd's name."""
    backward: bool
    code: str
    origins: dict[str, str]
    """Buffer → the FX node whose value it holds."""
    inputs: list[Untyped] = field(default_factory=list)
    mutated: dict[str, torch.Tensor] = field(default_factory=dict)
    """Node that writes to an input → value of the input after the call."""
    buffers: dict[str, CopiedBuffer] = field(default_factory=dict)
    again: dict[str, torch.Tensor] = field(default_factory=dict)
    """The same buffers in a second call with the same inputs."""
    left_out: int = 0
    """Number of buffers that were not copied, for lack of memory."""
    called: bool = False


@contextmanager
def watching(room: int) -> Iterator[list[GraphRun]]:
    """Watches the first call of each graph compiled in the context, up to `room` bytes in total."""
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
    folder = debug_folder()
    run = GraphRun(
        module=graph.orig_gm,
        name=folder.name if folder else get_aot_graph_name(),
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
        arguments = list(args)
        args.clear()  # like the wrapper, so that the memory it frees is free
        return _call_twice(run, call, arguments, steps, first, again)

    module.call = watched
    return run


def _call_twice(
    run: GraphRun,
    call: Untyped,
    arguments: list[Untyped],
    steps: dict[int, list[Writing]],
    first: Budget,
    again: Budget,
) -> Untyped:
    run.inputs = [copied(value) for value in arguments]
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices), keeping(run.code, steps, again) as kept:
        call([copied(value) for value in arguments])
    run.again = {name: buffer.value for name, buffer in kept.items()}
    mutated = mutated_inputs(run.module)
    held = {node: arguments[place] for node, place in mutated.items()}
    refused = first.refused
    with keeping(run.code, steps, first) as kept:
        outputs = call(arguments)
    run.buffers = kept
    run.left_out = first.refused - refused
    run.mutated = {node: copied(value) for node, value in held.items()}
    return outputs


def mutated_inputs(module: torch.fx.GraphModule) -> dict[str, int]:
    """Returns `copy_` node that writes to an input of the graph → position of the input."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    places = {node: place for place, node in enumerate(inputs)}
    return {
        node.name: places[node.args[0]]
        for node in module.graph.nodes
        if node.target is torch.ops.aten.copy_.default and node.args[0] in places
    }


@contextmanager
def keeping(
    code: str, steps: dict[int, list[Writing]], budget: Budget
) -> Iterator[dict[str, CopiedBuffer]]:
    """Collects the buffers that the lines of a file compute while they run in this thread."""
    kept: dict[str, CopiedBuffer] = {}
    with tracing({code: steps}, lambda step, frame: _keep(step, frame, kept, budget)):
        yield kept


def _keep(step: Writing, frame: FrameType, kept: dict[str, CopiedBuffer], budget: Budget) -> None:
    variables = frame.f_locals
    for name in step.buffers:
        value = variables.get(name)
        if not isinstance(value, torch.Tensor):
            continue
        known = kept.get(name)
        if known is None:
            size = value.numel() * value.element_size()
            if size > budget.left:
                budget.refused += 1
                continue
            budget.left -= size
            kept[name] = CopiedBuffer(copied(value), step.kernel, step.handle, step.first)
        elif step.launches:  # it may have been written to in place
            known.value = copied(value)


def steps_of(source: str) -> dict[int, list[Writing]]:
    """Returns first line of a statement → its steps, for all functions of a wrapper.

    A buffer that is never read after it was passed to a kernel is left out: the kernel need not
    store it, so its memory may contain old values.
    """
    lines = source.split("\n")
    steps: dict[int, list[Writing]] = {}
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        statements = [part for part in ast.walk(function) if isinstance(part, ast.stmt)]
        statements.sort(key=lambda found: found.lineno)
        last_read, bases = _last_reads(statements, lines), _alias_bases(statements, lines)
        made: dict[str, Writing] = {}
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
            steps.setdefault(step.first, []).append(step)
    return steps


def _last_reads(statements: list[ast.stmt], lines: list[str]) -> dict[str, int]:
    """Returns buffer → last line that passes it to a call or returns it; aliases do not count."""
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
    """Returns buffers that are written in pieces through views, such as the result of `cat`."""
    buffers = set()
    for statement in statements:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call = statement.value
        if ast.unparse(call.func) != "reinterpret_tensor" or not call.args:
            continue
        if isinstance(call.args[0], ast.Name) and "# reuse" not in lines[statement.lineno - 1]:
            buffers.add(call.args[0].id)
    return buffers


def _step(statement: ast.stmt, lines: list[str]) -> Writing | None:
    if isinstance(statement, ast.Return) and statement.value is not None:
        returned = _names([statement.value])
        last = statement.end_lineno or statement.lineno
        return Writing(statement.lineno, last, returned, kernel="", handle=None, launches=False)
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
    return Writing(
        first=statement.lineno,
        last=statement.end_lineno or statement.lineno,
        buffers=names,
        kernel=kernel if handle is None else handle[0],
        handle=None if handle is None else handle[1],
        launches=launches,
    )


def _piece(statement: ast.stmt, lines: list[str], made: dict[str, Writing]) -> Writing | None:
    """Parses `buf2 = buf1[0]` or `buf5 = buf4`: a new name for an operator's result."""
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
    """Returns the buffers that nodes name, in order."""
    names = (name for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name))
    return tuple(dict.fromkeys(name.id for name in names if _BUFFER.fullmatch(name.id)))


def _handle(lines: list[str], above: int) -> tuple[str, int] | None:
    """Returns Inductor's number of the call, if the line above has it."""
    match = _HANDLE.search(lines[above]) if above >= 0 else None
    if match is None:
        return None
    name, _, number = match.group(1).strip().rpartition(":")
    return (name, int(number)) if name and number.isdigit() else None
