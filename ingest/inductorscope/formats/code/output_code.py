"""`output_code.py`: the kernels Inductor wrote, and the wrapper that calls them.

    # kernel path: …
    # Topologically Sorted Source Nodes: [a, b], Original ATen: [aten.neg, aten.maximum]
    # Graph fragment:
    #   %neg : Tensor "u8[1, 8]…"[num_users=1] = call_function[target=…](args = …)
    #   return %maximum
    triton_poi_fused_maximum_neg_0 = async_compile.triton('triton_poi_fused_maximum_neg_0', '''
    …
    ''', device_str='cuda')

Then `def call(…)`, in a `Runner` class since 2.9. With `cpp_wrapper` and AOTInductor the wrapper
is C++, alone or in a Python string, and its comments start with `//`.
"""

import re

from inductorscope.formats.code import kernel_facts
from inductorscope.formats.code.call_sites import SOURCE_NODES, CallSites, source_nodes
from inductorscope.formats.code.definitions import Definition, Definitions
from inductorscope.formats.code.layouts import input_layouts
from inductorscope.formats.code.records import CodeCall, CodeKernel, OutputCode
from inductorscope.formats.code.subgraphs import read_subgraphs
from inductorscope.formats.text import plain_text

__all__ = ["CodeCall", "CodeKernel", "OutputCode", "parse_output_code"]

# `# AOT ID: ['0_forward']`
_AOT_ID = re.compile(r"(?:#|//) AOT ID: \['([^'\n]*)'\]")
_AOT_WORDS = " AOT ID: ['"
_PATH = "# kernel path: "


def parse_output_code(text: str) -> OutputCode:
    text = plain_text(text)
    lines = text.split("\n")
    definitions = Definitions(text, lines)
    code = OutputCode(problems=definitions.problems)
    code.aot_id = _aot_id(text, definitions)
    floor = 0
    gaps: list[tuple[int, int]] = []
    for definition in definitions.all:
        gaps.append((floor, definition.first))
        code.kernels.append(_kernel(lines, definition, floor))
        floor = definition.last + 1
    gaps.append((floor, len(lines)))
    CallSites(lines, gaps, code, definitions.declared).read()
    code.inputs = input_layouts(lines[code.wrapper_last :])
    _name_calls(code)
    read_subgraphs(code, lines)
    return code


def _aot_id(text: str, definitions: Definitions) -> str:
    for start, stop in definitions.gaps:
        while (position := text.find(_AOT_WORDS, start, stop)) >= 0:
            line_start = max(position - 2, 0)
            for first in (position - 1, line_start):
                match = _AOT_ID.match(text, first) if first >= 0 else None
                if match is not None and (first == 0 or text[first - 1] == "\n"):
                    return match.group(1)
            start = position + 1
    return ""


def _kernel(lines: list[str], definition: Definition, floor: int) -> CodeKernel:
    first, last = definition.first, definition.last
    block = lines[first : last + 1]
    if definition.indent:
        block = [line.removeprefix(definition.indent) for line in block]
    # A bare function ends with its last line, all others with their closing quotes.
    end = len(block) - (0 if definition.bare else 1)
    body = kernel_facts.find_body([*block, ""] if definition.bare else block, 0, end)
    name, made_by = definition.name, definition.made_by
    start = first if definition.indent else _comments_above(lines, first, floor)
    kind, category = kernel_facts.classify(name, made_by, block, body.first)
    kernel = CodeKernel(
        name=name, kind=kind, category=category, first_line=first + 1, last_line=last + 1,
        comment_line=start + 1, body_first=first + body.first + 1,
        body_last=first + min(body.last, len(block) - 1) + 1,
    )  # fmt: skip
    kernel.parameters = body.parameters
    kernel.facts = kernel_facts.read_facts(block, body.first, made_by)
    kernel.heuristic = kernel_facts.heuristic_of(block, body.first)
    if made_by == "multi_kernel":
        kernel.members = kernel_facts.members_of(block)
    if start < first:
        _read_comments(kernel, lines[start:first])
    return kernel


def _comments_above(lines: list[str], first: int, floor: int) -> int:
    start = first
    while start > floor and lines[start - 1].startswith(("# ", "//")):
        if _AOT_WORDS in lines[start - 1] and _AOT_ID.match(lines[start - 1]):
            break
        start -= 1
    return start


def _read_comments(kernel: CodeKernel, comments: list[str]) -> None:
    kernel.fragment = kernel_facts.read_fragment(comments)
    for line in comments:
        if line.startswith(_PATH):
            kernel.kernel_path = line[len(_PATH) :].strip()
        elif "Source Nodes: [" in line and SOURCE_NODES.match(line):
            kernel.source_nodes = source_nodes(line)


def _name_calls(code: OutputCode) -> None:
    """Numbers calls without a handle in order; copies the nodes of a kernel's first call."""
    kernels = code.by_name()
    seen: set[str] = set()
    for position, call in enumerate(code.calls):
        if not call.handle_known:
            call.handle = position + 1
        kernel = kernels.get(call.kernel)
        if kernel is not None and call.kernel not in seen:
            call.fx_nodes = list(kernel.fragment.nodes)
        seen.add(call.kernel)
