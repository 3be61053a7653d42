"""Orders to the playground's process, and their results. Torch-free."""

import re
from pathlib import PurePath

import msgspec

from inductorscope.capturing.spec import CaptureSpec

FILE = "play.py"
MODEL = f"{FILE}:f"
"""The name of the function to compile."""
RESULT, PRINTED, RUN, CACHE = "result.json", "printed.txt", "run", "cache"
"""Files and folders of a try: its result, its output, the files of the run, and kernels that later
tries of the same person may use."""

CONFIG = {
    "epilogue_fusion": ("True", "False"),
    "max_fusion_size": ("64", "8", "1"),
    "realize_reads_threshold": ("4", "1", "16"),
    "split_reductions": ("True", "False"),
    "inplace_buffers": ("True", "False"),
    "allow_buffer_reuse": ("True", "False"),
    "loop_ordering_after_fusion": ("True", "False"),
    "layout_optimization": ("True", "False"),
    "fallback_random": ("False", "True"),
    "cpp.simdlen": ("None", "0", "128", "256", "512"),
    "cpp.threads": ("-1", "1"),
    "cpp.min_chunk_size": ("512", "1", "4096"),
    "triton.multi_kernel": ("0", "1"),
}
"""Keys of torch._inductor.config that the page offers, with values for each."""

_KERNEL = re.compile(
    rf"{CACHE}/([a-z0-9]{{2}}/\w{{1,80}}(\.main)?\.so|triton/\d{{1,2}}/[A-Z0-9]{{8,80}}/[\w.]{{1,150}})",
    re.ASCII,
)


def is_kernel(name: PurePath) -> bool:
    """Whether a file of a try, named from the try's folder, belongs to a compiled kernel."""
    return _KERNEL.fullmatch(str(name)) is not None


class Order(msgspec.Struct, frozen=True, tag="try"):
    """One try to compile."""

    spec: CaptureSpec
    code: str
    target: str
    """File for an archive of the try's files."""
    cache: str
    """Folder with kernels that earlier tries of the same person compiled."""
    seconds: int = 60
    """Time limit."""


class Ready(msgspec.Struct, frozen=True):
    """The warm process has imported torch."""

    protections: dict[str, str]
    """Each protection of a try → why it is missing here; empty if it is in place."""
    cuda: bool
    names: dict[str, list[str]]
    """Names for the editor's completion, by the module or class that has them."""


class Done(msgspec.Struct, frozen=True):
    """How a try's process ended."""

    stopped: str = ""
    """Why it was stopped, as a sentence; empty if it ended by itself."""


class Outcome(msgspec.Struct, frozen=True):
    """What a try reports about itself."""

    error: str = ""
    line: int | None = None
    """The line of the code at which it failed."""
    graphs: int = 0
    seconds: float = 0.0
    call_ms: float | None = None
    """Median time of a call, if asked for."""
