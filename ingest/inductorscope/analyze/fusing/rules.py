"""Applies the scheduler's rules to two calls, to find those that prevent fusing them.

Torch logs its reasons only with `TORCH_LOGS=fusion`. These rules need no log: the code has the
kinds and sizes of kernels, the IR the orders of access. They follow `Scheduler.can_fuse` and the
`can_fuse` of the Triton and C++ back ends.
"""

import re
from collections import defaultdict
from math import prod

import msgspec

from inductorscope.analyze.bytes.graph import CallWork, GraphTextsRead
from inductorscope.analyze.bytes.moved import scalar_numbers
from inductorscope.analyze.fusing.pairs import Pair, Value, pairs_of, values_of
from inductorscope.formats.code.output_code import CodeKernel
from inductorscope.formats.graph.ir import IrTextNode
from inductorscope.units import count, plural

RULES = {
    "order": "read in another order",
    "between": "another call between",
    "split": "two steps of one reduction",
    "sizes": "different sizes",
    "reduction": "after a reduction",
    "template": "a template",
    "device": "different devices",
    "many": "too many nodes",
    "group": "runs in a group",
    "unknown": "no rule known",
    "library": "a library call",
}
"""Rule → its short name. If several apply, the first of `_ORDER` names the pair."""
_ORDER = ("library", "group", "device", "template", "between", "reduction", "split", "sizes",
          "order", "many", "unknown")  # fmt: skip
MOST_NODES = 64
"""Default of `config.max_fusion_size`."""

# `xnumel = 65536`, `r0_numel = 256`
_NUMEL = re.compile(r"\s*(xnumel|ynumel|znumel|r\d?_?numel) = (\d{1,18})$")
_TERM = re.compile(r"(?:(\d{1,18})\*)?([a-z]\d{1,3})")
_TUPLE = re.compile(r"\(([^()]*)\)")


class Blocker(msgspec.Struct, frozen=True):
    """A rule that prevents fusing two calls, as a sentence."""

    rule: str
    text: str


class Call(msgspec.Struct, frozen=True):
    """One of the two calls."""

    kernel: str
    handle: int
    saves: float | None
    """Share of its bytes that fusing would save."""
    members: list[str] = msgspec.field(default_factory=list)
    """Scheduler nodes that it computes and that use the shared memory."""


class UnfusedPair(msgspec.Struct, frozen=True):
    """Two calls that share memory and were not fused."""

    one: Call
    other: Call
    buffers: list[str]
    passes: bool
    """Whether the first writes what the second reads; otherwise both read it."""
    saved: int
    """Bytes that need not be moved if they are fused."""
    blockers: list[Blocker]
    """Never empty; the one that names the pair is first."""


def unfused_pairs(read: GraphTextsRead, works: list[CallWork]) -> list[UnfusedPair]:
    """Returns all pairs of a graph, those with the most bytes first."""
    values = values_of(read, works)
    rules = _Rules(read, works, values)
    found = [rules.judge(pair) for pair in pairs_of(values)]
    return sorted(found, key=lambda pair: -pair.saved)


class _Rules:
    def __init__(self, read: GraphTextsRead, works: list[CallWork], values: list[Value]) -> None:
        self.read, self.works = read, works
        self.kernels = read.code.by_name()
        self.top, self.nodes = read.ir.top(), read.ir.by_name()
        self.writers: dict[str, IrTextNode] = {}
        for node in self.top:
            for name in (*node.writes, *(buffer.name for buffer in node.buffers)):
                self.writers.setdefault(name, node)
        self.after: dict[int, set[int]] = defaultdict(set)
        """Call → the calls that read what it writes."""
        self.made: dict[int, list[str]] = defaultdict(list)
        for value in values:
            if value.writer is not None:
                self.after[value.writer].update(value.readers)
                self.made[value.writer].append(value.buffer)
        self.calls = {(call.kernel, call.handle): call for call in read.code.calls}
        self.numels: dict[tuple[str, int], tuple[int, int] | None] = {}

    def judge(self, pair: Pair) -> UnfusedPair:
        one, other = self.works[pair.one], self.works[pair.other]
        nodes = self._nodes(pair)
        blockers = [
            *self._kinds(one, other),
            *self._devices(pair, one, other),
        ]  # fmt: skip
        if not blockers:
            blockers = [
                *self._sizes(one, other, nodes),
                *self._orders(pair, nodes),
                *self._between(pair),
                *_many(nodes),
            ]
        blockers.sort(key=lambda blocker: _ORDER.index(blocker.rule))
        first, second = (
            Call(
                work.kernel,
                work.handle,
                saved / work.bytes.total if work.bytes.total else None,
                [] if node is None else node.members,
            )
            for work, saved, node in zip((one, other), pair.saved, nodes, strict=True)
        )
        unsaid = Blocker(
            "unknown",
            "Neither the code nor the IR has a reason."
            if None not in nodes
            else "The texts do not show which loops of the two share this memory.",
        )
        return UnfusedPair(
            first, second, pair.buffers, pair.passes, sum(pair.saved), blockers=blockers or [unsaid]
        )

    def _nodes(self, pair: Pair) -> tuple[IrTextNode | None, IrTextNode | None]:
        """Returns the scheduler nodes of the two that use the shared memory."""
        shared = set(pair.buffers)
        writer = next((self.writers[name] for name in pair.buffers if name in self.writers), None)
        readers = [
            [
                node
                for name in self.made[number]
                if (node := self.writers.get(name)) is not None
                and (not node.reads or not shared.isdisjoint(node.reads))
            ]
            for number in (pair.one, pair.other)
        ]
        first = writer if pair.passes else next(iter(readers[0]), None)
        return first, next(iter(readers[1]), None)

    def _kinds(self, one: CallWork, other: CallWork) -> list[Blocker]:
        kernels = [self.kernels.get(work.kernel) for work in (one, other)]
        libraries = dict.fromkeys(
            f"`{work.kernel}`"
            for work, kernel in zip((one, other), kernels, strict=True)
            if kernel is None
        )
        if libraries:
            verb = "are calls of libraries" if len(libraries) > 1 else "is a call of a library"
            return [
                Blocker(
                    "library",
                    f"{' and '.join(libraries)} {verb}; Inductor fuses only kernels that it "
                    "generates.",
                )
            ]
        kinds = [kernel.kind for kernel in kernels if kernel is not None]
        if "user" in kinds:
            return [Blocker("library", "One of them is a Triton kernel that you wrote.")]
        if "foreach" in kinds or "combo" in kinds:
            return [Blocker("group", "One of them already computes a group of separate tensors.")]
        if kinds[1] == "template":
            return [
                Blocker(
                    "template",
                    "The second is a template, such as a tuned matrix product. What comes before "
                    "is fused into it only with config.prologue_fusion, if it is pointwise and "
                    "nothing else reads its result.",
                )
            ]
        if kinds[0] == "template" and kernels[1] is not None:
            text = (
                "no reduction is fused"
                if kernels[1].category in ("red", "per", "spl")
                else "Inductor fuses a pointwise kernel only if that measures as faster "
                "(config.benchmark_epilogue_fusion)"
            )
            text = f"The first is a template, such as a tuned matrix product, into which {text}."
            return [Blocker("template", text)]
        return []

    def _devices(self, pair: Pair, one: CallWork, other: CallWork) -> list[Blocker]:
        devices = [
            {access.layout.device for access in work.bytes.traffic if access.layout.device}
            for work in (one, other)
        ]
        if all(len(work) == 1 for work in devices) and devices[0] != devices[1]:
            first, second = (min(work) for work in devices)
            return [Blocker("device", f"The first runs on {first}, the second on {second}.")]
        return []

    def _sizes(
        self, one: CallWork, other: CallWork, nodes: tuple[IrTextNode | None, ...]
    ) -> list[Blocker]:
        kernels = [self.kernels[work.kernel] for work in (one, other)]
        if "cpp" in (kernels[0].kind, kernels[1].kind):
            if nodes[0] is None or nodes[1] is None:
                return []
            return _loops_in_cpp(*(self._iteration(node) for node in nodes if node is not None))
        size, other_size = self._numel(one), self._numel(other)
        if size is None or other_size is None:
            return []
        (rows, reduced), (other_rows, other_reduced) = size, other_size
        if (reduced == 1) == (other_reduced == 1):
            fits = (rows, reduced) == (other_rows, other_reduced)
        elif reduced == 1:
            fits = rows in (other_rows, other_rows * other_reduced)
        else:
            fits = other_rows in (rows, rows * reduced)
        if fits:
            return []
        if other_reduced != 1 and rows == other_rows * other_reduced:
            return [
                Blocker(
                    "split",
                    f"The second reduces the {plural(rows, 'result')} of the first: Inductor "
                    "splits long reductions into two steps (config.split_reductions).",
                )
            ]
        return [
            Blocker(
                "sizes",
                f"Their loops have different sizes: the first computes {_size(rows, reduced)}, "
                f"the second {_size(other_rows, other_reduced)}.",
            )
        ]

    def _iteration(self, node: IrTextNode) -> str:
        """Returns the ranges of a node. A fused node may have none; then its first member has
        them."""
        members = (self.nodes.get(name) for name in node.members)
        inside = (member.iteration for member in members if member is not None)
        return node.iteration or next(inside, "")

    def _numel(self, work: CallWork) -> tuple[int, int] | None:
        """Returns how many elements a call of a Triton kernel computes, and how many values each of
        them reduces."""
        key = work.kernel, work.handle
        if key not in self.numels:
            self.numels[key] = self._read_numel(self.kernels[work.kernel], key)
        return self.numels[key]

    def _read_numel(self, kernel: CodeKernel, key: tuple[str, int]) -> tuple[int, int] | None:
        call = self.calls.get(key)
        if call is None:
            return None
        numbers = {
            name: number
            for name, number in scalar_numbers(kernel, call, self.read.numbers).items()
            if name.endswith("numel")
        }
        for line in self.read.lines[kernel.body_first - 1 : kernel.body_last]:
            if match := _NUMEL.match(line):
                numbers[match.group(1)] = int(match.group(2))
        if "xnumel" not in numbers:
            return None
        reduced = [number for name, number in numbers.items() if name.startswith("r")]
        rows = [number for name, number in numbers.items() if not name.startswith("r")]
        return prod(rows), prod(reduced)

    def _orders(self, pair: Pair, nodes: tuple[IrTextNode | None, ...]) -> list[Blocker]:
        first, second = nodes
        if not pair.passes or first is None or second is None:
            return []
        for name in pair.buffers:
            written = [(at, ranges) for buffer, at, ranges in first.accesses if buffer == name]
            read = [(at, ranges) for buffer, at, ranges in second.accesses if buffer == name]
            for access in read:
                if written and all(walked(*access) != walked(*other) for other in written):
                    return [
                        Blocker(
                            "order",
                            f"The first writes `{name}` in the order {_access(*written[0])}, the "
                            f"second reads it as {_access(*access)}.",
                        )
                    ]
        return []

    def _between(self, pair: Pair) -> list[Blocker]:
        """Finds a call that needs the first call's result and that the second call needs, directly
        or through others."""
        waiting = sorted(self.after[pair.one] - {pair.one, pair.other})
        via = {number: number for number in waiting}
        for number in waiting:
            if pair.other in self.after[number]:
                kernel = self.works[via[number]].kernel
                return [
                    Blocker(
                        "between",
                        f"`{kernel}` must run between them: it reads what the first writes, and "
                        "the second needs its result.",
                    )
                ]
            for following in sorted(self.after[number]):
                if following < pair.other and following not in via:
                    via[following] = via[number]
                    waiting.append(following)
        return []


def _many(nodes: tuple[IrTextNode | None, ...]) -> list[Blocker]:
    members = sum(len(node.members) for node in nodes if node is not None)
    if members <= MOST_NODES:
        return []
    text = f"Together they have {members} nodes; a kernel has at most {MOST_NODES}"
    return [Blocker("many", f"{text}, unless config.max_fusion_size allows more.")]


def _size(rows: int, reduced: int) -> str:
    if reduced == 1:
        return plural(rows, "element")
    return f"{plural(rows, 'result')} of {plural(reduced, 'element')} each"


def _loops_in_cpp(first: str, second: str) -> list[Blocker]:
    """Applies the rules of the C++ back end: loops must have equal sizes, and nothing may follow a
    reduction except in the same outer loop."""
    loops = [
        [tuple(re.findall(r"[^\s,]+", part)) for part in _TUPLE.findall(text)]
        for text in (first, second)
    ]
    if any(len(body) != 2 for body in loops):
        return []
    (one, one_reduced), (other, other_reduced) = loops
    if one_reduced and (one, one_reduced) != (other, other_reduced):
        text = "The first is a reduction: in C++, only loops inside the same outer loop follow one."
        return [Blocker("reduction", text)]
    both = one + one_reduced, other + other_reduced
    turns = [
        prod(map(int, sizes)) if all(map(str.isdecimal, sizes)) else sizes for sizes in both
    ]  # the same loops may be written as one or as several
    if turns[0] == turns[1]:
        return []
    words = [
        " × ".join(count(int(size)) if size.isdecimal() else size for size in sizes) or "1"
        for sizes in both
    ]
    text = f"Their loops have different sizes: {words[0]} and {words[1]}."
    return [Blocker("sizes", text)]


def walked(index: str, ranges: str) -> object:
    """Returns the elements that an access reaches, and their order. It is equal for accesses that a
    kernel can share.

    256*d0 + d1 with d0 < 4 and d1 < 256 goes through memory as d0 with d0 < 1024 does.
    """
    sizes = dict(part.strip().split(": ", 1) for part in ranges.split(",") if ": " in part)
    steps: list[tuple[int, int]] = []
    constant = 0
    terms = {}
    for term in index.split(" + "):
        match = _TERM.fullmatch(term.strip())
        if match is not None and sizes.get(match.group(2), "").isdecimal():
            terms[match.group(2)] = int(match.group(1) or 1)
        elif term.strip().isdecimal():
            constant += int(term)
        else:
            return index, ranges
    for name, size in sizes.items():
        if name not in terms or size == "1":
            continue
        step, count = terms[name], int(size)
        if steps and steps[-1][0] == step * count:
            steps[-1] = (step, steps[-1][1] * count)
        else:
            steps.append((step, count))
    return constant, tuple(steps)


def _access(index: str, ranges: str) -> str:
    return f"`{index}` ({ranges})" if len(ranges) < 80 else f"`{index}`"
