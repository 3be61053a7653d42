"""The facts about a graph's kernels, from its texts, for every page that shows some of them."""

import re

import msgspec

from inductorscope.analyze.bytes.cpp import LOOP
from inductorscope.analyze.bytes.graph import CallWork, GraphTextsRead, work_of
from inductorscope.analyze.compile.torch_says import LoopNest
from inductorscope.analyze.fusing.chosen import Chosen, chosen_kernels
from inductorscope.analyze.fusing.rules import UnfusedPair, unfused_pairs
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.text import closing

SHORT = 8
"""Fewest iterations of an innermost loop that fill a vector."""
MOST = 20_000
"""Most loop nests of one graph."""
_STEP = re.compile(r"\+= ?(?:static_cast<[\w ]{1,40}>\()?(\d{1,6})")
_ACCESS = re.compile(r"\b\w{0,40}ptr\d{1,6}\[")
_WIDE = re.compile(r"\bdouble\b")
VERSION = 1
"""Version of these facts. Stored facts of another version are computed again."""


class _Nest(msgspec.Struct):
    loops: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """Variable and size, outermost first."""
    vectors: dict[str, int] = msgspec.field(default_factory=dict)
    indexes: list[str] = msgspec.field(default_factory=list)
    wide: bool = False
    remainder: bool = False
    """Whether it only handles the remainder of a vectorised loop."""


class GraphFacts(msgspec.Struct, frozen=True):
    """The work of a graph's calls, and what was not fused, not vectorised, or tuned."""

    works: list[CallWork]
    apart: list[UnfusedPair]
    nests: list[LoopNest]
    chosen: list[Chosen]
    ir: bool


def facts_of(read: GraphTextsRead, *, ir: bool) -> GraphFacts:
    works = work_of(read)
    return GraphFacts(
        works,
        unfused_pairs(read, works),
        nests_in_code(read.code, read.lines),
        chosen_kernels(read.code, read.lines, works),
        ir,
    )


def nests_in_code(code: OutputCode, lines: list[str]) -> list[LoopNest]:
    """Returns the loop nests of the C++ kernels; for each kernel, in the order of its code. For
    loops that are not vectorised, works out the reason from their accesses."""
    found = []
    for kernel in code.kernels:
        if kernel.kind == "cpp":
            body = lines[kernel.body_first - 1 : kernel.body_last]
            found += [_nest(kernel.name, nest) for nest in _nests(body)]
    return found[:MOST]


def _nests(body: list[str]) -> list[_Nest]:
    nests: list[_Nest] = []
    current: _Nest | None = None
    depth = outside = 0
    for text in body:
        line = text.strip()
        loop = LOOP.match(line) if line.startswith("for") else None
        if loop is not None:
            name, start, end = loop.groups()
            if current is None:
                current, outside = _Nest(remainder=start.rstrip("L") not in ("0", "")), depth
                nests.append(current)
            if not name.endswith("_inner") and name not in dict(current.loops):
                current.loops.append((name, end.rstrip("L")))
                step = _STEP.search(line, loop.end())
                if step is not None and int(step.group(1)) > 1:
                    current.vectors[name] = int(step.group(1))
        elif current is not None:
            current.wide = current.wide or _WIDE.search(line) is not None
            current.indexes += _indexes(line)
        depth += line.count("{") - line.count("}")
        if current is not None and depth <= outside and "}" in line:
            current = None
    return [nest for nest in nests if not nest.remainder]


def _indexes(line: str) -> list[str]:
    """Returns the indexes of a line's accesses; an index inside another is part of it."""
    indexes, end = [], 0
    while (match := _ACCESS.search(line, end)) is not None:
        end = closing(line, match.end() - 1)
        indexes.append(line[match.end() : end])
    return indexes


def _nest(kernel: str, nest: _Nest) -> LoopNest:
    sizes = dict(nest.loops)
    how = ", ".join(
        f"{step} at a time along the loop of {sizes[name]}" for name, step in nest.vectors.items()
    )
    return LoopNest("", kernel, [], list(sizes.values()), bool(how), how=how or _why_not(nest))


def _why_not(nest: _Nest) -> str:
    name, size = nest.loops[-1]
    scattered = [index for index in nest.indexes if not _adjacent(index, name)]
    if scattered:
        return (
            f"{len(scattered)} of its {len(nest.indexes)} loads and stores access elements that "
            f"are not adjacent along the innermost loop, such as `{scattered[0][:80]}`"
        )
    if size.isdecimal() and int(size) < SHORT:
        return f"its innermost loop has only {size} turns"
    if nest.wide:
        return "it computes with doubles, which older versions of torch do not vectorise"
    return "the code does not show why"


def _adjacent(index: str, variable: str) -> bool:
    """Whether an index moves by one element, or not at all, when the variable does."""
    if "tmp" in index:
        return False
    if variable not in re.findall(r"\w+", index):
        return True
    plain = re.sub(r"static_cast<\w+>|\b(\d+)L\b", r"\1", index)
    if "/" in plain or "%" in plain or "div_floor" in plain or "mod" in plain:
        return False
    return not re.search(rf"\d\*{variable}\b", plain)
