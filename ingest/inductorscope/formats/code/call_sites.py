"""Calls of kernels in the wrapper, Python or C++, and the comments that belong to them.

# Topologically Sorted Source Nodes: [a], Original ATen: [aten.neg]
# [Provenance debug handles] triton_poi_fused_neg_0:1
stream0 = get_raw_stream(0)
triton_poi_fused_neg_0.run(arg0_1, buf0, 8, stream=stream0)

// [Provenance debug handles] aoti_torch_cpu_addmm_out:2
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf0, a_bias, arg6_1, 1L, 1L));
call_triton_poi_fused_neg_0(buf1, buf2, 8L, stream, kernels, this->cubin_dir_);
"""

import re
from collections.abc import Iterator

from inductorscope.formats.code import cpp_calls
from inductorscope.formats.code.records import CodeCall, OutputCode
from inductorscope.formats.graph.provenance import split_handle
from inductorscope.formats.text import arguments_at, closing, split_top

SOURCE_NODES = re.compile(r"(?:#|//) (?:Topologically Sorted |Unsorted )?Source Nodes: \[")
HANDLES = re.compile(r"(?:#|//) \[Provenance debug handles\] ")
# `buf9 = torch.ops.aten.x.default(…)`, `kernel.run(…)`, `extern_kernels.mm(…)`
_CALL = re.compile(r"(?:([\w, ]*+)(?<= )= )?+([A-Za-z_][\w.]*+)\(")
_ENTRY = re.compile(
    r"\s*def (?:call|partition_\d+)\(|def (?!benchmark)\w+\(args\):|class Runner\b|.*\w::run_impl\("
    r"|.*_entry_impl\(|.*\binductor_entry_cpp\("
)
# Since 2.14 a library kernel may be called through a function of its own:
# `def extern_kernels_extern_kernels_addmm_5(*args, **kwargs):`, `return extern_kernels.addmm(…)`
_PASSES_ON = re.compile(r"def (\w+)\(\*args, \*\*kwargs\):")
_PASSED_ON = re.compile(r"\s+return ([\w.]+)\(\*args, \*\*kwargs\)")
_ENTRY_WORDS = ("def ", "class Runner", "run_impl(", "_entry_impl(", "inductor_entry_cpp(")
_CPP_ENTRY = re.compile(r"::run_impl\(|_entry_impl\(|inductor_entry_cpp\(")
_AFTER = ("runner = ", "def get_args(", "def benchmark_compiled_module(")
_EXTERN = (
    "extern_kernels.", "torch.ops.", "aten.", "aoti_torch_", "_quantized.", "inductor_ops.", "at::",
)  # fmt: skip
_NO_KERNEL = (
    "at::Tensor",
    "at::detail::",
    "at::empty",
    "inductor_ops._reinterpret",
    "inductor_ops._alloc",
    *cpp_calls.NO_KERNEL,
)
# Beginnings of the most frequent wrapper lines that never call a kernel.
_NEVER = ("del ", "assert_size_stride(", "assert_alignment(", "static constexpr ", "RAIIAten")
_STREAM = re.compile(r"stream=(\w+)")


class CallSites:
    """Collects calls from the lines outside of kernels, in one pass."""

    def __init__(
        self, lines: list[str], gaps: list[tuple[int, int]], code: OutputCode, declared: set[str]
    ) -> None:
        self.lines = lines
        self.gaps = gaps
        """Ranges of lines outside of kernels, from 0; the end is exclusive."""
        self.code = code
        self.names = declared | {kernel.name for kernel in code.kernels}
        self.cpp = cpp_calls.CppCalls(self.names)
        self.passing: dict[str, str] = {}
        """Function that only passes its arguments on → the library kernel it calls."""
        self.handles: list[str] = []
        self.nodes: list[str] = []

    def read(self) -> None:
        code = self.code
        for number in self._wrapper():
            line = self.lines[number].strip()
            if not line:
                continue
            code.wrapper_last = number + 1
            if line.startswith(("#", "//")):
                self._comment(line)
            elif ("(" in line or "[] = {" in line) and not line.startswith(_NEVER):
                call = self._cpp(line, number) if code.cpp else self._python(line, number)
                if call is not None:
                    code.calls.append(call)
                    self.handles, self.nodes = [], []

    def _wrapper(self) -> Iterator[int]:
        """Lines of the wrapper after its first, which names the entry function."""
        code = self.code
        passes_on = ""
        for first, after in self.gaps:
            self.handles, self.nodes = [], []
            for number in range(first, after):
                line = self.lines[number]
                if code.wrapper_first:
                    if line.startswith(_AFTER) and not code.cpp:
                        return
                    yield number
                    if code.cpp and line.startswith("}"):
                        return
                elif line[:2] == "# " or not line:  # the most frequent lines between kernels
                    continue
                elif "(*args, **kwargs)" in line:
                    if (defined := _PASSES_ON.match(line)) is not None:
                        passes_on = defined.group(1)
                    elif (returned := _PASSED_ON.match(line)) is not None:
                        self.passing[passes_on] = returned.group(1)
                elif any(word in line for word in _ENTRY_WORDS) and _ENTRY.match(line):
                    code.wrapper_first = code.wrapper_last = number + 1
                    code.cpp = _CPP_ENTRY.search(line) is not None

    def _comment(self, line: str) -> None:
        if HANDLES.match(line):
            self.handles = split_top(line.partition("] ")[2])
        elif SOURCE_NODES.match(line):
            self.nodes = source_nodes(line)

    def _python(self, line: str, number: int) -> CodeCall | None:
        match = _CALL.match(line)
        if match is None:
            return None
        results, callee = match.groups()
        callee = self.passing.get(callee, callee)
        extern = callee.startswith(_EXTERN) and not callee.startswith(_NO_KERNEL)
        name = callee if extern else callee.removesuffix(".run").rpartition("kernels.")[2]
        called = name.removeprefix("call_")
        module = name.partition(".")[0]
        if called in self.names:
            name = called
        elif (
            module in self.names
        ):  # `cuda_fused_0.cuda_fused_0(…)`, `mps_lib_0.generated_kernel(…)`
            name = module
        elif name not in self.names and not extern and not self._handled(name):
            return None
        end = closing(line, match.end() - 1)
        call = self._call(name, number, split_top(line[match.end() : end]))
        stream = _STREAM.search(line)
        if stream is not None:
            call.stream = stream.group(1)
            self.code.stream = self.code.stream or call.stream
        call.results = [part.strip() for part in (results or "").split(",") if part.strip()]
        return call

    def _cpp(self, line: str, number: int) -> CodeCall | None:
        called = self.cpp.read(line)
        if called is None:
            return None
        extern = called.callee.startswith(_EXTERN) and not called.callee.startswith(_NO_KERNEL)
        if called.callee not in self.names and not extern and not self._handled(called.callee):
            return None
        call = self._call(called.callee, number, called.arguments)
        call.results, call.stream = called.results, called.stream
        self.code.stream = self.code.stream or call.stream
        return call

    def _handled(self, name: str) -> bool:
        """Whether the comment above names the callee."""
        last = name.rpartition(".")[2]
        return any(split_handle(key)[0].rpartition(".")[2] == last for key in self.handles)

    def _call(self, name: str, number: int, arguments: list[str]) -> CodeCall:
        handle, known = 0, False
        if self.handles:
            named, known_handle = split_handle(self.handles[-1])
            if known_handle is not None:
                name, handle, known = named, known_handle, True
        call = CodeCall(name, handle, known, number + 1, arguments)
        call.source_nodes, call.extern = list(self.nodes), name not in self.names
        return call


def source_nodes(line: str) -> list[str]:
    """`# Source Nodes: [a, b], Original ATen: …` → [`a`, `b`]."""
    return [name for name in arguments_at(line, line.find("[")) if name]
