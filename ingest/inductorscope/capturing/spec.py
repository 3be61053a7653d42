"""Describes what to capture and with which options. Torch-free; every refusal is a sentence.

The child checks torch's own options (`config` keys, back ends) against the torch that will run;
this module checks everything that does not need torch.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from inductorscope.analyze.roofline.devices import PRETENDED, device_peaks
from inductorscope.capturing.builtin import BY_NAME, NAMES
from inductorscope.errors import USAGE, InWords
from inductorscope.formats.call_shapes import read_shapes
from inductorscope.formats.change import MODES, Change

ModelKind = Literal["built-in", "factory", "script"]

LAUNCHERS = {
    "python": (),
    "torchrun": ("-m", "torch.distributed.run"),
    "accelerate": ("-m", "accelerate.commands.accelerate_cli"),
}
"""Programs that start scripts, and how Python runs them."""
DTYPES = ("float32", "float64", "bfloat16", "float16")
LONGEST_SECONDS = 600.0
MOST_REPEATS = 10_000
MOST_ENTRIES = 200
LONGEST_TEXT = 4096
LONGEST_TITLE = 100

_DEVICE = re.compile(r"cpu|cuda(:\d{1,2})?")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_CONFIG_KEY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_BACKEND = re.compile(r"[A-Za-z_][\w.-]*")


class SpecError(InWords, ValueError):
    """The description of a capture is invalid; the message is a sentence for the user."""

    exit_code = USAGE


class CaptureSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A capture: a model and the options with which it is compiled and measured."""

    model: str
    """A built-in model's name, `package.module:factory`, `file.py:factory`, a script's path, or a
    launcher of scripts."""
    args: tuple[str, ...] = ()
    """Arguments of the script or launcher, or text arguments of the factory."""
    name: str | None = None
    """Name of the run; None: the model's name."""
    device: str = "cpu"
    dtype: str | None = None
    """Type to which parameters and floating-point inputs are converted; None: no conversion."""
    train: bool = False
    """Run forward and backward, instead of inference only."""
    dynamic: bool | None = None
    mode: str | None = None
    backend: str = "inductor"
    config: dict[str, str] = msgspec.field(default_factory=dict)
    """Keys of torch._inductor.config and their values, as Python literals."""
    values: bool = False
    """Record the values each kernel reads and writes, in an extra call after all measuring."""
    source: bool = True
    """Keep a copy of the user's source files that stack frames name."""
    record: bool = True
    """Record exactly which operation wrote which line of the generated code."""
    profile: bool | None = None
    """Profile eager and compiled; None: yes."""
    seconds: float = 10.0
    """Time to spend on timing eager and compiled together."""
    repeats: int | None = None
    """Exact number of samples, instead of as many as fit into `seconds`."""
    eager: bool | None = None
    """Run a script again without torch.compile. None: if it takes less than a minute."""
    steps_after: int = 0
    """Steps that a script may run after everything is measured, before it is ended."""
    full: bool = False
    """Let a script run to its end."""
    measure: bool = True
    """Run, time and profile the model in eager and compiled. Without it, it is only compiled."""
    pretend: str | None = None
    """GPU to compile for, such as `NVIDIA H100`. This machine need not have it; kernels do not
    run."""
    shapes: str = ""
    """Further arguments to call the compiled model with, as `formats.call_shapes` reads them."""
    change: Change | None = None
    """What a trial changes in the program while it runs."""
    only_timed: bool = False
    """Only time steps: torch writes no logs, and takes compiled graphs from its cache."""
    results: bool = False
    """Record samples of what the first steps compute, with fixed seeds, to compare them."""

    def __post_init__(self) -> None:
        _check_text("model", self.model)
        for text in (*self.args, *self.config, *self.config.values()):
            _check_text("option", text, empty=True)
        if self.name is not None:
            _check_text("name", self.name)
        _check_model(self)
        _check_measuring(self)
        _check_compiling(self)
        if self.change is not None and (problem := self.change.problem()):
            raise SpecError(problem)
        if self.kind == "script":
            _check_script(self)

    @property
    def kind(self) -> ModelKind:
        return kind_of(self.model)

    @property
    def title(self) -> str:
        """Default name of the run."""
        if self.name:
            return self.name
        model = self.model
        if model in LAUNCHERS:
            named = (word for word in self.args if word.endswith(".py"))
            model = next(named, " ".join([model, *self.args])[:LONGEST_TITLE])
        base = model.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{base} training" if self.train else base

    @property
    def profiles(self) -> bool:
        return self.profile is not False

    @property
    def measures(self) -> bool:
        return self.measure and self.pretend is None

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    def to_builtins(self) -> dict[str, Any]:
        """Returns plain JSON values, as recorded with the run."""
        return dict(msgspec.to_builtins(self))


def from_json(data: bytes | str) -> CaptureSpec:
    """Decodes a spec from JSON text. Raises SpecError with a sentence."""
    try:
        return msgspec.json.decode(data, type=CaptureSpec)
    except msgspec.DecodeError as error:
        raise SpecError(_sentence(str(error))) from None


def from_builtins(values: dict[str, Any]) -> CaptureSpec:
    """Converts plain JSON values to a spec. Raises SpecError with a sentence."""
    try:
        return msgspec.convert(values, type=CaptureSpec)
    except msgspec.ValidationError as error:
        raise SpecError(_sentence(str(error))) from None


def kind_of(model: str) -> ModelKind:
    """Returns a model's kind: scripts end in .py, factories have a colon, others are built in.

    A launcher counts as the script that it starts.
    """
    if model.endswith(".py") or model in LAUNCHERS:
        return "script"
    return "factory" if ":" in model else "built-in"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns ' Did you mean …?' if a known name is spelled similarly, else ''."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else text + "."


def _check_text(what: str, text: str, empty: bool = False) -> None:
    if not text and not empty:
        raise SpecError(f"The {what} is empty.")
    if len(text) > LONGEST_TEXT:
        raise SpecError(f"The {what} is longer than {LONGEST_TEXT} characters.")
    if any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in text):
        raise SpecError(f"The {what} contains control characters.")


def _check_model(spec: CaptureSpec) -> None:
    if len(spec.args) > MOST_ENTRIES:
        raise SpecError(f"There are {len(spec.args)} arguments; the limit is {MOST_ENTRIES}.")
    if spec.kind == "factory":
        _check_factory(spec.model)
    elif spec.kind == "built-in":
        built_in = BY_NAME.get(spec.model)
        if built_in is None:
            raise SpecError(
                f"There is no built-in model {spec.model!r}.{suggestion(spec.model, NAMES)} "
                f"The built-in models are {', '.join(NAMES)}. For your own model, write "
                "package.module:factory, file.py:factory or the path of a script."
            )
        if spec.args:
            raise SpecError(f"The built-in model {spec.model} takes no arguments.")
        if spec.train and not built_in.trains:
            raise SpecError(f"The built-in model {spec.model} has nothing to train.")


def _check_factory(model: str) -> None:
    module, _, factory = model.rpartition(":")
    if not _IDENTIFIER.fullmatch(factory):
        raise SpecError(f"{factory!r} in {model!r} is not the name of a function.")
    if not module.endswith(".py") and not _MODULE.fullmatch(module):
        raise SpecError(f"{module!r} in {model!r} is neither the name of a module nor a file.py.")


def _check_measuring(spec: CaptureSpec) -> None:
    if not _DEVICE.fullmatch(spec.device):
        raise SpecError(f"The device is {spec.device!r}; it must be cpu, cuda or cuda:N.")
    if spec.dtype is not None and spec.dtype not in DTYPES:
        raise SpecError(f"The dtype is {spec.dtype!r}; it must be one of {', '.join(DTYPES)}.")
    if not 0 < spec.seconds <= LONGEST_SECONDS:  # also refuses NaN
        raise SpecError(
            f"The timing budget is {spec.seconds:g} s; it must be above 0 and at most "
            f"{LONGEST_SECONDS:g} s."
        )
    if spec.steps_after < 0:
        raise SpecError(
            f"The number of steps after is {spec.steps_after}; it must not be negative."
        )
    if spec.repeats is not None and not 1 <= spec.repeats <= MOST_REPEATS:
        raise SpecError(f"The number of repeats is {spec.repeats}; it must be 1 to {MOST_REPEATS}.")


def _check_compiling(spec: CaptureSpec) -> None:
    if not _BACKEND.fullmatch(spec.backend):
        raise SpecError(f"{spec.backend!r} is not the name of a back end.")
    if spec.mode is not None and spec.mode not in MODES:
        raise SpecError(
            f"The mode is {spec.mode!r}; it must be one of {', '.join(MODES)}."
            + suggestion(spec.mode, MODES)
        )
    if spec.backend != "inductor" and spec.mode not in (None, "default"):
        raise SpecError(f"The mode {spec.mode} belongs to inductor, not to {spec.backend}.")
    if len(spec.config) > MOST_ENTRIES:
        raise SpecError(f"There are {len(spec.config)} config keys; the limit is {MOST_ENTRIES}.")
    for key in spec.config:
        if not _CONFIG_KEY.fullmatch(key):
            raise SpecError(f"{key!r} is not the name of an Inductor option.")
    if spec.pretend is not None:
        _check_pretending(spec)
    if problem := read_shapes(spec.shapes).problem:
        raise SpecError(problem)


def _check_pretending(spec: CaptureSpec) -> None:
    peaks = device_peaks(spec.pretend)
    if peaks is None or peaks.chip is None:
        raise SpecError(
            f"The GPU {spec.pretend!r} is not known; it may be one of {', '.join(PRETENDED)}."
        )
    if spec.device != "cuda:0" or spec.train or "max" in (spec.mode or ""):
        raise SpecError(
            f"{spec.pretend} is compiled for as cuda:0, without training and without max-autotune, "
            "which times kernels."
        )


def _check_script(spec: CaptureSpec) -> None:
    """Refuses options that a script, which calls torch.compile itself, would not see."""
    plain = CaptureSpec(model=NAMES[0])
    for option in (
        "device", "dtype", "train", "dynamic", "mode", "backend", "repeats", "values", "shapes",
        "pretend",
    ):  # fmt: skip
        if getattr(spec, option) != getattr(plain, option):
            raise SpecError(
                f"A script controls {option} itself. Leave the option out, or use a factory "
                "(file.py:factory) instead of a script."
            )
