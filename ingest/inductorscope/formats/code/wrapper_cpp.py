"""Lines of a C++ wrapper (AOTInductor, `cpp_wrapper`), as the records of `wrapper_lines`."""

import re

from inductorscope.formats.code.layouts import Layout, dtype_of, sizes
from inductorscope.formats.code.records import CodeCall
from inductorscope.formats.code.wrapper_python import (
    LineKind,
    PythonWrapper,
    Readers,
    WrapperLine,
    first_read,
    sized,
)
from inductorscope.formats.text import arguments_at

# `static constexpr int64_t int_array_0[] = {32L, 128L};`
_ARRAY = re.compile(r"(?:static )?(?:constexpr|const) int64_t (\w+)\[\] = (\{[^{}]*\})")
_EMPTY = re.compile(r".*?aoti_torch_empty_strided(?:_pinned)?\(")
_POOL = re.compile(r".*?aoti_torch__alloc_from_pool\(")
_HANDLE = re.compile(r"&(\w+?)(?:_handle)?\)*;?$")
_DEVICE_TYPE = re.compile(r"(?:cached_torch|aoti_torch)_device_type_(\w+)")
# Until 2.4: `at::Tensor buf0 = at::detail::empty_strided_cpu({8L, 4L}, {4L, 1L}, at::kFloat);`
_TENSOR = re.compile(r"at::Tensor (\w+) = at::detail::empty_strided_(\w+)\(")
# `auto buf1 = std::move(buf0);  // reuse`, `decltype(auto) buf1 = buf0; buf0.reset();;  // reuse`
_MOVED = re.compile(
    r"(?:auto&?|decltype\(auto\)|RAIIAtenTensorHandle) (\w+) = (?:std::move\((\w+)\)|(\w+));"
)
# `auto buf3 = std::get<0>(buf2);`
_UNPACKED = re.compile(r"auto (?P<name>\w+) = std::get<(?P<index>\d{1,5})>\((?P<source>\w+)\);")
_INPUT = re.compile(
    r"(?:\[\[maybe_unused\]\] )?auto&? (\w+) = "
    r"(?:std::move\((?:inputs|args)\[\d+\]\)"
    r"|(?:\*tensor_handle_to_tensor_pointer\()?constants_->at\(\d+\))"
)
_VIEW = re.compile(
    r"(?:auto|decltype\(auto\)|RAIIAtenTensorHandle) (\w+) = "
    r".*?reinterpret_tensor(?:_wrapper)?(?=\((\w+),)"
)
_HELD = re.compile(r"(?:auto|RAIIAtenTensorHandle) (\w+)(?: = RAIIAtenTensorHandle)?\((\w+)\)")
_RESET = re.compile(r"(\w+)\.reset\(\);")
_RETURNED = re.compile(r"output_handles\[\d+\] = ")
_ASSERT = re.compile(r".*?assert_size_stride\((\w+), ?")
_GUARD = re.compile(
    r"AOTI\w*Guard |py::gil_|cudaStream_t |c10::\w*Guard|.*get_current_\w{1,40}_stream\("
)
_COPY = re.compile(r".*\baoti_torch_(?:copy_|zero_|assign_tensors)\w*\(")


class CppWrapper(PythonWrapper):
    """Reads a C++ wrapper. Sizes are in arrays; a tensor takes two lines: a handle and its
    owner."""

    def __init__(self, calls: dict[int, CodeCall], inputs: dict[str, Layout]) -> None:
        super().__init__(calls, inputs)
        self.arrays: dict[str, tuple[str, ...]] = {}
        self.pooled: dict[str, WrapperLine] = {}

    def _statement(self, line: str, number: int) -> WrapperLine:
        array = _ARRAY.match(line)
        if array is not None:
            self.arrays[array.group(1)] = sizes(array.group(2))
            return WrapperLine(number, "other")
        readers: Readers = (
            (_EMPTY, self._empty), (_TENSOR, self._tensor), (_POOL, self._pool),
            (_INPUT, self._inputs), (_UNPACKED, self._unpacked), (_MOVED, self._moved),
            (_VIEW, self._view), (_HELD, self._held),
        )  # fmt: skip
        return first_read(readers, line, number) or self._plain(line, number)

    def _plain(self, line: str, number: int) -> WrapperLine:
        reset = _RESET.match(line)
        if reset is not None and reset.group(1) in self.layouts:
            return WrapperLine(number, "free", frees=[reset.group(1)])
        if _RETURNED.match(line):
            return WrapperLine(number, "return", uses=self._names(line))
        asserted = _ASSERT.match(line)
        if asserted is not None:
            opened = line.find("(", line.find("assert_size_stride"))
            return self._asserted(asserted.group(1), line, opened, number)
        kind: LineKind = "other"
        if _GUARD.match(line):
            kind = "device"
        elif _COPY.match(line):
            kind = "copy"
        return WrapperLine(number, kind, uses=self._names(line))

    def _empty(self, match: re.Match[str], number: int) -> WrapperLine | None:
        """`…(aoti_torch_empty_strided(2, sizes, strides, dtype, device, 0, &buf0_handle));`"""
        arguments = arguments_at(match.string, match.end() - 1)
        handle = _HANDLE.match(arguments[-1]) if len(arguments) > 5 else None
        if handle is None:
            return None
        device = _DEVICE_TYPE.match(arguments[4])
        layout = Layout(
            self._sizes(arguments[1]), self._sizes(arguments[2]), dtype_of(arguments[3]),
            device.group(1) if device is not None else "",
        )  # fmt: skip
        return sized(WrapperLine(number, "allocate", [handle.group(1)]), layout)

    def _tensor(self, match: re.Match[str], number: int) -> WrapperLine | None:
        arguments = arguments_at(match.string, match.end() - 1)
        if len(arguments) < 3:
            return None
        name, device = match.groups()
        layout = Layout(sizes(arguments[0]), sizes(arguments[1]), dtype_of(arguments[2]), device)
        return sized(WrapperLine(number, "allocate", [name]), layout)

    def _pool(self, match: re.Match[str], number: int) -> WrapperLine | None:
        """`…(aoti_torch__alloc_from_pool(pool, offset, dtype, 2, sizes, strides, &tmp_0));`"""
        arguments = arguments_at(match.string, match.end() - 1)
        if len(arguments) < 7:
            return None
        del arguments[3]  # the number of dimensions
        self.pooled[arguments[5].removeprefix("&")] = self._in_pool(number, [], arguments)
        return WrapperLine(number, "other", uses=[arguments[0]])

    def _held(self, match: re.Match[str], number: int) -> WrapperLine | None:
        """`auto buf0 = RAIIAtenTensorHandle(tmp_0);` owns memory of a pool, or a view."""
        name, handle = match.groups()
        made = self.pooled.pop(handle, None)
        if made is None and handle in self.layouts:
            made = WrapperLine(number, "reinterpret", uses=[handle], layout=self.layouts[handle])
        if made is None:
            return None
        made.line, made.defines = number, [name]
        return made

    def _moved(self, match: re.Match[str], number: int) -> WrapperLine | None:
        name, before = match[1], match[2] or match[3]
        if before not in self.layouts:
            return None
        layout = self.layouts[before]
        return WrapperLine(number, "reuse", [name], [before], [before], layout=layout)

    def _view(self, match: re.Match[str], number: int) -> WrapperLine:
        line = match.string
        arguments = arguments_at(line, match.end())
        if line.startswith("_wrapper", match.end() - len("_wrapper")):
            del arguments[1:2]  # the number of dimensions
        name, before = match.groups()
        kind: LineKind = "reuse" if "// reuse" in line else "reinterpret"
        made = WrapperLine(number, kind, [name], [before])
        made.layout = self._laid_out(before, arguments)
        made.offset = arguments[3].rstrip("L") if len(arguments) > 3 else ""
        return made

    def _sizes(self, argument: str) -> tuple[str, ...]:
        return self.arrays.get(argument) or sizes(argument)
