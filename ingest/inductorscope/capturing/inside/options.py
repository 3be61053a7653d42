"""Checks torch's options against the torch that will run, and sets them for the whole process.

Torch trusts its configuration: text options end up on the command lines of compilers, in paths and
in generated code. Requests from the web may therefore set only numbers, switches and a few texts
with known words. The allowed options are listed, not the forbidden ones, because torch gains
options with every release.
"""

import ast
import typing

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.permission import NotAllowed
from inductorscope.capturing.spec import CaptureSpec, SpecError, suggestion

# Keys that are recorded even if the capture does not set them.
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

# Keys that requests from the web may set, in addition to those whose value is a number or a switch.
_BACKENDS = ("inductor", "eager", "aot_eager", "aot_eager_decomp_partition", "cudagraphs")
_WORDS = {
    "max_autotune_conv_backends": {"ATEN", "TRITON"},
    "max_autotune_flex_search_space": {"DEFAULT", "EXHAUSTIVE"},
    "max_autotune_gemm_backends": {"ATEN", "CPP", "TRITON"},
    "max_autotune_gemm_search_space": {"DEFAULT", "EXHAUSTIVE"},
}
_PLAIN = (bool, int, float, type(None))
_WRITES_ELSEWHERE = ("save_args",)


def apply_options(spec: CaptureSpec, *, trusted: bool) -> dict[str, str]:
    """Checks the spec's options and sets its config keys. Returns the config to record.

    Raises SpecError for an option that this torch does not know, NotAllowed for one that only a
    user at the machine may set. Sets nothing unless all options are valid.
    """
    _check_device(spec)
    _check_backend(spec, trusted)
    from torch._inductor import config

    values = {
        key: parse_value(config, key, text, trusted=trusted) for key, text in spec.config.items()
    }
    for key, value in values.items():
        set_everywhere(config, key, value)
    return effective_config(spec)


def parse_value(config: Untyped, key: str, text: str, *, trusted: bool) -> Untyped:
    """Parses a config key's value from text, in the type of its current value.

    Unless `trusted`, only a number, a switch, None or a known word is accepted.
    """
    known = config.get_config_copy()
    if key not in known:
        raise SpecError(f"torch._inductor.config has no key {key!r}.{suggestion(key, known)}")
    if key in _CANNOT_CHANGE:
        raise SpecError(f"The capture sets the key {key} itself; it cannot be changed.")
    now = known[key]
    if not trusted:
        _check_key(config, key, now)
    if callable(now):
        raise SpecError(f"The key {key} takes a function, which cannot be written as text.")
    value = _fit(key, now, _literal(text, as_text=isinstance(now, str)))
    if not trusted:
        _check_value(key, value)
    return value


def _check_key(config: Untyped, key: str, now: Untyped) -> None:
    """Refuses keys that affect more than the generated code."""
    if "remote" in key:
        raise _refusal(key, "it lets torch exchange compiled code with other machines")
    if key in _WRITES_ELSEWHERE:
        raise _refusal(key, "it lets torch write outside the capture's folder")
    if key in _WORDS:
        return
    # What a key takes that is None now, is declared.
    kinds = typing.get_args(config.get_type(key)) if now is None else (type(now),)
    if not kinds or not all(kind in _PLAIN for kind in kinds):
        raise _refusal(
            key, "torch may put its text into a command line, a path or code, and run that"
        )


def _check_value(key: str, value: Untyped) -> None:
    if key in _WORDS:
        words = value.split(",") if isinstance(value, str) else [""]
        if any(word.strip().upper() not in _WORDS[key] for word in words):
            known = ", ".join(sorted(_WORDS[key]))
            raise _refusal(key, f"only {known} are accepted from there, separated by commas")
    elif type(value) not in _PLAIN:
        raise _refusal(key, "only a number, True, False or None is accepted from there")


def _refusal(key: str, why: str) -> NotAllowed:
    return NotAllowed(
        f"The key {key} may not be set so from the web: {why}. Run it from the command line on the "
        f"machine (inductorscope capture … --config {key}=…)."
    )


def _literal(text: str, as_text: bool) -> Untyped:
    words = {"true": True, "false": False, "none": None, "null": None, "on": True, "off": False}
    if text.strip().lower() in words and not (as_text and text.strip().lower() in {"on", "off"}):
        return words[text.strip().lower()]
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _fit(key: str, now: Untyped, value: Untyped) -> Untyped:
    """Converts a value to the type of the current one. Raises SpecError if that is impossible."""
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


def set_everywhere(config: Untyped, key: str, value: Untyped) -> None:
    """Sets a key for this thread and, if torch keeps overrides per thread, for all others.

    On a GPU, the backward graph is compiled in an autograd thread, which would otherwise see the
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


def effective_config(spec: CaptureSpec) -> dict[str, str]:
    """Returns the config keys to record: the relevant ones and those that the spec sets."""
    from torch._inductor import config

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
        raise SpecError(
            f"The device {spec.device} does not exist: CUDA devices on this machine: {count}."
        )


def _check_backend(spec: CaptureSpec, trusted: bool) -> None:
    import torch._dynamo

    backends = torch._dynamo.list_backends(exclude_tags=())
    if spec.backend not in backends:
        raise SpecError(
            f"This torch has no back end {spec.backend!r}.{suggestion(spec.backend, backends)} "
            f"It has {', '.join(backends)}."
        )
    if not trusted and spec.backend not in _BACKENDS:
        raise NotAllowed(
            f"The back end {spec.backend} may not be chosen from the web: it could run other "
            f"programs; {', '.join(_BACKENDS)} may. Run it from the command line on the machine "
            f"(inductorscope capture … --backend {spec.backend})."
        )
