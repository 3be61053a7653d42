"""Records torch's own reports on compiling: `torch._dynamo.explain` and `compile_times()`."""

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch._dynamo.utils import compile_times

from inductorscope.capturing.inside.loading import Model
from inductorscope.capturing.inside.untyped import Untyped
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
    """Returns `compile_times()` in both forms: the printed text and the columns."""
    headers, rows = compile_times(repr="csv")
    seconds = {
        name: [float(part) for part in str(row).split(",") if part.strip()]
        for name, row in zip(headers, rows, strict=True)
    }
    return CompileTimes(compile_times(repr="str"), seconds)


def explain(model: Model) -> Explained:
    """Runs the model again under `torch._dynamo.explain`, without a trace in the capture's logs.

    This comes last, because it discards all compiled code before and after.
    """
    outputs: list[Untyped] = []

    def explained(*args: Untyped, **kwargs: Untyped) -> Untyped:
        outputs.append(torch._dynamo.explain(model.function)(*args, **kwargs))
        raise _EnoughError  # explain's result is no output to start backward from

    started = time.perf_counter()
    try:
        with _unrecorded():
            model.step(explained)()
    except _EnoughError:
        pass
    except Exception as error:  # noqa: BLE001  # the model is a user's code and may raise anything
        return Explained(failed=f"{type(error).__name__}: {error}"[:LONGEST])
    finally:
        torch._dynamo.reset()
    return _explained(outputs[0], time.perf_counter() - started)


class _EnoughError(Exception):
    """Stops the model once the explanation is complete."""


def _explained(output: Untyped, seconds: float) -> Explained:
    return Explained(
        graphs=output.graph_count,
        breaks=output.graph_break_count,
        ops=output.op_count,
        ops_per_graph=[
            dict(Counter(map(_name, ops)).most_common()) for ops in output.ops_per_graph or []
        ],
        reasons=[
            ExplainedBreak(str(reason.reason)[:LONGEST], _frames(reason.user_stack))
            for reason in output.break_reasons[:MOST_BREAKS]
            if reason.graph_break
        ],
        guards=len(output.out_guards or []),
        seconds=seconds,
    )


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
    """Disables TORCH_TRACE and the debug folder inside the context."""
    trace = logging.getLogger("torch.__trace")
    handlers, debug = trace.handlers[:], os.environ.pop("TORCH_COMPILE_DEBUG", None)
    trace.handlers.clear()
    try:
        yield
    finally:
        trace.handlers[:] = handlers
        if debug is not None:
            os.environ["TORCH_COMPILE_DEBUG"] = debug
