"""What torch says of compiling by itself: `torch._dynamo.explain` and `compile_times()`."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch._dynamo.utils import compile_times

from inductorscope.capture.inside.loading import Model
from inductorscope.capture.inside.untyped import Untyped
from inductorscope.formats.capture_facts import (
    CompileTimes,
    Explained,
    ExplainedBreak,
    ExplainedFrame,
)

MOST_BREAKS = 500
MOST_FRAMES = 60
LONGEST = 4000


def times_so_far() -> CompileTimes:
    """`compile_times()` in both of its forms: the text that it prints, and its columns."""
    headers, rows = compile_times(repr="csv")
    seconds = {
        name: [float(part) for part in str(row).split(",") if part.strip()]
        for name, row in zip(headers, rows, strict=True)
    }
    return CompileTimes(compile_times(repr="str"), seconds)


def explain(model: Model) -> Explained:
    """Run the model once more under `torch._dynamo.explain`, without a trace in the capture's logs.

    Only when all else is done: it forgets what was compiled, before and after.
    """
    found: list[Untyped] = []

    def explained(*args: Untyped, **kwargs: Untyped) -> Untyped:
        found.append(torch._dynamo.explain(model.function)(*args, **kwargs))
        raise _EnoughError  # what explain returns is no output to go backward from

    started = time.perf_counter()
    try:
        with _unrecorded():
            model.step(explained)()
    except _EnoughError:
        pass
    except Exception as error:  # noqa: BLE001  # the model is anybody's code: any may come
        return Explained(failed=f"{type(error).__name__}: {error}"[:LONGEST])
    finally:
        torch._dynamo.reset()
    return _told(found[0], time.perf_counter() - started)


class _EnoughError(Exception):
    """The explanation is there."""


def _told(output: Untyped, seconds: float) -> Explained:
    return Explained(
        graphs=output.graph_count,
        breaks=output.graph_break_count,
        ops=output.op_count,
        ops_per_graph=[_counted(ops) for ops in output.ops_per_graph or []],
        reasons=[
            ExplainedBreak(str(one.reason)[:LONGEST], _frames(one.user_stack))
            for one in output.break_reasons[:MOST_BREAKS]
            if one.graph_break
        ],
        guards=len(output.out_guards or []),
        seconds=seconds,
    )


def _counted(ops: Untyped) -> dict[str, int]:
    """How often each operator is in a graph."""
    return dict(Counter(_name(op) for op in ops).most_common())


def _name(op: Untyped) -> str:
    module, name = getattr(op, "__module__", None), getattr(op, "__name__", None)
    if name is None:
        return str(op)[:200]
    return f"{module}.{name}" if module and module not in {"builtins", "_operator"} else str(name)


def _frames(stack: Untyped) -> list[ExplainedFrame]:
    return [
        ExplainedFrame(frame.filename, frame.lineno or 0, frame.name, frame.line or "")
        for frame in list(stack)[-MOST_FRAMES:]
    ]


@contextmanager
def _unrecorded() -> Iterator[None]:
    """Neither TORCH_TRACE nor the debug folder gets what happens inside."""
    trace = logging.getLogger("torch.__trace")
    handlers, debug = trace.handlers[:], os.environ.pop("TORCH_COMPILE_DEBUG", None)
    trace.handlers.clear()
    try:
        yield
    finally:
        trace.handlers[:] = handlers
        if debug is not None:
            os.environ["TORCH_COMPILE_DEBUG"] = debug
