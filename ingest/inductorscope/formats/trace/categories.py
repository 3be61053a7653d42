"""The categories of events in a trace, and which columns their events go to.

Kineto names them after the device: `cuda_runtime`, `mtia_runtime`. Upper case and bare names are
from the first versions. The profiler before Kineto wrote no categories: its events have the process
`CPU functions` or `CUDA functions`.
"""

from typing import Final, NamedTuple

from inductorscope.formats.trace.event_columns import KERNEL, MEMCPY, MEMSET

DEVICE, RUNTIME, OPERATOR, ANNOTATION, OTHER = range(5)


class Group(NamedTuple):
    """The columns of an event, and the kind of its device work."""

    columns: int
    kind: int = 0


MTIA_WORK: Final = "mtia_ccp_events"
COUNTED: Final = "cuda_profiler_range"
"""Kernels whose hardware counters CUPTI read. They run again for each counter and share their
range's time evenly, so the trace does not have their durations."""

_OPERATORS = ("cpu_op", "operator", "function", "hpu_op")
_ANNOTATIONS = ("user_annotation",)
_RUNTIMES = (
    "cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "xpu_driver", "mtia_runtime",
    "privateuse1_runtime", "privateuse1_driver", "glow_runtime", "runtime", "driver",
)  # fmt: skip
_GROUPS = {
    "kernel": Group(DEVICE, KERNEL), MTIA_WORK: Group(DEVICE, KERNEL),
    "gpu_memcpy": Group(DEVICE, MEMCPY), "memcpy": Group(DEVICE, MEMCPY),
    "gpu_memset": Group(DEVICE, MEMSET), "memset": Group(DEVICE, MEMSET),
    **dict.fromkeys(_RUNTIMES, Group(RUNTIME)),
    **dict.fromkeys(_OPERATORS, Group(OPERATOR)),
    **dict.fromkeys(_ANNOTATIONS, Group(ANNOTATION)),
}  # fmt: skip
_BY_PROCESS = {"cpu functions": Group(OPERATOR), "cuda functions": Group(DEVICE, KERNEL)}

_MTIA_COPY = "dma_request"
_MTIA_WAITS = ("event_wait", "event_record")
"""Events of a device's queue that do no work."""

_DEVICE_KINDS = (
    ("mtia_", "mtia"), ("xpu_", "xpu"), ("hpu_", "hpu"), ("privateuse1_", "privateuseone"),
    ("cuda_", "cuda"), ("hip_", "cuda"),
)  # fmt: skip


def group_of(category: str | None, process: object, name: str | None) -> Group | None:
    """The group of an event; None for one that is only shown on the timeline."""
    if category is None:
        return _BY_PROCESS.get(process.lower()) if isinstance(process, str) else None
    category = category.lower()
    if category == MTIA_WORK:
        if name in _MTIA_WAITS:
            return None
        if name == _MTIA_COPY:
            return Group(DEVICE, MEMCPY)
    return _GROUPS.get(category)


def device_kind_of(category: str) -> str | None:
    """Returns torch's name of the kind of device that has events of this category; None if any
    device has."""
    lower = category.lower()
    return next((kind for start, kind in _DEVICE_KINDS if lower.startswith(start)), None)
