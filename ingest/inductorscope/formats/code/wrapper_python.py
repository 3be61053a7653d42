"""Lines of a Python wrapper as records, and code shared with C++ wrappers."""

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from inductorscope.formats.code.layouts import Layout, contiguous, dtype_of, sizes
from inductorscope.formats.code.records import CodeCall
from inductorscope.formats.text import arguments_at, split_top

LineKind = Literal[
    "allocate", "reuse", "free", "reinterpret", "unpack", "copy", "call", "extern_call", "comment",
    "assert", "device", "input", "return", "other",
]  # fmt: skip


class WrapperLine(msgspec.Struct):
    line: int
    kind: LineKind
    defines: list[str] = msgspec.field(default_factory=list)
    uses: list[str] = msgspec.field(default_factory=list)
    frees: list[str] = msgspec.field(default_factory=list)
    layout: Layout | None = None
    """Layout of the buffer that the line defines, if written; of an assertion, the asserted one."""
    nbytes: int | None = None
    """Bytes of an allocation; None for other lines, and if `reason` says why."""
    reason: str = ""
    inside: str = ""
    """For an allocation from a pool: the pool. Its bytes count once, where it is allocated."""
    offset: str = ""
    """As written: bytes into the pool, elements into the viewed tensor, or which of the results."""
    call: CodeCall | None = None
    operands: dict[str, Layout] = msgspec.field(default_factory=dict)
    """For a call: the known layouts of the buffers that it names."""


_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ALLOCATE = re.compile(r"(\w+) = (?:torch\.)?(?:tracked_)?empty(?:_strided)?(?:_([a-z0-9_]+))?\(")
_POOL = re.compile(r"(\w+) = alloc_from_pool\((\w+),")
_VIEW = re.compile(r"(\w+) = (?:reinterpret_tensor|as_strided)\((\w+)(?=[,.])")
_MOVED = re.compile(r"(\w+) = (\w+);")
# `buf5 = buf4[0]`; a call's only output has no index: `buf5 = buf4`.
_UNPACKED = re.compile(
    r"(?P<name>\w+(?= = \w+\[)|\w*buf\d+) = (?P<source>\w+)(?:\[(?P<index>\d{1,5})\])?$"
)
_BUFFER = re.compile(r"(\w*buf\d+) = ")
_INPUTS = re.compile(r"((?:\w+, ?)*\w+),? = args$")
_COPY = re.compile(r"(\w+)\.(?:copy_|zero_|fill_)\(")
_ASSERT = re.compile(r"assert_(?:size_stride|alignment)\((\w+), ?")
_DELETED = re.compile(r"(?:^|; ?)del ([\w, ]+)")
_DEVICE = re.compile(r"with torch\.\w+\._?DeviceGuard|torch\.\w+\.set_device\(|stream\d* = ")
_KEYWORD = re.compile(r"(device|dtype)=(.+)")


Reader = Callable[[re.Match[str], int], WrapperLine | None]
Readers = Sequence[tuple[re.Pattern[str], Reader]]


def first_read(readers: Readers, line: str, number: int) -> WrapperLine | None:
    """Returns what the first reader makes of a line that its pattern matches."""
    for pattern, read in readers:
        match = pattern.match(line)
        made = read(match, number) if match is not None else None
        if made is not None:
            return made
    return None


class PythonWrapper:
    """Reads line by line: a name is a buffer once an earlier line has defined it."""

    def __init__(self, calls: dict[int, CodeCall], inputs: dict[str, Layout]) -> None:
        self.calls = calls
        self.inputs = inputs
        self.records: list[WrapperLine] = []
        self.layouts: dict[str, Layout | None] = {}
        """All buffers defined so far."""

    def read(self, line: str, number: int) -> None:
        made = self._line(line, number)
        for name in made.defines:
            self.layouts[name] = made.layout or self.layouts.get(name) or self.inputs.get(name)
        self.records.append(made)

    def _line(self, line: str, number: int) -> WrapperLine:
        if line.startswith(("#", "//")):
            return WrapperLine(number, "comment")
        call = self.calls.get(number)
        if call is not None:
            return self._call(call, line, number)
        return self._statement(line, number)

    def _call(self, call: CodeCall, line: str, number: int) -> WrapperLine:
        kind: LineKind = "extern_call" if call.extern else "call"
        uses = [name for name in self._names(line) if name not in call.results]
        made = WrapperLine(number, kind, list(call.results), uses, call=call)
        made.operands = {name: known for name in uses if (known := self.layouts[name]) is not None}
        return made

    def _statement(self, line: str, number: int) -> WrapperLine:
        if line.startswith("del "):
            return WrapperLine(number, "free", frees=_deleted(line))
        if line.startswith("assert_"):
            return self._assertion(line, number)
        if " = " in line:
            return self._assignment(line, number)
        if line.startswith("return"):
            return WrapperLine(number, "return", uses=self._names(line))
        if _DEVICE.match(line):
            return WrapperLine(number, "device")
        copied = _COPY.match(line)
        if copied is not None and copied.group(1) in self.layouts:
            return WrapperLine(number, "copy", uses=self._names(line))
        return WrapperLine(number, "other", uses=self._names(line))

    def _assignment(self, line: str, number: int) -> WrapperLine:
        if line.startswith("stream"):
            return WrapperLine(number, "device")
        readers: Readers = (
            (_ALLOCATE, self._allocated), (_POOL, self._pooled), (_VIEW, self._viewed),
            (_MOVED, self._moved), (_INPUTS, self._inputs), (_UNPACKED, self._unpacked),
        )  # fmt: skip
        made = first_read(readers, line, number)
        if made is None:
            made = WrapperLine(number, "other", uses=self._names(line))
            buffer = _BUFFER.match(line)
            made.defines = [buffer.group(1)] if buffer is not None else []
        return made

    def _inputs(self, match: re.Match[str], number: int) -> WrapperLine:
        return WrapperLine(number, "input", split_top(match.group(1)))

    def _unpacked(self, match: re.Match[str], number: int) -> WrapperLine | None:
        if match["source"] not in self.layouts:
            return None
        made = WrapperLine(number, "unpack", [match["name"]], [match["source"]])
        made.offset = match["index"] or ""
        return made

    def _allocated(self, match: re.Match[str], number: int) -> WrapperLine:
        arguments = arguments_at(match.string, match.end() - 1)
        device, dtype = (match.group(2) or "").removesuffix("_pinned"), ""
        plain: list[str] = []
        for argument in arguments:
            keyword = _KEYWORD.match(argument)
            if keyword is None:
                dtype = dtype_of(argument) or dtype
                plain.append(argument)
            elif keyword.group(1) == "device":
                device = keyword.group(2).strip("'\"")
            else:
                dtype = dtype_of(keyword.group(2))
        shape = sizes(plain[0]) if plain else ()
        strided = len(plain) > 1 and plain[1][:1] in {"(", "["}
        stride = sizes(plain[1]) if strided else _contiguous(shape)
        made = WrapperLine(number, "allocate", [match.group(1)])
        return sized(made, Layout(shape, stride, dtype, device))

    def _pooled(self, match: re.Match[str], number: int) -> WrapperLine | None:
        """`buf2 = alloc_from_pool(pool4, 16384, torch.float32, (32, 64), (64, 1))`"""
        arguments = arguments_at(match.string, match.string.find("("))
        if len(arguments) < 5:
            return None
        return self._in_pool(number, [match.group(1)], arguments)

    def _in_pool(self, number: int, names: list[str], arguments: list[str]) -> WrapperLine:
        """An allocation by pool, offset, dtype, sizes and strides."""
        pool, offset, dtype = arguments[:3]
        device = (self.layouts.get(pool) or Layout()).device
        made = WrapperLine(number, "allocate", names, [pool], inside=pool, offset=offset)
        shape, stride = self._sizes(arguments[3]), self._sizes(arguments[4])
        return sized(made, Layout(shape, stride, dtype_of(dtype), device))

    def _viewed(self, match: re.Match[str], number: int) -> WrapperLine:
        """`buf4 = reinterpret_tensor(buf3, (64, 32), (1, 64), 0); del buf3  # reuse`"""
        line = match.string
        arguments = arguments_at(line, line.find("("))
        frees = _deleted(line)
        kind: LineKind = "reuse" if frees or "# reuse" in line else "reinterpret"
        made = WrapperLine(number, kind, [match.group(1)], [match.group(2)], frees)
        made.layout = self._laid_out(match.group(2), arguments)
        made.offset = arguments[3] if len(arguments) > 3 else ""
        return made

    def _laid_out(self, name: str, arguments: list[str]) -> Layout | None:
        """The layout of a buffer with the sizes and strides in a call's arguments."""
        if len(arguments) < 3:
            return None
        known = self.layouts.get(name) or Layout()
        shape, stride = self._sizes(arguments[1]), self._sizes(arguments[2])
        return Layout(shape, stride, known.dtype, known.device)

    def _sizes(self, argument: str) -> tuple[str, ...]:
        return sizes(argument)

    def _moved(self, match: re.Match[str], number: int) -> WrapperLine | None:
        """`buf3 = buf1; del buf1  # reuse`; no `del` where the memory belongs to a pool."""
        name, before = match.groups()
        if before not in self.layouts:
            return None
        frees, layout = _deleted(match.string), self.layouts[before]
        return WrapperLine(number, "reuse", [name], [before], frees, layout=layout)

    def _assertion(self, line: str, number: int) -> WrapperLine:
        match = _ASSERT.match(line)
        if match is None or not line.startswith("assert_size_stride"):
            return WrapperLine(number, "assert", uses=self._names(line))
        return self._asserted(match.group(1), line, line.find("("), number)

    def _asserted(self, name: str, line: str, opened: int, number: int) -> WrapperLine:
        """An assertion of a buffer's sizes and strides, whose arguments begin at a bracket."""
        made = WrapperLine(number, "assert", uses=self._names(line))
        made.layout = self._laid_out(name, arguments_at(line, opened))
        if made.layout is not None and name in self.layouts:
            self.layouts[name] = made.layout
        return made

    def _names(self, line: str) -> list[str]:
        """Returns the buffers that a line names, each once."""
        known = self.layouts
        return [name for name in dict.fromkeys(_IDENTIFIER.findall(line)) if name in known]


def sized(made: WrapperLine, layout: Layout) -> WrapperLine:
    """Returns the line with its layout and size in bytes."""
    made.layout = layout
    made.nbytes, made.reason = layout.nbytes()
    return made


def _contiguous(shape: tuple[str, ...]) -> tuple[str, ...]:
    """Strides of a contiguous tensor with numeric sizes; empty for others."""
    if len(shape) > 64 or not all(size.isdecimal() and len(size) < 19 for size in shape):
        return ()
    return tuple(map(str, contiguous([int(size) for size in shape])))


def _deleted(line: str) -> list[str]:
    match = _DELETED.search(line)
    return [name.strip() for name in match.group(1).split(",") if name.strip()] if match else []
