"""What the caches of Triton and Inductor say about compiled kernels, and how to find their
source."""

import base64
import hashlib
import re
from collections import Counter
from typing import Any

import msgspec

from inductorscope.formats.border import read_as, read_object

_LIBRARY = re.compile(rb"/(c[a-z2-7]{40,60})\.main\.cpp\0")
BINDINGS = "\n// Python bindings to call "
"""The text that torch writes below the source of a C++ kernel, in the file that it compiles."""
_SOURCE = re.compile(r'"[^"\n]*/(c[a-z2-7]{40,60})\.\w+":\d|"(c[a-z2-7]{40,60})\.\w+"')
_ELSEWHERE = re.compile(r'"/([^"\n]{1,1000})\.py":\d')
COMPILED = "compiled"
"""The fact of a kernel that lists its configurations, the one that ran first."""
SOURCE_HASH = "source_hash"
"""The fact of a kernel that names its source."""
COMPILED_FOR = "compiled_for"
"""The fact of a kernel with the device in its code: multiprocessors, compute capability, threads of
a warp."""
OPTIONS = {
    "num_warps": int, "num_ctas": int, "num_stages": int, "maxnreg": int, "shared": int,
    "triton_version": str,
}  # fmt: skip


class _Metadata(msgspec.Struct):
    hash: str
    name: str = ""
    target: dict[str, object] = msgspec.field(default_factory=dict)


class CompiledKernel(msgspec.Struct):
    """One configuration of a kernel, as it is stored among the kernel's facts. A library of a C++
    kernel has no metadata."""

    key: str = ""
    """The name of its folder in Triton's cache."""
    name: str = ""
    arch: int = 0
    """Compute capability: 90 is 9.0."""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    ran: bool = False
    """Whether it is known to have run, because it is the only one or autotuning chose it."""
    registers: int = 0
    """Of one thread; 0 if unknown."""
    local: int = 0
    """Bytes of local memory of one thread."""
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """Stage → path of its file."""
    source: str | None = None
    """The stem of the file that its lines refer to; None for the hash of the kernel's source."""


def read_metadata(text: str, left_out: Counter[str]) -> CompiledKernel | None:
    """Reads what the `.json` of a configuration says of it."""
    try:
        values = read_as(text, dict[str, object], left_out)
        read = msgspec.convert(values, _Metadata)
        key = base64.b32encode(bytes.fromhex(read.hash)).decode().rstrip("=")
    except (ValueError, RecursionError):
        return None
    arch = read.target.get("arch")
    options = {
        name: values[name] for name, kind in OPTIONS.items() if isinstance(values.get(name), kind)
    }
    return CompiledKernel(key, read.name, arch if isinstance(arch, int) else 0, options)


def read_best(text: str, left_out: Counter[str]) -> dict[str, dict[str, object]]:
    """Reads the configuration that autotuning chose: the name of its folder in Triton's cache → its
    block sizes. Empty if it is not named."""
    read = read_object(text, left_out) or {}
    key = read.get("triton_cache_hash")
    sizes = {name: value for name, value in read.items() if name.isupper()}
    return {key: sizes} if key and isinstance(key, str) else {}


def source_named(text: str) -> str:
    """Returns the stem of the file that a compiled text was made from: the hash of its content. A
    kernel that Inductor did not write is named by its whole path."""
    found = _SOURCE.search(text)
    if found is not None:
        return found.group(1) or found.group(2)
    found = _ELSEWHERE.search(text)
    return found.group(1) if found is not None else ""


def library_source(library: bytes) -> str:
    """Returns the stem of the file that a C++ kernel's library was made from, from its line
    table."""
    found = _LIBRARY.search(library)
    return "" if found is None else found.group(1).decode()


def source_hash(definition: str) -> str:
    """Returns the hash in the name of a kernel's file, from its definition in the output code."""
    first, last = definition.find("'''"), definition.rfind("'''")
    if last <= first:
        return ""
    return hash_of(definition[first + 3 : last].replace("\\\\", "\\"))


def kernel_of_library(source: str) -> str:
    """The source of a C++ kernel, from the file that torch compiles."""
    return source.partition(BINDINGS)[0].strip()


def hash_of(source: str) -> str:
    digest = hashlib.sha256(source.strip().encode("utf-8", "replace")).digest()
    return "c" + base64.b32encode(digest)[:51].decode().lower()
