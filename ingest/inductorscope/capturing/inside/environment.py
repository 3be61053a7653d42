"""Sets the environment that torch reads at import. Torch-free; must run before torch is imported.

The child sets everything itself, so that running it by hand captures in the same way.
"""

import os
from pathlib import Path

from inductorscope.capturing.spec import CaptureSpec
from inductorscope.processes import memory
from inductorscope.settings import PREFIX

DEBUG_FOLDER = "torch_compile_debug"
TRACE_FOLDER = "torch_trace"

_RECORDED = (
    "CUBLAS_",
    "CUDA_",
    "GOMP_",
    "INDUCTOR_",
    "KMP_",
    "LD_PRELOAD",
    "MALLOC_CONF",
    "MKL_",
    "OMP_",
    "PYTORCH_",
    "TORCH",
    "TRITON_",
)
_SECRET = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "API_KEY")


def prepare(spec: CaptureSpec, out: Path, cache: Path, reuse_cache: bool) -> None:
    """Sets the variables that torch reads at import, and makes the folder of its logs."""
    os.environ.update(variables(spec, out, cache, reuse_cache))
    (out / TRACE_FOLDER).mkdir(parents=True, exist_ok=True)


def variables(spec: CaptureSpec, out: Path, cache: Path, reuse_cache: bool) -> dict[str, str]:
    """Returns the variables with which torch records what it compiles."""
    wanted = {
        "TORCH_COMPILE_DEBUG": "1",
        "TORCH_COMPILE_DEBUG_DIR": str(out),
        "TORCH_TRACE": str(out / TRACE_FOLDER),
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "TORCHINDUCTOR_UNIQUE_KERNEL_NAMES": "1",
        "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": "1",
    }
    if spec.only_timed:
        for name in ("TORCH_COMPILE_DEBUG", "TORCH_COMPILE_DEBUG_DIR", "TORCH_TRACE"):
            del wanted[name]
    elif reuse_cache:  # compiled kernels may be reused, but code must be generated again
        wanted["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"
        wanted["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"
    if spec.pretend:  # in place of a GPU on this machine
        wanted["CUDA_VISIBLE_DEVICES"] = ""
    if spec.kind == "built-in":
        wanted["HF_HUB_OFFLINE"] = "1"
    return wanted


def forget_settings() -> None:
    """Removes Inductorscope's settings, some of which are secrets, before torch can write them
    anywhere. The usual parent passes none; a user who runs the child by hand may."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]


def recorded() -> dict[str, str]:
    """Returns the environment variables that can change what torch does."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(_RECORDED) and not any(word in name for word in _SECRET)
    }


def limit_memory(limit: int | None, device: str) -> None:
    """Bounds the address space of a CPU capture, beyond what torch has already mapped.

    An allocation over the limit then fails with torch's own message, without waiting for the
    parent's watchdog. CUDA reserves address space for all devices, so such a bound would say
    nothing about memory; there only the watchdog applies.
    """
    if limit is not None and device == "cpu":
        memory.limit_growth(limit)
