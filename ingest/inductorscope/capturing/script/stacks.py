"""Finds the program's functions whose operators keep a GPU busy.

The host only queues kernels, so the line that it is in says nothing of them. Python's stacks do,
but recording them takes long, so one step is enough.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity

from inductorscope.analyze.failures.fold import is_library
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.script.sampling import COMPILED, MOST_LINES
from inductorscope.formats.capture_facts import LineShare

LONGEST_STEP_S = 1.0
"""The stacks of a longer step need too much memory."""
_FRAME = re.compile(r"([^()\n]{1,4096})\((\d{1,7})\): ")


class Stacks:
    """Profiles a step with its stacks."""

    def __init__(self) -> None:
        self._profiler = torch.profiler.profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
            with_stack=True,
            experimental_config=_ExperimentalConfig(verbose=True),  # else events have no stack
        )
        self._profiler.start()

    def stop(self) -> list[LineShare]:
        """Returns the first lines of functions outside of compiled code, with the share of all
        kernels that their operators launch; the longest first."""
        self._profiler.stop()
        return functions(self._profiler.profiler.kineto_results.events())


def functions(events: Iterable[Untyped]) -> list[LineShare]:
    kernels, operators = defaultdict[int, float](float), list[Untyped]()
    for event in events:
        if event.device_type() != DeviceType.CPU:
            if not event.is_user_annotation():
                kernels[event.linked_correlation_id()] += event.duration_ns()
        elif not event.linked_correlation_id():
            operators.append(event)
    whole = sum(kernels.values())
    kernels.pop(0, None)  # those that no operator launched
    places = defaultdict[tuple[str, int], float](float)
    for event, stack in with_stacks(operators):
        if event.correlation_id() in kernels and (place := place_of(stack)):
            places[place] += kernels[event.correlation_id()]
    shares = [LineShare(*place, spent / whole) for place, spent in places.items()]
    return sorted(shares, key=lambda share: -share.share)[:MOST_LINES]


def with_stacks(operators: list[Untyped]) -> Iterator[tuple[Untyped, list[str]]]:
    """Yields each operator with its stack; one of a backward pass with that of the forward
    operator, the last one of its sequence number, because others may have run before it."""
    operators.sort(key=lambda event: (event.start_thread_id(), event.start_ns()))
    forward = {
        (event.start_thread_id(), event.sequence_nr()): event.stack()
        for event in operators
        if event.sequence_nr() >= 0 and not event.fwd_thread_id()
    }
    thread, ends, stack = 0, 0, list[str]()
    for event in operators:
        if event.fwd_thread_id() and event.sequence_nr() >= 0:
            thread, ends = event.start_thread_id(), event.end_ns()
            stack = forward.get((event.fwd_thread_id(), event.sequence_nr()), [])
        inside = event.start_thread_id() == thread and event.start_ns() < ends
        yield event, stack if inside else event.stack()


def place_of(stack: list[str]) -> tuple[str, int] | None:
    """Returns file and first line of the innermost function in the user's files; None within
    compiled code."""
    for frame in stack:
        found = _FRAME.match(frame)
        if found is None:
            continue
        path = _whole(found[1])
        if any(part in path for part in COMPILED):
            return None
        if not is_library(path):
            return path, int(found[2])
    return None


def _whole(path: str) -> str:
    """Returns a path from which the profiler has cut the folder of Python's search path."""
    found = (Path(folder, path) for folder in sys.path if Path(folder, path).is_file())
    return str(next(found, path))
