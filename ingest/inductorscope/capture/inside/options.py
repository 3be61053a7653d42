"""Options of torch, checked against the torch that will run, and set for the whole process."""

from __future__ import annotations

import ast
import importlib.util

from inductorscope.capture.inside.untyped import Untyped
from inductorscope.capture.spec import CaptureSpec, SpecError, near

# Keys worth recording even when nobody set them.
_RELEVANT = (
    "benchmark_kernel",
    "coordinate_descent_tuning",
    "cpp.enable_kernel_profile",
    "cpp.simdlen",
    "cpp.threads",
    "cpp_wrapper",
    "epilogue_fusion",
    "freezing",
    "fx_graph_cache",
    "max_autotune",
    "max_autotune_gemm",
    "shape_padding",
    "trace.provenance_tracking_level",
    "triton.cudagraphs",
    "triton.multi_kernel",
    "triton.unique_kernel_names",
)
_CANNOT_CHANGE = ("trace.enabled", "trace.debug_dir", "fx_graph_remote_cache", "trace.upload_tar")


def apply_options(spec: CaptureSpec) -> dict[str, str]:
    """Check the spec's options and set its config keys. Returns the config to record.

    Raises SpecError with a sentence for an option this torch does not know.
    """
    _check_device(spec)
    _check_backend(spec)
    if spec.replay_record and importlib.util.find_spec("dill") is None:
        raise SpecError("Replay records need the package dill, which is not installed.")
    from torch._inductor import config

    for key, text in spec.config.items():
        _set_everywhere(config, key, parse_value(config, key, text))
    return _effective(config, spec)


def parse_value(config: Untyped, key: str, text: str) -> Untyped:
    """A config key's value from its text, of the type the key has now."""
    known = config.get_config_copy()
    if key not in known:
        raise SpecError(f"torch._inductor.config has no key {key!r}.{near(key, known)}")
    if key in _CANNOT_CHANGE:
        raise SpecError(f"The key {key} is the capture's own; it cannot be changed.")
    now = known[key]
    if callable(now):
        raise SpecError(f"The key {key} takes a function, which cannot be written as text.")
    value = _literal(text, as_text=isinstance(now, str))
    return _fit(key, now, value)


def _literal(text: str, as_text: bool) -> Untyped:
    words = {"true": True, "false": False, "none": None, "null": None, "on": True, "off": False}
    if text.strip().lower() in words and not (as_text and text.strip().lower() in {"on", "off"}):
        return words[text.strip().lower()]
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _fit(key: str, now: Untyped, value: Untyped) -> Untyped:
    """The value in the type of the present one; a sentence when it cannot be."""
    if now is None or value is None:
        return value
    if isinstance(now, bool):
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
    elif isinstance(now, str):
        return str(value)
    elif isinstance(now, float):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif isinstance(now, int):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif isinstance(now, tuple | list | set):
        if isinstance(value, tuple | list | set):
            return type(now)(value)
    elif isinstance(value, type(now)):
        return value
    raise SpecError(f"The key {key} takes a value like {now!r}, not {value!r}.")


def _set_everywhere(config: Untyped, key: str, value: Untyped) -> None:
    """Set a key for this thread and, where torch keeps overrides per thread, for all others.

    On a GPU the backward graph is compiled on an autograd thread, which would otherwise see the
    default.
    """
    target, *path = key.split(".")
    holder = config
    for part in path:
        holder = getattr(holder, target)
        target = part
    setattr(holder, target, value)
    entry = getattr(config, "_config", {}).get(key)
    if entry is not None and hasattr(entry, "default"):
        entry.default = value


def _effective(config: Untyped, spec: CaptureSpec) -> dict[str, str]:
    now = config.get_config_copy()
    keys = sorted({*_RELEVANT, *spec.config} & now.keys())
    return {key: str(now[key]) for key in keys}


def _check_device(spec: CaptureSpec) -> None:
    if spec.device == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise SpecError(
            f"This torch ({torch.__version__}) sees no CUDA device, so nothing can be captured "
            f"on {spec.device}."
        )
    index = int(spec.device.partition(":")[2] or 0)
    count = torch.cuda.device_count()
    if index >= count:
        raise SpecError(f"There is no {spec.device}: this machine has {count} CUDA device(s).")


def _check_backend(spec: CaptureSpec) -> None:
    import torch._dynamo

    backends = torch._dynamo.list_backends(exclude_tags=())
    if spec.backend not in backends:
        raise SpecError(
            f"This torch has no back end {spec.backend!r}.{near(spec.backend, backends)} "
            f"It has {', '.join(backends)}."
        )
