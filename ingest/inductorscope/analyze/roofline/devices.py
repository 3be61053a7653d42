"""Peak rates of devices from their makers' data sheets, by the names that drivers use.

Dense figures, without sparsity, in bytes and operations per second. Peaks measured on the machine
itself are better and take precedence.
"""

import msgspec


class DevicePeaks(msgspec.Struct, frozen=True):
    """One device's limits."""

    name: str
    memory: float
    """Bytes per second from and to its memory."""
    matmul: dict[str, float] = msgspec.field(default_factory=dict)
    """Type → operations per second of matrix products, on tensor cores if there are any."""
    vector: float = 0.0
    """Operations per second in float32 outside of tensor cores."""
    chip: tuple[int, int] | None = None
    """Compute capability (90 is 9.0) and multiprocessors, if programs can be compiled for it."""


def _gpu(
    name: str, gbs: float, vector: float, half: float, tf32: float | None = None,
    fp64: float | None = None, fp8: float | None = None, chip: tuple[int, int] | None = None,
) -> DevicePeaks:  # fmt: skip
    """Arguments are in GB/s and TFLOP/s, as on data sheets."""
    tera = 1e12
    matmul = {"float32": vector * tera, "float16": half * tera, "bfloat16": half * tera}
    if tf32 is not None:
        matmul["tf32"] = tf32 * tera  # for float32, if torch may round
    if fp64 is not None:
        matmul["float64"] = fp64 * tera
    if fp8 is not None:
        matmul["float8_e4m3fn"] = matmul["float8_e5m2"] = fp8 * tera
    return DevicePeaks(name, gbs * 1e9, matmul, vector * tera, chip)


# The first row whose words are all in the device's name; more specific names come first.
_TABLE: tuple[tuple[tuple[str, ...], DevicePeaks], ...] = (
    (("gb300",), _gpu("GB300", 8000, 80, 2500, 1250, 1.3, 5000)),
    (("b300",), _gpu("B300", 8000, 75, 2250, 1120, 1.2, 4500)),
    (("gb200",), _gpu("GB200", 8000, 80, 2500, 1250, 40, 5000)),
    (("b200",), _gpu("B200", 8000, 75, 2250, 1120, 37, 4500, chip=(100, 148))),
    (("b100",), _gpu("B100", 8000, 60, 1750, 875, 30, 3500)),
    (("h200", "nvl"), _gpu("H200 NVL", 4800, 60, 835, 418, 60, 1671)),
    (("gh200", "480"), _gpu("GH200", 4000, 67, 989, 494, 67, 1979)),
    (("gh200",), _gpu("GH200", 4900, 67, 989, 494, 67, 1979)),
    (("h200",), _gpu("H200", 4800, 67, 989, 494, 67, 1979, chip=(90, 132))),
    (("h100", "pcie"), _gpu("H100 PCIe", 2000, 51, 756, 378, 51, 1513, chip=(90, 114))),
    (("h100", "nvl"), _gpu("H100 NVL", 3900, 60, 835, 418, 60, 1671)),
    (("h100",), _gpu("H100 SXM", 3350, 67, 989, 494, 67, 1979, chip=(90, 132))),
    (("h800",), _gpu("H800", 3350, 67, 989, 494, 1, 1979)),
    (("h20",), _gpu("H20", 4000, 44, 148, 74, 1, 296)),
    (("a100", "80gb", "pcie"), _gpu("A100 PCIe 80 GB", 1935, 19.5, 312, 156, 19.5, chip=(80, 108))),
    (("a100", "80gb"), _gpu("A100 SXM 80 GB", 2039, 19.5, 312, 156, 19.5, chip=(80, 108))),
    (("a100",), _gpu("A100 40 GB", 1555, 19.5, 312, 156, 19.5, chip=(80, 108))),
    (("a800",), _gpu("A800", 2039, 19.5, 312, 156, 9.7)),
    (("a10g",), _gpu("A10G", 600, 31.5, 70, 35)),
    (("a10",), _gpu("A10", 600, 31.2, 125, 62.5, chip=(86, 72))),
    (("a30",), _gpu("A30", 933, 10.3, 165, 82, 10.3, chip=(80, 56))),
    (("a40",), _gpu("A40", 696, 37.4, 149.7, 74.8)),
    (("rtx", "6000", "ada"), _gpu("RTX 6000 Ada", 960, 91.1, 364, 182, None, 728)),
    (("rtx", "a6000"), _gpu("RTX A6000", 768, 38.7, 155, 77.4)),
    (("l40s",), _gpu("L40S", 864, 91.6, 362, 183, None, 733, chip=(89, 142))),
    (("l40",), _gpu("L40", 864, 90.5, 181, 90.5, None, 362)),
    (("l4",), _gpu("L4", 300, 30.3, 121, 60, None, 242, chip=(89, 58))),
    (("v100",), _gpu("V100", 900, 15.7, 125, None, 7.8)),
    (("t4",), _gpu("T4", 320, 8.1, 65, chip=(75, 40))),
    (("rtx", "5090"), _gpu("RTX 5090", 1792, 104.8, 209.5, 104.8, None, 419, chip=(120, 170))),
    (("rtx", "5080"), _gpu("RTX 5080", 960, 56.3, 112.6, 56.3, None, 225)),
    (("rtx", "4090"), _gpu("RTX 4090", 1008, 82.6, 165.2, 82.6, None, 330, chip=(89, 128))),
    (("rtx", "4080"), _gpu("RTX 4080", 717, 48.7, 97.5, 48.7, None, 195)),
    (("rtx", "3090"), _gpu("RTX 3090", 936, 35.6, 71, 35.6, chip=(86, 82))),
    (("rtx", "3080"), _gpu("RTX 3080", 760, 29.8, 59.5, 29.8)),
    (("mi355x",), _gpu("MI355X", 8000, 157.3, 2500, 157.3, 78.6, 5000)),
    (("mi350x",), _gpu("MI350X", 8000, 144.2, 2300, 144.2, 72.1, 4600)),
    (("mi325x",), _gpu("MI325X", 6000, 163.4, 1307, 653.7, 163.4, 2615)),
    (("mi300x",), _gpu("MI300X", 5300, 163.4, 1307, 653.7, 163.4, 2615)),
    (("mi300a",), _gpu("MI300A", 5300, 122.6, 981, 490, 122.6, 1961)),
    (("mi250x",), _gpu("MI250X (one of its two)", 1638, 23.9, 191.5, 47.9, 47.9)),
    (("mi250",), _gpu("MI250 (one of its two)", 1638, 22.6, 181, 45.3, 45.3)),
    (("mi210",), _gpu("MI210", 1638, 22.6, 181, 45.3, 45.3)),
)  # fmt: skip

PRETENDED = tuple(peaks.name for _, peaks in _TABLE if peaks.chip)
"""GPUs that programs can be compiled for without having one."""


def device_peaks(name: str | None) -> DevicePeaks | None:
    """The peaks of a device by its driver's name, `NVIDIA H100 80GB HBM3`; None if unknown."""
    if not name:
        return None
    words = set(_words(name))
    fitting = (peaks for wanted, peaks in _TABLE if all(word in words for word in wanted))
    return next(fitting, None)


def _words(name: str) -> list[str]:
    """`NVIDIA A100-SXM4-80GB` → nvidia, a100, sxm4, 80gb; `80 GB` is one word too."""
    plain = "".join(letter if letter.isalnum() else " " for letter in name.lower())
    return plain.replace(" gb", "gb").split()
