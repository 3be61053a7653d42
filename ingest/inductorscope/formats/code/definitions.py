"""Kernel definitions in output code.

Python: `name = async_compile.triton('name', '''…''')`. C++ of AOTInductor quotes the same call,
without a name before it, in a comment. C++ kernels of a C++ wrapper are plain functions:
`extern "C" void cpp_fused_add_0(…) {`. Listings that people paste hold bare functions, too.
"""

import re
from bisect import bisect
from itertools import accumulate

import msgspec

from inductorscope.formats.text import Problem, balance

# Metal's shaders are compiled by a function of their own.
_CALL = re.compile(r"async_compile\.|compile_mps_shader\(")
# `name = async_compile.triton('name', '''`; quoted inside of a C++ comment without `name = `.
_DEFINITION = re.compile(
    r"([ \t]*)(?:(\w+) = )?(?:async_compile\.)?(\w+)\((?:'(\w+)', *r?'''$)?", re.M
)
# `kernels.triton_poi_fused_0 = loadKernel("/…/cabc.cubin", …)`, `launchKernel(kernels.triton_…, …)`
_LOADED = re.compile(r"\bkernels_?\.(\w{1,600}) = loadKernel\(")
_LONGEST_HEAD = 400
_LONGEST_LIST = 200
_EXTERN = 'extern "C"'
_FUNCTION = re.compile(r'extern "C"\s+(?:__declspec\(dllexport\)\s+)?void\s+(\w+)\(')
_LONGEST_PARAMETERS = 20_000
_OPENED = re.compile(r"\)\s*\{")
_JIT = re.compile(r"^([ \t]*)@triton\.jit[ \t]*\n\1def (\w+)\(", re.M)
_HEURISTIC = re.compile(r"^[ \t]*@triton_heuristics\.\w+\(", re.M)
_HELPER = "_triton_helper_fn"


class Definition(msgspec.Struct):
    """One definition; lines count from 0."""

    name: str
    made_by: str
    """The method of `async_compile`; `cpp` or `triton` for bare functions."""
    first: int
    last: int
    indent: str = ""
    bare: bool = False
    """Whether it is a function that is not passed to `async_compile`."""


class Definitions:
    """Finds all definitions, in order, and the text between them."""

    def __init__(self, text: str, lines: list[str]) -> None:
        self.text = text
        self.lines = lines
        self.all: list[Definition] = []
        self.problems: list[Problem] = []
        self.starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        """Where each line begins."""
        self.gaps: list[tuple[int, int]] = []
        """Pieces of text outside of kernels."""
        self.declared: set[str] = set()
        """C++ kernels that are only declared; AOTInductor may keep their code in another file."""
        self._compiled()
        self._functions()
        if " = loadKernel(" in text:  # the expression is slow on long texts
            self.declared.update(_LOADED.findall(text))
        if not self.all:
            self._jitted()
        self.all.sort(key=lambda definition: definition.first)

    def _line(self, position: int) -> int:
        return bisect(self.starts, position) - 1

    def _compiled(self) -> None:
        text = self.text
        position = begin = 0
        while (found := _CALL.search(text, position)) is not None:
            position = found.start()
            # A head is short, so a search back over a very long line is bounded.
            start = text.rfind("\n", max(0, position - _LONGEST_HEAD), position) + 1
            far = not start and position > _LONGEST_HEAD
            head = None if far else _DEFINITION.match(text, start)
            named = head and (head[2] or (head[1] and head[4]))
            if head is None or head.end() <= position or not named:
                position = found.end()
                continue
            end = self._end(start)
            first, last = self._line(start), self._line(end)
            self.all.append(Definition(named, head[3], first, last, head[1]))
            self.gaps.append((begin, start))
            position = begin = text.find("\n", end) + 1 or len(text)
        self.gaps.append((begin, len(text)))

    def _end(self, start: int) -> int:
        """The position where the definition ends, somewhere on its last line."""
        text, number = self.text, self._line(start)
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        line = self.lines[number]
        quotes = "'''" if "'''" in line else '"""' if '"""' in line else ""
        if not quotes:
            return self._end_of_list(start, number)
        if line.count(quotes) > 1:
            return line_end
        end = text.find(quotes, line_end)
        if end < 0:
            self.problems.append(Problem(number + 1, "the kernel's text never ends"))
            return len(text)
        return end

    def _end_of_list(self, start: int, number: int) -> int:
        depth = 0
        end = start
        for line in self.lines[number : number + _LONGEST_LIST]:
            depth += balance(line)
            if depth <= 0:
                return end
            end += len(line) + 1
        return start

    def _functions(self) -> None:
        """Adds `extern "C" void cpp_fused_add_0(…)` with a body; declarations have none."""
        text = self.text
        for position, stop in self.gaps:
            while (position := text.find(_EXTERN, position, stop)) >= 0:
                head = _FUNCTION.match(text, position)
                line_start = text.rfind("\n", max(0, position - _LONGEST_HEAD), position) + 1
                indent = text[line_start:position]
                if head is None or len(indent) > _LONGEST_HEAD or indent.strip():
                    position += len(_EXTERN)
                    continue
                after = text.find(")", head.end(), head.end() + _LONGEST_PARAMETERS)
                if after < 0 or _OPENED.match(text, after) is None:
                    self.declared.add(head.group(1))
                    position = head.end()
                    continue
                end = text.find(f"\n{indent}}}", after, stop)
                first = self._line(line_start)
                if end < 0:
                    self.problems.append(Problem(first + 1, "the kernel's text never ends"))
                    end = stop - 1
                end = min(end + 1, stop - 1)
                last = self._line(end)
                self.all.append(Definition(head.group(1), "cpp", first, last, indent, bare=True))
                position = end + 1

    def _jitted(self) -> None:
        """Adds bare `@triton.jit` functions, when nothing is passed to `async_compile`."""
        last = -1
        for head in _JIT.finditer(self.text):
            number = self._line(head.start())
            if number <= last or head.group(2).startswith(_HELPER):
                continue
            last = _indented_end(self.lines, number + 1, head.group(1))
            first = self._decorated(number)
            self.all.append(
                Definition(head.group(2), "triton", first, last, head.group(1), bare=True)
            )

    def _decorated(self, number: int) -> int:
        """The line where the decorators above `@triton.jit` start."""
        earliest = max(0, number - 40)
        for first in range(number - 1, earliest - 1, -1):
            line = self.lines[first]
            if _HEURISTIC.match(line):
                return first
            if not line.strip() or line.lstrip().startswith(("def ", "import ", "from ")):
                break
        return number


def _indented_end(lines: list[str], head: int, indent: str) -> int:
    """The last line of the Python function whose `def` is at `head`."""
    last = head
    opened = balance(lines[head]) > 0
    for number in range(head + 1, len(lines)):
        line = lines[number]
        if opened and number < head + _LONGEST_LIST:  # its parameters go on
            opened = not line.rstrip().endswith(":")
            last = number
        elif line.strip():
            if len(line) - len(line.lstrip()) <= len(indent):
                break
            last = number
    return last
