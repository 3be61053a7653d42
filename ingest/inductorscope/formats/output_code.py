"""`output_code.py`: the kernels Inductor wrote, and the wrapper that calls them.

    # kernel path: …
    # Topologically Sorted Source Nodes: [a, b], Original ATen: [aten.neg, aten.maximum]
    # Graph fragment:
    #   %neg : Tensor "u8[1, 8]…"[num_users=1] = call_function[target=…](args = …)
    #   return %maximum
    triton_poi_fused_maximum_neg_0 = async_compile.triton('triton_poi_fused_maximum_neg_0', '''
    …
    ''', device_str='cuda')

Then `def call(…)`, in a `Runner` class since 2.9. With `cpp_wrapper` and AOTInductor the whole
text is C++ and its comments start with `//`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inductorscope.formats import kernel_facts
from inductorscope.formats.kernel_facts import Fragment
from inductorscope.formats.provenance import split_handle
from inductorscope.formats.scan import Problem, closing, lines_of, split_top

# `name = async_compile.triton('name', '''`
_DEFINITION = re.compile(r"(\w+) = async_compile\.(\w+)\(")
# `# AOT ID: ['0_forward']`
_AOT_ID = re.compile(r"(?:#|//) AOT ID: \['([^']*)'\]")
_HANDLES = re.compile(r"(?:#|//) \[Provenance debug handles\] ")
_SOURCE_NODES = re.compile(r"(?:#|//) (?:Topologically Sorted |Unsorted )?Source Nodes: \[")
# `buf9 = torch.ops.aten.x.default(…)`, `kernel.run(…)`, `extern_kernels.mm(…)`
_CALL = re.compile(r"(?:([\w, ]+?) = )?([A-Za-z_][\w.]*)\(")
_ENTRY = re.compile(
    r"(?:\s*def (?:call|partition_\d+)\(|class Runner\b|.*\brun_impl\(|.*_entry_impl\()"
)
_EXTERN = ("extern_kernels.", "torch.ops.", "aten.", "aoti_torch_", "_quantized.", "inductor_ops.")
_NO_KERNEL = (
    "inductor_ops._reinterpret",
    "inductor_ops._alloc",
    "aoti_torch_empty",
    "aoti_torch_get",
)
_STREAM = re.compile(r"stream=(\w+)")


@dataclass(slots=True)
class CodeKernel:
    """A kernel's definition."""

    name: str
    kind: str
    """`cpp`, `triton`, `template`, `foreach`, `user`, `multi`, or what `async_compile` calls it."""
    category: str
    """`cpp`, or of a Triton kernel `poi`, `red`, `per`, `tem`, `for`, `spl`, `unk`."""
    first_line: int
    last_line: int
    comment_line: int
    """Where its leading comments start; `first_line` when it has none."""
    body_first: int
    """The first line of the function that computes."""
    body_last: int
    parameters: list[str] = field(default_factory=list)
    source_nodes: list[str] = field(default_factory=list)
    fragment: Fragment = field(default_factory=Fragment)
    kernel_path: str = ""
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class CodeCall:
    """One call of a kernel in the wrapper."""

    kernel: str
    handle: int
    handle_known: bool
    line: int
    arguments: list[str]
    fx_nodes: list[str] = field(default_factory=list)
    """From comments; empty when they don't say."""
    source_nodes: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    extern: bool = False


@dataclass(slots=True)
class OutputCode:
    kernels: list[CodeKernel] = field(default_factory=list)
    calls: list[CodeCall] = field(default_factory=list)
    aot_id: str = ""
    cpp: bool = False
    """The text is C++ (AOTInductor, `cpp_wrapper`)."""
    wrapper_first: int = 0
    wrapper_last: int = 0
    stream: str = ""
    problems: list[Problem] = field(default_factory=list)

    def by_name(self) -> dict[str, CodeKernel]:
        return {kernel.name: kernel for kernel in self.kernels}


def parse_output_code(text: str) -> OutputCode:
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = lines_of(text)
        self.result = OutputCode()
        self.names: set[str] = set()

    def read(self) -> OutputCode:
        result = self.result
        number = 0
        comments = -1
        inside: list[tuple[int, int]] = []
        while number < len(self.lines):
            line = self.lines[number]
            if line.startswith("#include"):
                result.cpp = result.cpp or not result.kernels
            elif line.startswith(("# ", "//")):
                comments = number if comments < 0 else comments
                found = _AOT_ID.match(line)
                if found is not None:
                    result.aot_id = result.aot_id or found.group(1)
                    comments = -1
                number += 1
                continue
            definition = _DEFINITION.match(line)
            if definition is not None:
                last = self._definition_end(number)
                self._kernel(definition, number, last, comments)
                inside.append((number, last))
                number = last
            comments = -1
            number += 1
        self._wrapper(inside)
        self._name_calls()
        return result

    def _definition_end(self, number: int) -> int:
        line = self.lines[number]
        quotes = "'''" if "'''" in line else '"""' if '"""' in line else ""
        if not quotes:
            depth = 0
            for last in range(number, min(number + 200, len(self.lines))):
                depth += sum((c in "([{") - (c in ")]}") for c in self.lines[last])
                if depth <= 0:
                    return last
            return number
        if line.count(quotes) > 1:
            return number
        for last in range(number + 1, len(self.lines)):
            if quotes in self.lines[last]:
                return last
        self.result.problems.append(Problem(number + 1, "the kernel's text never ends"))
        return len(self.lines) - 1

    def _kernel(self, found: re.Match[str], first: int, last: int, comments: int) -> None:
        name, made_by = found.groups()
        lines = self.lines
        start = comments if comments >= 0 else first
        body = kernel_facts.find_body(lines, first, last)
        kind, category = kernel_facts.classify(name, made_by, lines, first, body.first)
        kernel = CodeKernel(
            name, kind, category, first + 1, last + 1, start + 1, body.first + 1, body.last + 1
        )
        kernel.parameters = body.parameters
        kernel.facts = kernel_facts.read_facts(lines, first, body.first, made_by)
        kernel.fragment = kernel_facts.read_fragment(lines[start:first])
        for line in lines[start:first]:
            if line.startswith("# kernel path: "):
                kernel.kernel_path = line[len("# kernel path: ") :].strip()
            elif _SOURCE_NODES.match(line):
                kernel.source_nodes = _source_nodes(line)
        self.names.add(name)
        self.result.kernels.append(kernel)

    def _wrapper(self, inside: list[tuple[int, int]]) -> None:
        """The wrapper starts at the first entry function outside of kernels."""
        ranges = iter([*inside, (len(self.lines), len(self.lines))])
        start, end = next(ranges)
        handles: list[str] = []
        nodes: list[str] = []
        for number, line in enumerate(self.lines):
            if number > end:
                start, end = next(ranges)
            if start <= number <= end:
                handles, nodes = [], []
                continue
            result = self.result
            if not result.wrapper_first:
                if _ENTRY.match(line):
                    result.wrapper_first = result.wrapper_last = number + 1
                continue
            if line.startswith(("runner = ", "def get_args(", "def benchmark_compiled_module(")):
                break
            if line.strip():
                result.wrapper_last = number + 1
            stripped = line.strip()
            if _HANDLES.match(stripped):
                handles = split_top(stripped.partition("] ")[2])
            elif _SOURCE_NODES.match(stripped):
                nodes = _source_nodes(stripped)
            elif not stripped.startswith(("#", "//")) and self._call(
                stripped, number, handles, nodes
            ):
                handles, nodes = [], []

    def _call(self, line: str, number: int, handles: list[str], nodes: list[str]) -> bool:
        found = _CALL.match(line)
        if found is None:
            return False
        results, callee = found.groups()
        extern = callee.startswith(_EXTERN) and not callee.startswith(_NO_KERNEL)
        name = callee.removesuffix(".run").rpartition("kernels.")[2] if not extern else callee
        for prefix in ("call_", ""):
            if name.startswith(prefix) and name.removeprefix(prefix) in self.names:
                name = name.removeprefix(prefix)
                break
        else:
            bare = {split_handle(key)[0].rpartition(".")[2] for key in handles}
            if not extern and name.rpartition(".")[2] not in bare:
                return False
        handle, known = 0, False
        if handles:
            named, number_of = split_handle(handles[-1])
            if number_of is not None:
                name, handle, known = named, number_of, True
        arguments = split_top(line[found.end() : closing(line, found.end() - 1)])
        stream = _STREAM.search(line)
        if stream is not None:
            self.result.stream = self.result.stream or stream.group(1)
        made = [part.strip() for part in (results or "").split(",") if part.strip()]
        call = CodeCall(name, handle, known, number + 1, arguments)
        call.source_nodes, call.results, call.extern = list(nodes), made, name not in self.names
        self.result.calls.append(call)
        return True

    def _name_calls(self) -> None:
        """Handles of calls that carry none: their order; nodes of the first call of a kernel."""
        kernels = self.result.by_name()
        seen: set[str] = set()
        for position, call in enumerate(self.result.calls):
            if not call.handle_known:
                call.handle = position + 1
            kernel = kernels.get(call.kernel)
            if kernel is not None and call.kernel not in seen:
                call.fx_nodes = list(kernel.fragment.nodes)
            seen.add(call.kernel)


def _source_nodes(line: str) -> list[str]:
    opened = line.find("[")
    return [name for name in split_top(line[opened + 1 : closing(line, opened)]) if name]
