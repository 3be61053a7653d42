"""The stages of the compile pipeline, as data.

Panes, links, search and export loop over these descriptors; adding a stage means adding one here
and, if its lines name entities, a reader in `correlate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Language = Literal["python", "cpp", "ir", "text"]

# What a stored file is. One role a kind of file; `other` is kept and shown raw.
ROLES = (
    "source",
    "dynamo_graph",
    "pre_grad",
    "joint_graph",
    "aot_graph",
    "fx_readable",
    "fx_runnable",
    "fx_transformed",
    "ir_pre_fusion",
    "ir_post_fusion",
    "output_code",
    "wrapper_part",
    "provenance",
    "provenance_kernels",
    "trace_log",
    "chrome_trace",
    "key_averages",
    "result",
    "debug_log",
    "diagram",
    "benchmark_log",
    "capture",
    "line_record",
    "kernel_stacks",
    "kernel_information",
    "intermediate_values",
    "best_config",
    "log_artifact",
    "torch_logs",
    "other",
)


@dataclass(frozen=True)
class Stage:
    """One view of a graph: where its text comes from and how its lines are to be read."""

    id: str
    title: str
    language: Language
    role: str
    """Role of the artifact that holds its text."""
    whole: bool = True
    """False when the stage shows a part of the artifact (a kernel, the wrapper)."""


STAGES: tuple[Stage, ...] = (
    Stage("source", "Source", "python", "source"),
    Stage("dynamo", "Dynamo graph", "python", "dynamo_graph"),
    Stage("pre_grad", "FX pre-grad", "python", "pre_grad"),
    Stage("joint", "FX joint", "python", "joint_graph"),
    Stage("aot", "FX from AOTAutograd", "python", "aot_graph"),
    Stage("readable", "FX received", "python", "fx_readable"),
    Stage("post_grad", "FX post-grad", "python", "fx_transformed"),
    Stage("ir_pre", "IR pre-fusion", "ir", "ir_pre_fusion"),
    Stage("ir_post", "IR post-fusion", "ir", "ir_post_fusion"),
    Stage("kernel", "Kernel", "python", "output_code", whole=False),
    Stage("wrapper", "Wrapper", "python", "output_code", whole=False),
    Stage("code", "Output code", "python", "output_code"),
)

BY_ID = {stage.id: stage for stage in STAGES}
