"""Loads, stores and operations in the source of a Triton kernel that Inductor wrote.

xnumel = 65536
x0 = (xindex % 256)
tmp0 = tl.load(in_ptr0 + (x0 + 256*x1), xmask, eviction_policy='evict_last')
tmp2 = tmp0 + tmp1
tl.store(out_ptr0 + (x2), tmp2, xmask)
"""

import re

from inductorscope.analyze.bytes.index import MOST_VARIABLES, numbers_only, values
from inductorscope.analyze.bytes.source import SourceReader
from inductorscope.formats.text import closing, split_top

# `xnumel = 65536`, `r0_numel = 256`
_NUMEL = re.compile(r"([xyz]|r\d?_?)numel = (\w+)$")
# `x0 = (xindex % 256)`, `r0_1 = r0_index`
_SPLIT = re.compile(r"([xyz]\d+|r\d?_?\d+) = (.*\b([xyz]|r\d?_?)index\b.*)$")
_ASSIGNED = re.compile(r"((?:\w+, ?)*\w+) = (.+)$")
_MEMORY = re.compile(r"tl\.(load|store|atomic_\w+)\(")
_POINTER = re.compile(r"(\w+) \+ ")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATOR = re.compile(r" (?:[-+*/%<>&|^]|//|[<>=!]=|<<|>>) |^-tmp")
_FUNCTION = re.compile(
    r"\b(?:libdevice\.\w+|tl_math\.\w+|triton_helpers\.(?:maximum|minimum|div_floor_integer)"
    r"|tl\.(?:where|sqrt_rn|sqrt|exp|log|sigmoid|fma|abs|rand|randn|maximum|minimum))\("
)
_REDUCES = re.compile(
    r"\b(?:tl\.(?:sum|max|min|reduce|associative_scan|argmax|argmin)"
    r"|triton_helpers\.(?:max2|min2|any|prod|welford\w*|max_with_index|min_with_index))\("
)
_FULL = ("tl.full(", "tl.broadcast_to(tmp", "tl.arange(")


class TritonReader(SourceReader):
    def __init__(self, numbers: dict[str, int]) -> None:
        super().__init__(numbers)
        for name, number in numbers.items():
            self._numel(name, number)

    def read(self, line: str) -> None:
        if not line or line[0] in "#@":
            return
        if numel := _NUMEL.match(line):
            number = numbers_only(self.space.numbers, numel.group(2))
            if number is not None:
                self._numel(f"{numel.group(1)}numel", number)
        elif line.startswith("for "):
            self.foreign = self.foreign or "offset in " not in line
        elif split := _SPLIT.match(line):
            self._split(split.group(1), split.group(2), split.group(3))
        elif "tl." in line and _MEMORY.search(line):
            self.each_use(_MEMORY, line, self._access)
            if assigned := _ASSIGNED.match(line):
                self._depends(assigned.group(1), assigned.group(2))
        elif assigned := _ASSIGNED.match(line):
            self._operation(assigned.group(1), assigned.group(2))

    def _numel(self, name: str, number: int) -> None:
        if name.endswith("numel"):
            prefix = name.removesuffix("numel")
            self.space.whole[f"{prefix}index"] = number
            self.space.ranges[f"{prefix}index"] = number
            self.space.group[f"{prefix}index"] = f"{prefix}index"

    def _split(self, variable: str, index: str, prefix: str) -> None:
        size = values(index, self.space)
        if size is None:
            size = self.space.whole.get(f"{prefix}index")
        if len(self.space.ranges) >= MOST_VARIABLES:
            self.foreign = True
        elif size is not None:
            self.space.ranges[variable] = size
            self.space.group[variable] = f"{prefix}index"

    def _access(self, match: re.Match[str]) -> int:
        """Records a load or a store; returns where it ends."""
        end = closing(match.string, match.end() - 1)
        arguments = split_top(match.string[match.end() : end])
        pointer = _POINTER.match(arguments[0]) if arguments else None
        if pointer is None:
            self.foreign = True
            return end
        adds = match.group(1).startswith("atomic")
        store = adds or match.group(1) == "store"
        index = arguments[0][pointer.end() :]
        self.work.note(pointer.group(1), index, self.space, store=store, adds=adds)
        return end

    def _operation(self, target: str, expression: str) -> None:
        inputs = self._depends(target, expression)
        if expression.startswith(_FULL):
            return
        count = len(_OPERATOR.findall(expression)) + len(_FUNCTION.findall(expression))
        reduced = len(_REDUCES.findall(expression))
        if count and target.startswith(("tmp", "_tmp")):
            self.work.operations += count * self.space.turns(inputs)
        if reduced:
            self.work.operations += reduced * self.space.turns(inputs)
            self.work.reductions += reduced * self.space.turns(inputs)
            for name in target.split(","):
                self.space.depends[name.strip()] = frozenset(
                    name for name in inputs if not name.startswith("r")
                )

    def _depends(self, target: str, expression: str) -> frozenset[str]:
        """Returns the variables that an expression, and so its target, depends on."""
        variables = self.space.decided_by(_NAME.findall(expression))
        for name in target.split(","):
            bare = name.strip()
            if bare.startswith(("tmp", "_tmp")):
                self.space.depends[bare] = variables
        return variables
