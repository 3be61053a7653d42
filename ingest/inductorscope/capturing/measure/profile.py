"""A profiled step of a fresh process, in parts that do not overlap. Torch-free."""

from __future__ import annotations

import re
from typing import Any

import msgspec

COMPILED_CODE, PYTHON = "calling compiled code", "Python outside of operators"
"""Parts of a step on a processor in which no kernel and no operator runs."""
_GRAPH = re.compile(r"^graph_\d+_(?=cpp_)")
"""What the profiler puts before the name of a C++ kernel."""
_RUNTIME = (
    "Torch-Compiled Region", "TorchDynamo Cache Lookup", "Pregraph bytecode", "Inductor Lookup",
    "AOTDispatcher Runtime Wrapper", "## Call CompiledFxGraph", "CompiledFunction",
    "autograd::engine::evaluate_function: CompiledFunction",
)  # fmt: skip
_STEP = "ProfilerStep"


class Profiled(msgspec.Struct, frozen=True):
    """µs of a step."""

    kernels: dict[str, float] = {}
    """By kernel, or by operator with what it calls."""
    work: float = 0.0
    """Of all kernels and operators together, each once."""
    around: dict[str, float] = {}
    """By part of the step around them. Empty on a GPU, which idles then."""


def profiled(rows: list[dict[str, Any]], steps: int) -> Profiled:
    """From rows of `key_averages`."""
    on_gpu = any(row["device"] != "cpu" for row in rows)
    kernels: dict[str, float] = {}
    around = {} if on_gpu else dict.fromkeys((COMPILED_CODE, PYTHON), 0.0)
    work = 0.0
    for row in rows:
        name = str(row["name"])
        part = COMPILED_CODE if name.startswith(_RUNTIME) else PYTHON
        if row["user_annotation"] or part == COMPILED_CODE or name.startswith(_STEP):
            if not on_gpu:
                around[part] += row["self_cpu_us"] / steps
            continue
        if on_gpu and row["device"] == "cpu":
            # What an operator starts on the GPU; a Triton kernel has a row there too.
            own, us = 0.0, row["device_us"] if "::" in name else 0.0
        else:
            own = row["self_device_us"] if on_gpu else row["self_cpu_us"]
            us = row["cpu_us"] if "::" in name else own
        work += own / steps
        if us:
            name = _GRAPH.sub("", name)
            kernels[name] = kernels.get(name, 0.0) + us / steps
    return Profiled(kernels, work, around)
