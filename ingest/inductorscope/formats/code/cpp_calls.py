"""Calls in statements of a C++ wrapper: callee, arguments and results."""

import re

import msgspec

from inductorscope.formats.text import closing, split_top

# Shims that manage memory or query a tensor; all other `aoti_torch_…` compute.
NO_KERNEL = tuple(
    f"aoti_torch_{name}"
    for name in (
        "_alloc", "_reinterpret", "as_strided", "assign_", "check", "clone", "create_", "delete_",
        "device_type_", "dtype_", "empty", "get_", "grad_mode", "item_", "layout_",
        "memory_format_", "new_", "print_", "save_", "set_", "warn",
    )
)  # fmt: skip
_CHECK = "AOTI_TORCH_ERROR_CODE_CHECK("
_CALLEE = re.compile(
    r"(?:(?:const\s+|static\s+)?(?:auto&?|at::Tensor|RAIIAtenTensorHandle)\s+(\w+)\s*=\s*)?"
    r"([A-Za-z_][\w.:]*+)(?:<[^<>()]*>)?\("
)
# `(const float*)(arg6_1.data_ptr())`
_POINTER = re.compile(r"\((?:const )?[\w:]+(?: \w+)?\s*\*\)\((\w+)\.data_ptr(?:<\w+>)?\(\)\)$")
_MADE = re.compile(r"&(\w+)_handle$")
_STREAM = re.compile(r"stream\d*")
_POINTED = re.compile(
    r"CUdeviceptr (\w+) = reinterpret_cast<CUdeviceptr>\((\w+)\.data_ptr\(\)\)"
    r"|.*aoti_torch_get_data_ptr\((\w+), reinterpret_cast<void\*\*>\(&(\w+)\)\)"
)
_PACKED = re.compile(r"void\s*\*\s*(\w+)\[\]\s*=\s*\{([^{}]*)\}")
_LAUNCH = "launchKernel"


class CppCall(msgspec.Struct):
    callee: str
    arguments: list[str]
    results: list[str] = msgspec.field(default_factory=list)
    stream: str = ""


class CppCalls:
    """Reads statements in order, since older launches pack their arguments one line earlier."""

    def __init__(self, kernels: set[str]) -> None:
        self.kernels = kernels
        self.pointers: dict[str, str] = {}
        self.packed: dict[str, list[str]] = {}

    def read(self, line: str) -> CppCall | None:
        if self._packs(line):
            return None
        result = ""
        opened = line.find(_CHECK)
        inner = line[opened + len(_CHECK) :] if opened >= 0 else line
        match = _CALLEE.match(inner)
        if match is None:
            return None
        result, callee = match.group(1) or "", match.group(2)
        arguments = split_top(inner[match.end() : closing(inner, match.end() - 1)])
        callee = callee.rpartition("kernels.")[2]
        if callee == _LAUNCH and arguments:
            return self._launch(arguments)
        called = callee.removeprefix("call_")
        if called in self.kernels or called != callee:
            callee = called
        made = [m.group(1) for argument in arguments if (m := _MADE.match(argument))]
        stream = next((a for a in reversed(arguments) if _STREAM.fullmatch(a)), "")
        return CppCall(
            callee,
            [plain(argument) for argument in arguments],
            [result] if result else made,
            stream,
        )

    def _packs(self, line: str) -> bool:
        """Reads `CUdeviceptr var_0 = …buf0…` and `void* kernel_args_var_0[] = {&var_0, &var_1};`"""
        pointed = _POINTED.match(line)
        if pointed is not None:
            name, tensor, other, other_name = pointed.groups()
            self.pointers[name or other_name] = tensor or other
            return True
        packed = _PACKED.match(line)
        if packed is None:
            return False
        names = [part.strip().removeprefix("&") for part in packed.group(2).split(",")]
        self.packed[packed.group(1)] = [self.pointers.get(name, name) for name in names if name]
        return True

    def _launch(self, arguments: list[str]) -> CppCall:
        """Reads `launchKernel(kernels.triton_…, grid…, warps, shared, kernel_args_var_0,
        stream)`"""
        packed = next((self.packed[a] for a in arguments if a in self.packed), arguments[1:])
        stream = arguments[-1] if _STREAM.fullmatch(arguments[-1]) else ""
        return CppCall(arguments[0].rpartition("kernels.")[2], packed, [], stream)


def plain(argument: str) -> str:
    """`(const float*)(arg6_1.data_ptr())` → `arg6_1`; other arguments stay as they are."""
    match = _POINTER.match(argument)
    return match.group(1) if match is not None else argument
