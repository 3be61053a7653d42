"""Finds kernels that an autotuning may have chosen: templates with their configuration, and
products of libraries. The winner's kernel has the same configuration, or belongs to the same
library, and multiplies matrices of the same sizes."""

import re

import msgspec

from inductorscope.analyze.bytes.graph import CallWork
from inductorscope.analyze.bytes.library_flops import operation
from inductorscope.formats.code.output_code import OutputCode

Sizes = tuple[int, int, int]
"""Rows, columns, and length of the sums."""

# `    BLOCK_M : tl.constexpr = 64`, `num_warps=4,`, `    M = 1024`
_SETTING = re.compile(r"\s*(\w{1,60})(?: : tl\.constexpr = |=)([\w.']{1,60}),?$")
_SIZE = re.compile(r"\s+([MNK]) = (\d{1,12})$")
_WRITTEN = re.compile(r"(\w{1,60})=([^,]{1,100})")


class Chosen(msgspec.Struct, frozen=True):
    """A call that may be an autotuning's choice."""

    kernel: str
    handle: int
    library: str
    """The library's operation; empty for a template."""
    sizes: Sizes
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    """Settings of a template."""

    def runs(self, name: str, settings: str) -> bool:
        """Whether it has a candidate's name or settings (`BLOCK_M=64, num_warps=4`)."""
        if self.library:
            return self.library == name
        wanted = {key: value.strip() for key, value in _WRITTEN.findall(settings)}
        return bool(wanted) and all(
            self.settings.get(key, value).strip("'") == value.strip("'")
            for key, value in wanted.items()
        )


def chosen_kernels(code: OutputCode, lines: list[str], works: list[CallWork]) -> list[Chosen]:
    kernels = code.by_name()
    found = []
    for work in works:
        kernel = kernels.get(work.kernel)
        if kernel is None and work.products:
            operands = [access.layout.shape for access in work.bytes.traffic if not access.writes]
            sizes = sizes_of(["x".join(shape) for shape in operands])
            if sizes is not None:
                found.append(Chosen(work.kernel, work.handle, operation(work.kernel), sizes))
        elif kernel is not None and kernel.kind == "template":
            source = lines[kernel.first_line - 1 : kernel.last_line]
            set_to = (_SETTING.match(line) for line in source)
            settings = {match.group(1): match.group(2) for match in set_to if match is not None}
            sized = (_SIZE.match(line) for line in source)
            written = {match.group(1): match.group(2) for match in sized if match is not None}
            if written.keys() >= {"M", "N", "K"}:
                sizes = (int(written["M"]), int(written["N"]), int(written["K"]))
                found.append(Chosen(work.kernel, work.handle, "", sizes, settings))
    return found


def sizes_of(shapes: list[str]) -> Sizes | None:
    """Returns the sizes of a product of the last two operands: `1024x256`, `256x768`."""
    parts = [shape.strip().split("x") for shape in shapes[-2:]]
    if len(parts) < 2 or any(len(part) < 2 or not all(map(str.isdecimal, part)) for part in parts):
        return None
    (*_, rows, length), (*_, _, columns) = parts
    return int(rows), int(columns), int(length)
