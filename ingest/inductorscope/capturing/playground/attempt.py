"""Compiles a try's code in its own process, and writes what torch recorded."""

import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Never

import torch
from torch._inductor import config

from inductorscope.capturing.child import compiled
from inductorscope.capturing.inside import sources
from inductorscope.capturing.inside.compiled import keep_compiled
from inductorscope.capturing.inside.compiling import recording
from inductorscope.capturing.inside.loading import convert
from inductorscope.capturing.inside.logging_text import keep_logs
from inductorscope.capturing.inside.machine import describe_machine
from inductorscope.capturing.inside.options import apply_options
from inductorscope.capturing.inside.profiling import synchronizer
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.inside.timing import interleave
from inductorscope.capturing.inside.untyped import Call, Untyped
from inductorscope.capturing.playground.order import FILE, Outcome
from inductorscope.capturing.script import records
from inductorscope.capturing.spec import CaptureSpec, SpecError
from inductorscope.formats.capture_facts import COMPILED, CaptureFacts

MOST_CALLS = 20
TIMED_S = 0.3
"""Seconds for which calls are timed, if asked for."""
COMPILED_AT_ONCE = 4
"""C++ kernels that a try may compile at the same time."""
_LONGEST_MESSAGE = 4000
# ' File "/play/play.py", line 7, in f', as torch quotes the user's code
_PLACE = re.compile(rf'File "[^"\n]*/{re.escape(FILE)}", line (\d+)')


def attempt(spec: CaptureSpec, code: str, file: Path, out: Path) -> Outcome:
    """Runs the code and its function under torch.compile; writes the files of the run to `out`."""
    begin = time.perf_counter()
    facts = CaptureFacts(state="complete", name=spec.title, options=spec.to_builtins())
    facts.model = spec.model
    error, line = "", None
    try:
        if spec.device == "cpu":
            config.compile_threads = COMPILED_AT_ONCE
            # The memory limit keeps CUDA from starting, which torch reports as "out of memory".
            torch.cuda._lazy_init = _no_gpu
            warnings.filterwarnings("ignore", "CUDA initialization")
        # Torch counts GPUs with NVML first, which no try can reach.
        warnings.filterwarnings("ignore", "Can't initialize NVML")
        facts.config = apply_options(spec, trusted=False)
        describe_machine(facts, spec.device)
        keep_logs(out)
        compiling = recording(spec)
        with records.recording(out):
            call, synchronize = _call(spec, _module(code, file))
        compiling.write(facts, out)
        facts.first_call_s = time.perf_counter() - begin
        if spec.measure:
            facts.timings = interleave({COMPILED: call}, synchronize, TIMED_S, None, Reporter(None))
        keep_compiled(Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]), out)
    except BaseException as failure:  # noqa: BLE001  # the code may raise anything
        error, line = _message(failure), _line(failure, file)
    facts.first_call_s = facts.first_call_s or time.perf_counter() - begin
    facts.sources = sources.keep_sources(out, [str(file)])
    facts.write(out)
    graphs = sum(1 for _ in out.glob("**/output_code.py"))
    timing = facts.timings.get(COMPILED)
    return Outcome(
        error, line, graphs, facts.first_call_s, timing.median_ms if timing else None
    )  # fmt: skip


def _no_gpu() -> Never:
    raise SpecError(
        "The code uses a GPU, and this try runs without one. Choose cuda as its device; if the "
        "page does not offer it, this server has no GPU for tries."
    )


def _module(code: str, file: Path) -> ModuleType:
    module = ModuleType("play")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    exec(compile(code, str(file), "exec"), module.__dict__)  # noqa: S102  # its purpose
    return module


def _call(spec: CaptureSpec, module: ModuleType) -> tuple[Call, Callable[[], None]]:
    """Calls the compiled function with each of the inputs. Returns the last call, and what waits
    for the device."""
    function = getattr(module, "f", None)
    inputs = getattr(module, "inputs", None)
    if not callable(function):
        raise SpecError("The code defines no function or module f, which is what is compiled.")
    if inputs is None:
        raise SpecError(
            "The code defines no inputs: the arguments of f as a tuple, or a list of such tuples, "
            "for one call after another."
        )
    calls = inputs if isinstance(inputs, list) else [inputs]
    step = compiled(spec, convert(function, spec))
    args: tuple[Any, ...] = ()
    for given in calls[:MOST_CALLS]:
        args = convert(given if isinstance(given, tuple) else (given,), spec)
        step(*args)
    synchronize = synchronizer(spec.device)
    synchronize()
    return lambda: step(*args), synchronize


def _message(failure: BaseException) -> str:
    if isinstance(failure, SpecError):
        return str(failure)
    name = type(failure).__name__
    words = failure.msg if isinstance(failure, SyntaxError) else failure  # the line is known
    return f"{name}: {words}"[:_LONGEST_MESSAGE]


def _line(failure: BaseException, file: Path) -> int | None:
    """Returns the innermost line of the code at which it failed."""
    if isinstance(failure, SyntaxError) and failure.filename == str(file):
        return failure.lineno
    quoted = _PLACE.findall(str(failure))
    if quoted:
        return int(quoted[-1])
    frames: list[Untyped] = traceback.extract_tb(failure.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return lines[-1] if lines else None
