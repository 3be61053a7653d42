"""Loads, stores and operations in the source of a C++ kernel that Inductor wrote.

for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(256L); x0+=…)
auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x1 + 256L*x0), …);
auto tmp2 = tmp0 + tmp1;
tmp2.store(out_ptr0 + static_cast<int64_t>(x1 + 256L*x0));
out_ptr3[static_cast<int64_t>(x0)] = static_cast<float>(tmp_acc0);
"""

import re

from inductorscope.analyze.bytes.index import MOST_VARIABLES, numbers_only
from inductorscope.analyze.bytes.source import SourceReader
from inductorscope.formats.text import closing

LOOP = re.compile(
    r"for ?\((?:\w+|long long) (\w+) ?= ?(?:static_cast<[\w ]+>\()?(\w+)\)?; ?"
    r"\1 ?< ?(?:static_cast<[\w ]+>\()?([^;]+?)\)?; ?"
)
# `if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(256L)))`
_WITHIN = re.compile(
    r"\b(\w++) >= (?:static_cast<[\w ]+>\()?(\w+)\)? && \1 < (?:static_cast<[\w ]+>\()?(\w+)\)?"
)
_ALIAS = re.compile(r"auto (\w+) = (\w*ptr\d+);$")
_USE = re.compile(r"\b(\w*ptr\d+)(\[| \+ )")
_VALUE = re.compile(r"(?:auto |const auto )?(tmp\w*) = (.+);$")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATOR = re.compile(r" (?:[-+*/%<>&|^?]|[<>=!]=|&&|\|\||<<|>>) |[(]-tmp")
_FUNCTION = re.compile(
    r"\.(?:a?sinh?|a?cosh?|a?tanh?|erfc?|erfinv|expm?1?|exp2|exp_u20|fexp_u20|log\w*|r?sqrt|abs|neg"
    r"|pow|floor|ceil|round|trunc|reciprocal|sigmoid|fmod|hypot|lgamma|digamma|atan2)\("
    r"|\bstd::(?:exp\w*|log\w*|sqrt|abs|pow|tanh?|sinh?|cosh?|erfc?|fmod|floor|ceil|trunc|max|min"
    r"|nearbyint|atan2|hypot)\("
    r"|(?:at::vec::)?(?:maximum|minimum|\bclamp\w*|fmadd)\(|::blendv\("
    r"|(?:max|min)_propagate_nan\("
)
_REDUCES = re.compile(
    r"\b(?:welford_combine|cascade_sum_combine|(?:max|sum|prod)_masked_reduce"
    r"|arg(?:max|min)_combine\w*)\("
)
# What follows an index: `] += `, `] = `, but not `] == `
_ASSIGNED = re.compile(r"\s*+(?:([-+*])=|=(?!=))")
_STORING = ("atomic_add", "transpose_mxn", ",")
_TEMPLATE = ("kernel_micro_gemm", "micro_gemm", "cblas_", "brgemm", "AMXState")


class CppReader(SourceReader):
    def __init__(self, numbers: dict[str, int]) -> None:
        super().__init__(numbers)
        self.blocks: list[list[tuple[str, int | None]]] = []
        """Open blocks, each with the variables that it gave a range, and their previous ranges."""
        self.waiting: list[tuple[str, int]] = []
        """Ranges for the next block."""
        self.aliases: dict[str, str] = {}

    def read(self, line: str) -> None:
        if not line or line.startswith(("//", "#")):
            return
        if any(word in line for word in _TEMPLATE):
            self.foreign = True
        if line.startswith("for"):
            self._loop(line)
        elif line.startswith(("if", "else if")):
            self._within(line)
        else:
            self._statement(line)
        for mark in line:
            if mark == "{":
                self._open()
            elif mark == "}":
                self._close()

    def _loop(self, line: str) -> None:
        match = LOOP.match(line)
        size = None if match is None else self._size(match)
        if match is None or size is None:
            self.foreign = True
        else:
            self._give(match[1], size)

    def _within(self, line: str) -> None:
        """Ranges of vector loops and of their scalar remainder."""
        for match in _WITHIN.finditer(line):
            size = self._size(match)
            if size is not None and match[1] in self.space.ranges:
                self._give(match[1], size)

    def _size(self, match: re.Match[str]) -> int | None:
        """Returns the length of a range, which follows its variable in a match."""
        start, end = (numbers_only(self.space.numbers, match[at]) for at in (2, 3))
        return None if start is None or end is None else end - start

    def _give(self, variable: str, size: int) -> None:
        if len(self.space.ranges) + len(self.waiting) >= MOST_VARIABLES:
            self.foreign = True
        else:
            self.waiting.append((variable, max(size, 0)))

    def _open(self) -> None:
        ranges = []
        for variable, size in self.waiting:
            ranges.append((variable, self.space.ranges.get(variable)))
            self.space.ranges[variable] = size
        self.waiting = []
        self.blocks.append(ranges)

    def _close(self) -> None:
        for variable, before in reversed(self.blocks.pop() if self.blocks else []):
            if before is None:
                self.space.ranges.pop(variable, None)
            else:
                self.space.ranges[variable] = before

    def _statement(self, line: str) -> None:
        alias = _ALIAS.match(line)
        if alias is not None:
            self.aliases[alias.group(1)] = alias.group(2)
            return
        words = {word: line.find(word) for word in _STORING}
        self.each_use(_USE, line, lambda match: self._use(line, match, words))
        value = _VALUE.match(line)
        if value is not None:
            name, expression = value.groups()
            names = _NAME.findall(expression)
            self.space.depends[name] = self.space.decided_by(names)
            if "ptr" not in expression:
                self._operation(expression)

    def _operation(self, expression: str) -> None:
        """Counts operations once for each iteration of the loops around them; each element of a
        vector counts."""
        count = len(_OPERATOR.findall(expression)) + len(_FUNCTION.findall(expression))
        reduced = len(_REDUCES.findall(expression))
        if count or reduced:
            turns = self.space.turns(self.space.ranges)
            self.work.operations += (count + reduced) * turns
            self.work.reductions += reduced * turns

    def _use(self, line: str, match: re.Match[str], words: dict[str, int]) -> int:
        """Records a load or a store; returns where its index ends. `words`: position in the line of
        each word of `_STORING`, or -1."""
        pointer, opened = match.groups()
        start = match.start()
        pointer = self.aliases.get(pointer, pointer)
        if opened == "[":
            end = closing(line, match.end() - 1)
            assigned = _ASSIGNED.match(line, end + 1)
            adds = line.endswith(("atomic_add(&", "atomic_add_vec(&"), 0, start)
            store = adds or assigned is not None
            adds = adds or (assigned is not None and assigned.group(1) is not None)
        else:
            end = _end_of(line, match.end())
            adds = 0 <= words["atomic_add"] < start
            store = adds or line[max(0, start - 80) : start].rstrip().endswith(".store(")
            store = store or (0 <= words["transpose_mxn"] < start and 0 <= words[","] < start)
        self.work.note(pointer, line[match.end() : end], self.space, store=store, adds=adds)
        return end


def _end_of(line: str, start: int) -> int:
    """Returns the end of the index after `ptr + `: the next comma or bracket at its own depth."""
    depth = 0
    for position in range(start, len(line)):
        mark = line[position]
        if mark in "([":
            depth += 1
        elif mark in ")]":
            if depth == 0:
                return position
            depth -= 1
        elif mark == "," and depth == 0:
            return position
    return len(line)
