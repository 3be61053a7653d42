"""How close a kernel comes to the machine's limits, and what reaching them would save.

A kernel cannot be faster than moving its bytes at the memory's peak, nor than its operations at the
arithmetic peak; the longer of the two times is its roof. Headroom is the time above the roof.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from inductorscope.analyze.roofline.devices import device_peaks
from inductorscope.fields import Flops, Prose

Provenance = Literal["measured", "estimated", "unknown"]
Bound = Literal["memory", "compute", "unknown"]

AT_PEAK = 1.02
"""Shares up to this count as at the peak, because clocks and timers vary by as much."""
START_US, SHORT_US = 2.0, 5.0
"""Starting and ending a kernel takes about 2 µs, which is a large part of a call that takes less
than 5 µs."""


class Peaks(msgspec.Struct, frozen=True):
    """Peak rates of the machine, per second."""

    device: str
    memory: float
    matmul: dict[str, Flops] = msgspec.field(default_factory=dict)
    vector: float = 0.0
    """Operations outside of matrix units, in float32."""
    cache: float | None = None
    """Bytes per second of a copy that fits into the cache, if measured."""
    provenance: Provenance = "unknown"
    source: str = ""
    """Source of the figures, in words."""


class Standing(msgspec.Struct, frozen=True):
    """A kernel compared with its roof. Times are in microseconds per step."""

    bytes_per_s: float | None
    operations_per_s: float | None
    memory_share: float | None = None
    """Share of the memory's peak."""
    compute_share: float | None = None
    """Share of the arithmetic peak."""
    share: float | None = None
    """Share of the roof: the larger of the two; over 1 if it is faster than the roof allows."""
    bound: Bound = "unknown"
    roof_us: float | None = None
    headroom_us: float | None = None
    saves: float | None = None
    """Share of the step that reaching the roof would save."""
    over: Prose = ""
    """Why it may exceed the roof; empty if it does not."""
    small: bool = False
    """Whether a call is too small to judge: short, and its roof lower than the time to start a
    kernel. A faster kernel would save nothing; fewer kernels would."""


def peaks_of(measured: Mapping[str, Any] | None, device_name: str | None) -> Peaks | None:
    """Peaks measured by a capture, else those of the device's data sheet; None if neither is known.
    `measured` is `peaks` of `capture.json`."""
    peaks = _measured(measured, device_name)
    if peaks is not None:
        return peaks
    table = device_peaks(device_name)
    if table is None:
        return None
    return Peaks(
        device_name or table.name, table.memory, table.matmul, table.vector, None,
        provenance="estimated", source=f"the data sheet of {table.name}",
    )  # fmt: skip


def _measured(measured: Mapping[str, Any] | None, device_name: str | None) -> Peaks | None:
    if not isinstance(measured, Mapping):
        return None
    memory = _rate(measured.get("memory_bytes_per_s"))
    products = measured.get("matmul_flops")
    if memory is None or not isinstance(products, Mapping):
        return None
    matmul = {
        str(name): rate for name, value in products.items() if (rate := _rate(value)) is not None
    }
    table = device_peaks(device_name)
    vector = table.vector if table is not None else matmul.get("float32", 0.0)
    cache = _rate(measured.get("cache_bytes_per_s"))
    if cache is not None and cache <= memory:  # mostly the time to start the copy
        cache = None
    return Peaks(
        device_name or "", memory, matmul, vector, cache, provenance="measured",
        source="a copy and matrix products on the machine, when it was captured",
    )  # fmt: skip


def _rate(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e18 else None


def standing(
    peaks: Peaks | None,
    *,
    moved: float | None,
    products: float | None,
    operations: float | None,
    dtype: str,
    time_us: float | None,
    step_us: float | None,
    calls: float = 1,
) -> Standing:
    """Compares a kernel's work in one step with the peaks: bytes, operations of products and
    others, and time, over all its calls."""
    done = products if products is not None else operations
    seconds = time_us / 1e6 if time_us else None
    bytes_rate = moved / seconds if moved is not None and seconds else None
    rate = done / seconds if done is not None and seconds else None
    if peaks is None:
        return Standing(bytes_rate, rate)
    limit = _limit(peaks, dtype, is_product=products is not None)
    memory_us = moved / peaks.memory * 1e6 if moved is not None else None
    compute_us = done / limit * 1e6 if done is not None and limit else None
    if memory_us is None:
        return Standing(bytes_rate, rate)
    roof_us = max(memory_us, compute_us or 0.0)
    bound: Bound = "memory" if roof_us == memory_us else "compute"
    if not time_us:
        return Standing(bytes_rate, rate, bound=bound, roof_us=roof_us)
    headroom = max(0.0, time_us - roof_us)
    small = roof_us < START_US * calls and time_us < SHORT_US * calls
    return Standing(
        bytes_per_s=bytes_rate,
        operations_per_s=rate,
        memory_share=memory_us / time_us,
        compute_share=None if compute_us is None else compute_us / time_us,
        share=roof_us / time_us,
        bound=bound,
        roof_us=roof_us,
        headroom_us=headroom,
        saves=headroom / max(step_us, time_us) if step_us and not small else None,  # a slow profile
        over=_why_over(peaks, bound, bytes_rate) if roof_us > AT_PEAK * time_us else "",
        small=small,
    )


def predicted_us(roof_us: float | None, calls: float) -> float:
    """Predicts the time of calls: their roof, and the time to start each."""
    return (roof_us or 0.0) + START_US * calls


def _limit(peaks: Peaks, dtype: str, *, is_product: bool) -> float | None:
    if not is_product:
        return peaks.vector or peaks.matmul.get("float32")
    return peaks.matmul.get(dtype) or (peaks.matmul.get("float32") if not dtype else None)


def _why_over(peaks: Peaks, bound: str, rate: float | None) -> str:
    if bound == "compute":
        return (
            "Faster than the arithmetic peak: either operations are overcounted, as for attention "
            "with a causal mask, or reduced precision is in use."
        )
    if peaks.cache is not None and rate is not None and rate <= peaks.cache * AT_PEAK:
        return (
            "Faster than memory: its inputs were still in the cache. It is below the cache's own "
            "peak."
        )
    return "Faster than memory: its inputs were still in a cache, or it moves less than estimated."
