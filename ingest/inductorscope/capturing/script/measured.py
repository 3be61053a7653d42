"""Measures a script from inside: clock of the device, profiles, memory and CUDA graphs."""

import os
import resource
import time
from functools import wraps
from pathlib import Path

import torch
from torch.torch_version import TorchVersion

from inductorscope.capturing.inside.logging_text import FILE
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.measure.machine import Others, disturbs, others_sentence
from inductorscope.capturing.script.allocated import Allocations
from inductorscope.formats.capture_facts import COMPILED, CaptureFacts, CudaGraphs, ScriptSteps
from inductorscope.formats.log.cuda_graphs import skip_reasons
from inductorscope.formats.sizes import KIB

DETACHES_SINCE = "12.6"
"""The version of CUDA since which the profiler can detach beside CUDA graphs."""


class Clock:
    """Marks moments. On a GPU, marks are part of its queued work, so the script does not wait."""

    def __init__(self) -> None:
        self._last: Untyped = None
        self._stream: Untyped = None
        self._stream_number = -1

    @property
    def capturing(self) -> bool:
        """Whether the program is recording a CUDA graph."""
        return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())

    def mark(self) -> tuple[float, Untyped]:
        event = None
        if torch.cuda.is_initialized() and not self.capturing:
            event = torch.cuda.Event(enable_timing=True)
            event.record(self._current_stream())
            self._last = event
        return time.perf_counter(), event

    def _current_stream(self) -> Untyped:
        """Returns torch's object for the stream; making one takes longer than all else here."""
        number = torch._C._cuda_getCurrentRawStream(torch.cuda.current_device())
        if self._stream is None or self._stream_number != number:
            self._stream, self._stream_number = torch.cuda.current_stream(), number
        return self._stream

    def wait(self) -> None:
        """Waits until the device has reached the last mark."""
        if self._last is not None:
            self._last.synchronize()

    def ms(self, begin: tuple[float, Untyped] | None, end: tuple[float, Untyped]) -> float | None:
        """Returns the milliseconds between two marks."""
        if begin is None:
            return None
        if begin[1] is not None and end[1] is not None:
            return float(begin[1].elapsed_time(end[1]))
        return 1000 * (end[0] - begin[0])


class Profiles:
    """Profiles some steps of the script."""

    def __init__(self, label: str, folder: Path, facts: CaptureFacts) -> None:
        self._label = label
        self._folder = folder
        self._facts = facts
        self._profiler: Untyped = None
        self._steps = 0
        self._others: Others | None = None
        self.allocations = Allocations()

    def start(self, steps: int) -> bool:
        """Starts, unless the script profiles itself: torch has one profiler at a time."""
        from inductorscope.capturing.inside.profiling import make_profiler

        if torch.autograd._profiler_enabled():
            return False
        _detach_afterwards()
        _synchronize()
        self._profiler, self._steps = make_profiler(device(), steps), -1
        self._others = Others(os.getppid())
        self._profiler.start()
        if self._label == COMPILED:
            self.allocations.start()
        return True

    def step(self) -> None:
        if self._steps < 0:  # later, the script may work ahead; the profiler waits when it ends
            _synchronize()
        self._steps += 1
        self.allocations.stop(self._folder.parents[1])  # of the step that warms up the profiler
        self._profiler.step()

    def disturbed(self) -> bool:
        """Whether other processes disturbed it since it started."""
        return self._others is not None and disturbs(self._others.share(), device())

    def stop(self, *, keep: bool) -> None:
        """Ends the profile, and writes it if it contains a whole step."""
        from inductorscope.capturing.inside.profiling import write

        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        _synchronize()
        self.allocations.stop(self._folder.parents[1])
        profiler.stop()
        if keep and self._steps > 0:
            share = 0.0 if self._others is None else self._others.share()
            said = [others_sentence(share, "steps were profiled")]
            self._facts.disturbed = said if disturbs(share, device()) else []
            self._folder.mkdir(parents=True, exist_ok=True)
            self._facts.profiles[self._label] = write(
                self._label, profiler, self._steps, self._folder
            )


class Graphs:
    """Counts what CUDA graph trees do."""

    def __init__(self) -> None:
        self._counts = CudaGraphs()
        self._functions: set[object] = set()
        self._skips: list[str] = []
        """What torch says of functions that it runs without a graph, which it may not log."""

    def forget(self) -> None:
        """Resets the counts. A function recorded earlier still counts as recorded again."""
        self._counts = CudaGraphs()
        self._skips = []

    def follow(self, trees: Untyped) -> None:
        """Counts warm-ups, recordings and replays of torch._inductor.cudagraph_trees."""
        manager = trees.CUDAGraphTreeManager
        warm, record, execute = manager.run_eager, manager.record_function, manager.execute_node
        graphs, functions, warmed = self, self._functions, set[object]()

        @wraps(warm)
        def run_eager(self: Untyped, *args: Untyped) -> Untyped:
            graphs._counts.warmed += 1
            warmed.add(args[-1])
            graphs._counts.functions = len(warmed)
            return warm(self, *args)

        @wraps(record)
        def record_function(self: Untyped, inputs: Untyped, function: Untyped) -> Untyped:
            graphs._counts.recorded += 1
            graphs._counts.re_recorded += function in functions
            functions.add(function)
            return record(self, inputs, function)

        @wraps(execute)
        def execute_node(self: Untyped, *args: Untyped) -> Untyped:
            graphs._counts.replayed += 1
            return execute(self, *args)

        manager.run_eager = run_eager
        manager.record_function, manager.execute_node = record_function, execute_node
        skip = trees.log_cudagraph_skip_and_bump_counter

        @wraps(skip)
        def log_skip(message: str) -> None:
            graphs._skips.append(message)
            skip(message)

        trees.log_cudagraph_skip_and_bump_counter = log_skip

    def facts(self, out: Path) -> CudaGraphs | None:
        """Returns the counts and, from torch's logs in `out`, why functions ran without a graph."""
        logs, texts = out / FILE, self._skips
        if logs.is_file():
            texts = [*texts, logs.read_text(encoding="utf-8", errors="replace")]
        self._counts.skipped = skip_reasons("\n".join(texts))
        counts = self._counts
        return counts if counts.warmed or counts.recorded or counts.skipped else None


def memory_of(facts: ScriptSteps) -> None:
    """Fills in the peak memory of the process."""
    facts.resident_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    if torch.cuda.is_initialized():
        facts.allocated_bytes = torch.cuda.max_memory_allocated()
        facts.reserved_bytes = torch.cuda.max_memory_reserved()


def device() -> str:
    """Returns the device that the script uses. Inductor looks at a GPU in any case."""
    used = torch.cuda.is_initialized() and torch.cuda.max_memory_allocated()
    return "cuda" if used else "cpu"


def _detach_afterwards() -> None:
    """Makes the profiler detach from the GPU's driver when it ends. Otherwise each later kernel
    takes longer to start: steps of many short kernels took 23 % longer. Before CUDA 12.6, a program
    with CUDA graphs crashed by it."""
    if torch.version.cuda and TorchVersion(torch.version.cuda) >= DETACHES_SINCE:
        os.environ.setdefault("TEARDOWN_CUPTI", "1")


def _synchronize() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
