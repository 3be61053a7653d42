"""The body of a Triton kernel as blocks of statements."""

import re

from inductorscope.correlate.kernels.statements import TEMPORARY, Block, Statement, describe
from inductorscope.formats.text import balance

_LOOP = re.compile(r"(for|while) ")
_BRANCH = re.compile(r"(if|elif) pid\b|else:")
# `tmp3, = …`, `tmp9, tmp10 = …`, `_tmp5 = …`, `tmp8_mean = …`
_ASSIGN = re.compile(r"(_?tmp\d\w*+(?:\s*+,\s*+_?tmp\d\w*+)*)\s*+(?:,\s*+)?=(?!=)\s*")
# `tl.device_assert(tmp5, 'no element is NaN')`; an index is compared in its assertion
_ASSERTS = re.compile(r"tl\.device_assert\(tmp\d+, ")
_STORES = ("tl.store(", "tl.atomic_", "tl.debug_barrier")
_INDEX = re.compile(r"([xyzr]\w*)\s*=(?!=)\s*")


def read_blocks(lines: list[str], first: int, last: int) -> tuple[list[Block], list[Statement]]:
    """Blocks of the function on lines `first`…`last` (from 1), and its index statements.

    A combo kernel restarts the numbers in each of its branches; any other kernel is one block.
    """
    blocks: list[Block] = []
    indices: list[Statement] = []
    block = Block()
    loops = 0
    stack: list[tuple[int, int]] = []
    number = _after_signature(lines, first, last)
    while number <= last:
        line = lines[number - 1]
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        end = number
        if not stripped or stripped.startswith("#"):
            number += 1
            continue
        while stack and indent <= stack[-1][0]:
            stack.pop()
        depth = balance(stripped)
        while depth > 0 and end < last and end - number < 60:
            end += 1
            stripped += " " + lines[end - 1].strip()
            depth += balance(lines[end - 1])
        if _LOOP.match(stripped):
            loops += 1
            stack.append((indent, loops))
        elif _BRANCH.match(stripped):
            if block.numbered or block.others:
                blocks.append(block)
                block = Block()
        else:
            scope = tuple(loop for _, loop in stack)
            _statement(stripped, list(range(number, end + 1)), scope, block, indices)
        number = end + 1
    blocks.append(block)
    for index in blocks:
        index.numbered.sort(key=lambda statement: statement.number)
    return blocks, indices


def _after_signature(lines: list[str], first: int, last: int) -> int:
    depth = 0
    for number in range(first, min(last, first + 100) + 1):
        depth += balance(lines[number - 1])
        if depth <= 0:
            return number + 1
    return first + 1


def _statement(
    text: str, lines: list[int], scope: tuple[int, ...], block: Block, indices: list[Statement]
) -> None:
    statement = Statement(text, lines, scope)
    assigned = _ASSIGN.match(text)
    if assigned is not None:
        describe(statement, assigned.group(1), text[assigned.end() :])
        block.numbered.append(statement)
    elif _INDEX.match(text):
        indices.append(statement)
    elif text.startswith("tl.") or TEMPORARY.search(text):
        describe(statement, "", text)
        statement.stores = text.startswith(_STORES)
        if text.startswith("tl.device_assert("):
            statement.checks = _ASSERTS.match(text) is None
            statement.pointer = ""
        block.others.append(statement)


def helper_functions(lines: list[str], first: int, body: int) -> dict[str, list[int]]:
    """Lines of the functions that are passed to scans and reductions of the kernel."""
    functions: dict[str, list[int]] = {}
    number = first
    while number < body:
        if lines[number - 1].startswith("def _triton_helper_fn"):
            start = number - 1 if lines[number - 2].startswith("@triton.jit") else number
            end = number
            while end < body - 1 and lines[end].startswith((" ", "\t")):
                end += 1
            name = lines[number - 1][4:].partition("(")[0]
            functions[name] = list(range(start, end + 1))
            number = end
        number += 1
    return functions
