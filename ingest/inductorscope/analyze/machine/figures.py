"""Counts a kernel's instructions by kind, and works out how many of its threads fit on a
multiprocessor."""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from inductorscope.formats.sizes import KIB

TENSOR = "tensor cores"
_FAMILIES = (
    (TENSOR, r"[HIDBQFO]\w*MMA(?!\w)|UTC\w*MMA|WARPGROUP\w*"),
    ("global memory", r"LDG|STG|LD|ST|ATOMG?|REDG?|LDGSTS|UBLK\w+|UTMA\w+|LDGDEPBAR|CCTL\w*"),
    ("shared memory", r"LDS|STS|LDSM|STSM|ATOMS"),
    ("local memory", r"LDL|STL"),
    ("parameters and constants", r"U?LDC\w*"),
    ("floating point", r"[FDH](?:ADD|MUL|FMA|MNMX|SET|SETP|SEL|CHK|SWZADD)\w*"),
    ("special functions", r"MUFU"),
    ("conversions", r"[FI]2[FIP]P?|FRND|I2FP|F2FP"),
    (
        "integers and indices",
        r"U?(?:IADD\w*|VIADD\w*|IMAD\w*|IMUL\w*|LOP\w*|SHF|SHL|SHR|LEA|ISETP|V?IMNMX|IABS"
        r"|ISCADD|BMSK|SGXT|POPC|FLO|BREV|IDP)",
    ),
    ("exchange between threads", r"SHFL|VOTEU?|MATCH|REDUX|R2UR|S2UR"),
    (
        "control",
        r"BRA\w*|BRX\w*|BSSY|BSYNC|BREAK|EXIT|RET|CALL|BAR|WARPSYNC|SYNCS|DEPBAR|MEMBAR|NANOSLEEP"
        r"|BPT|ERRBAR|JM\w+|YIELD",
    ),
    ("padding", r"NOP"),
)  # fmt: skip
OTHER = "moves and others"
_FAMILY = re.compile(
    "|".join(f"(?P<f{at}>{pattern})$" for at, (_, pattern) in enumerate(_FAMILIES))
)
_WIDTH = re.compile(r"\.(?:[US]?(8|16)|(64)|(128)|(256))(?=\.|$)")
_ACCESS = re.compile(r"(?:LDG|STG|LD|ST)(?=\.|$)")
WARP = 32
ALLOCATED_REGISTERS = 256
"""A warp gets registers in multiples of this number."""
ALLOCATED_SHARED = 128
PARTITIONS = 4
REGISTERS = 64 * KIB


def family_of(operation: str) -> str:
    found = _FAMILY.match(operation.partition(".")[0])
    return OTHER if found is None else _FAMILIES[int(str(found.lastgroup)[1:])][0]


def mix_of(operations: Iterable[str]) -> dict[str, int]:
    """Counts instructions by family, the most frequent first."""
    return dict(Counter(map(family_of, operations)).most_common())


def widths_of(operations: Iterable[str]) -> dict[int, int]:
    """Counts loads and stores of global memory by the bits that a thread moves at once."""
    counts: Counter[int] = Counter()
    for operation in operations:
        if _ACCESS.match(operation) is not None:
            found = _WIDTH.search(operation)
            counts[32 if found is None else int(next(filter(None, found.groups())))] += 1
    return dict(sorted(counts.items()))


class Limits(msgspec.Struct, frozen=True):
    """The limits of one multiprocessor of an architecture."""

    warps: int
    blocks: int
    shared: int
    """Bytes of shared memory."""
    reserved: int = KIB
    """Bytes of shared memory that each block takes in addition to its own."""


LIMITS = {
    70: Limits(64, 32, 96 * KIB, 0),
    75: Limits(32, 16, 64 * KIB, 0),
    80: Limits(64, 32, 164 * KIB),
    86: Limits(48, 16, 100 * KIB),
    89: Limits(48, 24, 100 * KIB),
    90: Limits(64, 32, 228 * KIB),
    100: Limits(64, 32, 228 * KIB),
    120: Limits(48, 24, 100 * KIB),
}
"""Limits by compute capability, from NVIDIA's CUDA programming guide."""


class Occupancy(msgspec.Struct, frozen=True):
    """How many warps of a kernel fit on a multiprocessor, and what limits them."""

    warps: int
    most: int
    limited_by: tuple[str, ...]
    """Empty if as many fit as of any kernel."""

    @property
    def share(self) -> float:
        return self.warps / self.most


def occupancy_of(arch: int, warps: int, registers: int, shared: int) -> Occupancy | None:
    """Returns None if the architecture is unknown."""
    limits = LIMITS.get(arch)
    if limits is None or warps < 1 or registers < 1:
        return None
    of_warp = _rounded(registers * WARP, ALLOCATED_REGISTERS)
    by_registers = REGISTERS // PARTITIONS // of_warp * PARTITIONS // warps
    taken = _rounded(shared + limits.reserved, ALLOCATED_SHARED)
    blocks = {
        "registers": by_registers,
        "shared memory": limits.shared // taken if taken else limits.blocks,
        "blocks": limits.blocks,
        "warps": limits.warps // warps,
    }
    least = min(blocks.values())
    held = least * warps
    limiting = tuple(name for name, count in blocks.items() if count == least and name != "warps")
    return Occupancy(held, limits.warps, limiting if held < limits.warps else ())


def _rounded(value: int, step: int) -> int:
    return -(-value // step) * step
