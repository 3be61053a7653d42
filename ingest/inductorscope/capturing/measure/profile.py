"""Splits a profiled step of a fresh process into parts that do not overlap. Torch-free."""

from __future__ import annotations

import re
from typing import Any

import msgspec

COMPILED_CODE, PYTHON = "calling compiled code", "Python outside of operators"
"""Parts of a step on a CPU in which no kernel and no operator runs."""
_GRAPH = re.compile(r"^graph_\d+_(?=cpp_)")
"""The profiler's prefix of a C++ kernel's name."""
_RUNTIME = (
    "Torch-Compiled Region", "TorchDynamo Cache Lookup", "Pregraph bytecode", "Inductor Lookup",
    "AOTDispatcher Runtime Wrapper", "## Call CompiledFxGraph", "CompiledFunction",
    "autograd::engine::evaluate_function: CompiledFunction",
)  # fmt: skip
_STEP = "ProfilerStep"


class Profiled(msgspec.Struct, frozen=True):
    """Time of a step in µs."""

    kernels: dict[str, float] = {}
    """Time by kernel, or by operator including what it calls."""
    work: float = 0.0
    """Time of all kernels and operators together, each counted once."""
    around: dict[str, float] = {}
    """Time by part of the step around them. Empty on a GPU, which is idle then."""


def profiled(rows: list[dict[str, Any]], steps: int) -> Profiled:
    """Splits up the rows of `key_averages`."""
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
            # An operator's row includes what it starts on the GPU; a Triton kernel has its own row
            # there.
            own, us = 0.0, row["device_us"] if "::" in name else 0.0
        else:
            own = row["self_device_us"] if on_gpu else row["self_cpu_us"]
            us = row["cpu_us"] if "::" in name else own
        work += own / steps
        if us:
            name = _GRAPH.sub("", name)
            kernels[name] = kernels.get(name, 0.0) + us / steps
    return Profiled(kernels, work, around)
