"""Records of output code: kernels and their calls."""

import msgspec

from inductorscope.formats.code.kernel_facts import Fragment
from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.text import Problem


class CodeKernel(msgspec.Struct):
    """A kernel's definition."""

    name: str
    kind: str
    """`cpp`, `triton`, `template`, `foreach`, `combo`, `user`, `multi`, or `async_compile`'s own
    name."""
    category: str
    """`cpp`, or of a Triton kernel `poi`, `red`, `per`, `tem`, `for`, `spl`, `unk`."""
    first_line: int
    last_line: int
    comment_line: int
    """The first line of its leading comments; `first_line` when it has none."""
    body_first: int
    """The first line of the function that computes."""
    body_last: int
    parameters: list[str] = msgspec.field(default_factory=list)
    source_nodes: list[str] = msgspec.field(default_factory=list)
    fragment: Fragment = msgspec.field(default_factory=Fragment)
    kernel_path: str = ""
    facts: dict[str, object] = msgspec.field(default_factory=dict)
    heuristic: str = ""
    """The heuristic of a Triton kernel, as written: `pointwise`, `cooperative_reduction`,
    `user_autotune`, …"""
    members: list[str] = msgspec.field(default_factory=list)
    """The kernels that a multi-kernel chooses between when it runs."""


class CodeCall(msgspec.Struct):
    """One call of a kernel in the wrapper."""

    kernel: str
    handle: int
    handle_known: bool
    line: int
    arguments: list[str]
    fx_nodes: list[str] = msgspec.field(default_factory=list)
    """The nodes that comments name; empty if there are none."""
    source_nodes: list[str] = msgspec.field(default_factory=list)
    results: list[str] = msgspec.field(default_factory=list)
    extern: bool = False
    stream: str = ""
    inside: str = ""
    """The function of a subgraph that has the call; empty for the wrapper itself."""


class Invocation(msgspec.Struct):
    """A call of a subgraph's function."""

    line: int
    inside: str
    """The function that has the call; empty for the wrapper itself."""
    arguments: list[str]
    results: list[str]


class CodeFunction(msgspec.Struct):
    """A function of the wrapper that computes a subgraph."""

    name: str
    first_line: int
    last_line: int = 0
    invoked: list[Invocation] = msgspec.field(default_factory=list)


class OutputCode(msgspec.Struct):
    kernels: list[CodeKernel] = msgspec.field(default_factory=list)
    calls: list[CodeCall] = msgspec.field(default_factory=list)
    aot_id: str = ""
    cpp: bool = False
    """Whether the wrapper is C++ (AOTInductor, `cpp_wrapper`)."""
    wrapper_first: int = 0
    wrapper_last: int = 0
    stream: str = ""
    inputs: dict[str, Layout] = msgspec.field(default_factory=dict)
    """Layouts of the wrapper's arguments, as the code's benchmark makes them."""
    functions: dict[str, CodeFunction] = msgspec.field(default_factory=dict)
    """Subgraphs, in the order of their definitions."""
    problems: list[Problem] = msgspec.field(default_factory=list)

    def by_name(self) -> dict[str, CodeKernel]:
        return {kernel.name: kernel for kernel in self.kernels}
