"""Facts in a kernel's text: its body, category, parameters and configuration."""

import re

import msgspec

from inductorscope.formats.machine.metadata import COMPILED_FOR
from inductorscope.formats.text import arguments_at, closing, split_top
from inductorscope.formats.vocabulary import (
    CATEGORIES,
    CPP_FUSED,
    NATIVE_TEMPLATE,
    OTHER_FUSED,
    TRITON_FOREACH,
    TRITON_OTHER,
    TRITON_TEMPLATE,
    USER_TRITON,
)

_BY_NAME = {category.short: category.id for category in CATEGORIES if category.short}
_CATEGORY = re.compile(rf"triton_({'|'.join(_BY_NAME)})_")
# `@triton_heuristics.pointwise(`; early versions imported only the name.
_HEURISTIC = re.compile(
    r"@(?:triton_heuristics\.(\w+)|(pointwise|reduction|persistent_reduction|template|foreach))\("
)
_BY_HEURISTIC = {category.heuristic: category.id for category in CATEGORIES if category.heuristic}
_NUMBERS = re.compile(
    r"'(num_load|num_store|num_reduction|kernel_num_gb|kernel_flop)': ([\d.e+-]+)"
)
_GRID = re.compile(r"'grid_type': '(\w+)'")
_DEVICE = re.compile(
    r"\bmulti_processor_count=(\d{1,6}), cc=(\d{1,4}),.{0,200}?\bwarp_size=(\d{1,4})\b"
)
_SIGNATURE = re.compile(r"'signature': \{")
_SIZE_HINTS = re.compile(r"size_hints=([\[{(])")
# `#   %neg : Tensor "…"[num_users=1] = call_function[target=torch.ops.aten.neg.default](args = …`
_FRAGMENT_NODE = re.compile(r"#\s+%(\w+)\s+[:=]")
_FRAGMENT_RETURN = re.compile(r"#\s+return ")
_LONGEST_SIGNATURE = 600
_CPP_BODIES = ('extern "C"', "void kernel(", "kernel void ", "    kernel void ")
_PERCENT = re.compile(r"%(\w+)")


_IN_OTHER_LANGUAGES = {
    "cuda": ("cutlass", NATIVE_TEMPLATE),
    "xpu": ("cutlass", NATIVE_TEMPLATE),
    "rocm": ("ck", NATIVE_TEMPLATE),
    "cutedsl": ("cutedsl", NATIVE_TEMPLATE),
    "nv_universal_gemm": ("nv_universal_gemm", NATIVE_TEMPLATE),
    "halide": ("halide", OTHER_FUSED),
    "pallas": ("pallas", OTHER_FUSED),
    "compile_mps_shader": ("metal", OTHER_FUSED),
}
"""Method of `async_compile` → kind and category of its kernels."""


class Body(msgspec.Struct):
    """Lines (from 0) of the function that computes, and the names of its parameters."""

    first: int
    last: int
    parameters: list[str]


class Fragment(msgspec.Struct):
    """The FX nodes a kernel's comment quotes."""

    nodes: list[str] = msgspec.field(default_factory=list)
    inputs: list[str] = msgspec.field(default_factory=list)
    returns: list[str] = msgspec.field(default_factory=list)


def find_body(lines: list[str], first: int, last: int) -> Body:
    plain = -1
    decorated = False
    for number in range(first, last + 1):
        line = lines[number]
        if line.startswith("def "):
            if decorated:
                return _body(lines, number, last, cpp=False)
            plain = number if plain < 0 else plain
        elif decorated:
            continue
        elif line.startswith(_CPP_BODIES) or "kernel(const" in line:
            return _body(lines, number, last, cpp=True)
        elif line.startswith("@"):
            decorated = _HEURISTIC.match(line) is not None
    return _body(lines, plain, last, cpp=False) if plain >= 0 else Body(first, last, [])


def _body(lines: list[str], number: int, last: int, *, cpp: bool) -> Body:
    signature: list[str] = []
    depth = 0
    head = number
    for head in range(number, min(number + _LONGEST_SIGNATURE, last + 1)):
        signature.append(lines[head].strip())
        depth += lines[head].count("(") - lines[head].count(")")
        if depth <= 0 and "(" in lines[head] + lines[number]:
            break
    whole = " ".join(signature)
    opened = whole.find("(")
    parameters = arguments_at(whole, opened) if opened >= 0 else []
    names = [_parameter(parameter, cpp) for parameter in parameters]
    return Body(number, _body_end(lines, head, last, cpp=cpp), names)


def _parameter(text: str, cpp: bool) -> str:
    if cpp:
        words = text.replace("*", " ").replace("&", " ").split()
        return words[-1] if words else ""
    return text.partition(":")[0].partition("=")[0].strip()


def _body_end(lines: list[str], head: int, last: int, *, cpp: bool) -> int:
    end = head
    for number in range(head + 1, last):
        line = lines[number]
        if cpp:
            end = number
            if line.startswith("}"):
                return number
        elif line and not line[0].isspace():
            return end
        elif line.strip():
            end = number
    return end


def classify(name: str, made_by: str, block: list[str], body_first: int) -> tuple[str, str]:
    """(kind, category) of a kernel, from its lines up to the body."""
    if made_by.startswith("cpp"):
        return "cpp", CPP_FUSED
    if made_by == "multi_kernel":
        return "multi", TRITON_OTHER
    if made_by in _IN_OTHER_LANGUAGES:
        return _IN_OTHER_LANGUAGES[made_by]
    heuristic = heuristic_of(block, body_first)
    if heuristic == "user_autotune":
        return "user", USER_TRITON
    named = _CATEGORY.search(name)
    category = _BY_NAME[named.group(1)] if named else _BY_HEURISTIC.get(heuristic, TRITON_OTHER)
    combined = any("'combo_grid_meta':" in line for line in block[: body_first + 1])
    if category != TRITON_FOREACH and combined:
        return "combo", category
    kind = {TRITON_TEMPLATE: "template", TRITON_FOREACH: "foreach"}.get(category, made_by)
    return kind, category


def category_by_name(name: str) -> str | None:
    """The category in the name of a generated kernel whose code is elsewhere."""
    named = _CATEGORY.match(name)
    return _BY_NAME[named.group(1)] if named else CPP_FUSED if name.startswith("cpp_") else None


def heuristic_of(block: list[str], body_first: int) -> str:
    """`pointwise` of `@triton_heuristics.pointwise(`; the last one above the body counts."""
    heuristic = ""
    for line in block[: body_first + 1]:
        match = _HEURISTIC.match(line) if line.startswith("@") else None
        heuristic = match.group(1) or match.group(2) if match else heuristic
    return heuristic


def members_of(block: list[str]) -> list[str]:
    """`multi_kernel_0 = async_compile.multi_kernel('multi_kernel_0', [a, b])` → [`a`, `b`]."""
    whole = " ".join(block)
    opened = whole.find("[")
    inside = whole[opened + 1 : closing(whole, opened)] if opened >= 0 else ""
    return [member for member in split_top(inside) if member.isidentifier()]


def read_facts(block: list[str], body_first: int, made_by: str) -> dict[str, object]:
    facts: dict[str, object] = {}
    if made_by.startswith("cpp"):
        line = block[0]
        opened = line.find("[")
        if line.lstrip().startswith("extern"):
            facts["signature"] = _cpp_types(block)
        elif opened >= 0:
            types = arguments_at(line, opened)
            facts["signature"] = [kind.strip("'") for kind in types]
        return facts
    for line in block[: body_first + 1]:
        for key, value in _NUMBERS.findall(line) if "'num_" in line or "'kernel_" in line else ():
            try:
                number = float(value)
            except ValueError:
                continue
            facts[key] = number if key == "kernel_num_gb" else int(min(number, 2**53))
        match = _SIGNATURE.search(line)
        if match is not None:
            facts["signature"] = _mapping(line, match.end() - 1)
        match = _GRID.search(line)
        if match is not None:
            facts["grid_type"] = match.group(1)
        match = _DEVICE.search(line)
        if match is not None:
            facts[COMPILED_FOR] = [int(number) for number in match.groups()]
        match = _SIZE_HINTS.search(line)
        if match is not None:
            opened = match.end() - 1
            facts["size_hints"] = line[opened : closing(line, opened) + 1]
    return facts


def _cpp_types(block: list[str]) -> list[str]:
    """Types of a C++ function's parameters, as `async_compile.cpp_pybinding` lists them."""
    whole = " ".join(line.strip() for line in block[:_LONGEST_SIGNATURE])
    opened = whole.find("(")
    parameters = arguments_at(whole, opened) if opened >= 0 else []
    return [parameter.rpartition(" ")[0].strip() for parameter in parameters]


def _mapping(line: str, opened: int) -> dict[str, str]:
    """`{'in_ptr0': '*fp32', 0: '*fp32'}` → names and types as text."""
    pairs: dict[str, str] = {}
    for item in arguments_at(line, opened):
        key, _, value = item.partition(":")
        pairs[key.strip().strip("'")] = value.strip().strip("'")
    return pairs


def read_fragment(comments: list[str]) -> Fragment:
    fragment = Fragment()
    seen = False
    for line in comments:
        if line.startswith("# Graph fragment:"):
            seen = True
        elif seen:
            match = _FRAGMENT_NODE.match(line)
            if match is not None:
                is_input = "PlaceHolder[" in line or "= placeholder[" in line
                (fragment.inputs if is_input else fragment.nodes).append(match.group(1))
            elif _FRAGMENT_RETURN.match(line):
                fragment.returns = _PERCENT.findall(line)
    return fragment
