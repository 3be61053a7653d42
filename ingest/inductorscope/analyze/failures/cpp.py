"""Traces a compiler's error to its line in a kernel, and to the definition that caused it.

The file that the compiler names no longer exists; its text is the kernel's in the output code,
starting at the kernel's first line. The quoted line confirms that.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from inductorscope.analyze.failures import cpp_types as types
from inductorscope.fields import Prose
from inductorscope.formats.errors.compilers import Diagnostic
from inductorscope.formats.text import closing, split_top

Expected = Callable[[int], tuple[str, bool]]
"""For a line of the output code: the dtype of its FX node, and whether the link is exact."""


class KernelText(msgspec.Struct, frozen=True):
    """A kernel's text in the output code."""

    graph: str
    name: str
    first: int
    """First line in the output code, from 1."""
    lines: list[str]


class FaultyLine(msgspec.Struct, frozen=True):
    """A line of a kernel."""

    kernel: KernelText
    line: int
    """Line of the output code."""
    how: str
    sure: bool

    @property
    def text(self) -> str:
        return self.kernel.lines[self.line - self.kernel.first]


class Suspect(msgspec.Struct, frozen=True):
    """A definition that may be the cause."""

    name: str
    line: int
    text: str
    why: Prose
    sure: bool


def locate(error: Diagnostic, kernels: Sequence[KernelText]) -> list[FaultyLine]:
    """Lines of the output code that the compiler may mean; several if the text is ambiguous."""
    if error.at is None:
        return []
    quoted = error.code.strip()
    at_line = [
        FaultyLine(
            kernel, kernel.first + error.at - 1,
            "the line at the compiler's line number, counted from the kernel's first line, has "
            "the quoted text", sure=True,
        )
        for kernel in kernels
        if quoted and error.at <= len(kernel.lines)
        and kernel.lines[error.at - 1].strip() == quoted
    ]  # fmt: skip
    if at_line:
        return at_line
    by_text = [
        FaultyLine(kernel, kernel.first + number, "the line has the quoted text", True)
        for kernel in kernels
        for number, line in enumerate(kernel.lines)
        if quoted and line.strip() == quoted
    ]
    if by_text:
        # A prefix before the kernel shifts all lines alike, so the nearest number is likeliest.
        by_text.sort(key=lambda place: abs(place.line - place.kernel.first + 1 - (error.at or 0)))
        return by_text
    if len(kernels) == 1 and error.at <= len(kernels[0].lines) and not quoted:
        said = "the compiler's line number counts from the kernel's first line"
        return [FaultyLine(kernels[0], kernels[0].first + error.at - 1, said, False)]
    return []


# Only the first mention counts, so that a thousand of them are not each searched to the end.
_CALL = re.compile(r"(?s:(?>.*?no matching (?:member )?function for call to\s*+[‘'`\"]))"
                   r"(.*)[’'\"]")  # fmt: skip
_CONFLICT = re.compile(
    r"conflicting types for parameter|invalid operands|operand types are|deduced conflicting"
)
_PAIR = re.compile(r"[‘'`]([^‘’'`]++)[’']\s*+(?:and|,|vs\.)\s*+[‘'`]([^‘’'`]++)[’']")
_UNKNOWN = re.compile(
    r"[‘'`](\w+)[’'] was not declared|use of undeclared identifier [‘'`](\w+)[’']"
    r"|identifier \"(\w+)\" is undefined"
)
_OPERANDS = re.compile(r"\b(\w+)\s*(?:[-+*/%&|^<>]|<<|>>|[<>=!]=|&&|\|\|)\s*(\w+)\b")


def suspects(error: Diagnostic, place: FaultyLine, expected: Expected) -> list[Suspect]:
    """Returns the suspects, the most likely first; never empty, because the line itself is always
    included."""
    kernel = _Kernel(place.kernel, expected)
    unknown = _UNKNOWN.search(error.message)
    if unknown is not None:
        return _undeclared(next(filter(None, unknown.groups())), place, kernel)
    typed = _typed_operands(error, place.text)
    deviating: list[Suspect] = []
    for name, dtype, written in typed:
        definition = kernel.line_of(name, place.line)
        if definition is not None:
            deviating += kernel.deviating(name, definition, dtype, written)
    deviating = list(dict.fromkeys(deviating))
    if deviating:
        sure = len(deviating) == 1 and place.sure
        return [replace(suspect, sure=suspect.sure and sure) for suspect in deviating]
    itself = Suspect(
        kernel.name_at(place.line), place.line, place.text.strip(),
        "the compiler reports the error at this line, and nothing points to an earlier line"
        if not typed else "its operands have the right types, so the operation itself does not "
        "fit them", sure=bool(typed) and place.sure,
    )  # fmt: skip
    return [itself, *kernel.operands(place.line)]


def _typed_operands(error: Diagnostic, text: str) -> list[tuple[str, str, str]]:
    """Names in the line with the dtype that the compiler gives them, and its own spelling."""
    call = _CALL.match(error.message)
    if call is not None and "(" in call.group(1):
        head, _, rest = call.group(1).partition("(")
        written = split_top(rest.rstrip(")"))
        name = head.partition("<")[0].rpartition("::")[2].rstrip().rpartition(" ")[2]
        start = text.find(f"{name}(") if name else -1
        if start >= 0:
            opened = start + len(name)
            inside = text[opened + 1 : closing(text, opened)]
            arguments = split_top(inside)
            if len(arguments) == len(written):
                return [
                    (argument.strip(), types.dtype_of(kind), kind.strip(" &"))
                    for argument, kind in zip(arguments, written, strict=True)
                ]
    operands = _OPERANDS.search(text.partition("=")[2] or text)
    for diagnostic in (error, *error.notes):
        conflict = _CONFLICT.search(diagnostic.message)
        pair = conflict and _PAIR.search(diagnostic.message, conflict.end())
        if pair and operands is not None:
            return [
                (name, types.dtype_of(kind), kind)
                for name, kind in zip(operands.groups(), pair.groups(), strict=True)
            ]
    return []


class _Kernel:
    """Definitions of a kernel, with the dtypes that its text gives."""

    def __init__(self, kernel: KernelText, expected: Expected) -> None:
        self.kernel = kernel
        self.expected = expected
        self.defined: dict[str, list[tuple[int, str]]] = {}
        self.names: dict[int, str] = {}
        self.followed: dict[tuple[int, str, str], list[Suspect]] = {}
        """What `deviating` returned: definitions that share operands are followed once."""
        self.known = types.pointers(kernel.lines)
        for number, line in enumerate(kernel.lines, kernel.first):
            definition = types.definition(line)
            if definition is None:
                continue
            name, expression = definition
            self.defined.setdefault(name, []).append((number, expression))
            self.names[number] = name
            self.known[name] = types.inferred(expression, self.known)

    def line_of(self, name: str, before: int) -> tuple[int, str] | None:
        """The definition that a use at this line refers to: the last one above it."""
        defined = self.defined.get(name, [])
        above = bisect_left(defined, before, key=lambda place: place[0])
        return defined[above - 1] if above else None

    def name_at(self, line: int) -> str:
        return self.names.get(line, "")

    def text(self, line: int) -> str:
        return self.kernel.lines[line - self.kernel.first].strip()

    def deviating(
        self, name: str, definition: tuple[int, str], dtype: str, written: str, depth: int = 0
    ) -> list[Suspect]:
        """The first definition, going back from this one, whose value has a wrong dtype."""
        key = (definition[0], dtype, written)
        if key not in self.followed:
            self.followed[key] = self._deviating(name, definition, dtype, written, depth)
        return self.followed[key]

    def _deviating(
        self, name: str, definition: tuple[int, str], dtype: str, written: str, depth: int
    ) -> list[Suspect]:
        line, expression = definition
        should, exact = self.expected(line)
        if types.inferred(expression, self.known) and "_ptr" in expression.partition("[")[0]:
            return []  # a load has the dtype of its buffer
        if not dtype or not should or dtype in types.allowed(should):
            return []
        names = types.NAME.findall(expression)
        operands = {operand: known for operand in names if (known := self.known.get(operand))}
        if depth < 50:
            for operand, known in operands.items():
                before = self.line_of(operand, line)
                earlier = before and self.deviating(operand, before, known, known, depth + 1)
                if earlier:
                    return earlier
        why = f"{name} is {written} to the compiler, but its FX node is {should}"
        takes = list(operands.values())
        if takes and types.promoted(*takes) == dtype and dtype not in takes:
            operand_types = takes[0] if len(set(takes)) == 1 else ", ".join(takes)
            why += (
                f": in C++ an operation on {operand_types} gives {written} unless the result is "
                "cast back"
            )
        return [Suspect(name, line, self.text(line), why, exact)]

    def operands(self, line: int) -> list[Suspect]:
        """Alternative suspects: the definitions of the line's operands."""
        right = self.text(line).partition("=")[2] or self.text(line)
        names = list(dict.fromkeys(types.NAME.findall(right)))[:6]
        found = [(name, before[0]) for name in names if (before := self.line_of(name, line))]
        why = "it defines an operand of the line"
        return [Suspect(name, at, self.text(at), why, False) for name, at in found]


def _undeclared(name: str, place: FaultyLine, kernel: _Kernel) -> list[Suspect]:
    itself = Suspect(
        kernel.name_at(place.line), place.line, place.text.strip(),
        f"it uses {name}, which is not defined", sure=place.sure,
    )  # fmt: skip
    elsewhere = kernel.defined.get(name)
    if not elsewhere:
        return [itself]
    line = elsewhere[-1][0]
    why = f"it defines {name}, but in a block that the use at line {place.line} cannot see"
    return [
        Suspect(name, line, kernel.text(line), why, False),
        replace(itself, why=f"it uses {name} outside of its block", sure=False),
    ]
