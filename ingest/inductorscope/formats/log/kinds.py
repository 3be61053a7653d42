"""The kinds of records of TORCH_TRACE logs: what they mean and which pages show them.

A new kind is one entry here: in `KINDS` if the record's head is `{"toy": …}`, in `ARTIFACTS` if it
is `{"artifact": {"name": "toy"}}`. Unknown kinds are read, counted and shown as they are.
`make docs` writes the tables of `docs/logs.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from inductorscope.formats.vocabulary import (
    AOT,
    BACKWARD,
    CODE,
    DYNAMO,
    FORWARD,
    FX_RUNNABLE,
    INFERENCE,
    IR_POST,
    IR_PRE,
    JOINT,
    KERNEL_COMPILES,
    KERNEL_STACKS,
    LOG_ARTIFACT,
    POST_GRAD,
    PRE_GRAD,
    PROVENANCE,
    PROVENANCE_KERNELS,
    PROVENANCE_NODES,
    READABLE,
    ROLE_TITLES,
    STAGES,
)
from inductorscope.plugins import added

# Kinds that code refers to by name.
ARTIFACT: Final = "artifact"
GRAPH_DUMP: Final = "graph_dump"
DYNAMO_START: Final = "dynamo_start"
DYNAMO_ERROR: Final = "dynamo_error"
GRAPH_BREAK: Final = "dynamo_graph_break_reason"
RECOMPILED: Final = "recompile_reasons"
METRICS: Final = "compilation_metrics"
BACKWARD_METRICS: Final = "bwd_compilation_metrics"
OUTPUT_CODE: Final = "inductor_output_code"
RUNNABLE: Final = "fx_graph_runnable"
UNBACKED_SYMBOL: Final = "create_unbacked_symbol"
SCHEDULE: Final = "inductor_collective_schedule"
TENSOR: Final = "describe_tensor"
RUNTIME_METRICS: Final = "compilation_metrics_runtime"
GUARDS: Final = "dynamo_guards"
GUARD_TREE: Final = "dynamo_cpp_guards_str"
IR_BEFORE: Final = "ir_pre_fusion"
IR_AFTER: Final = "ir_post_fusion"
PHASE: Final = "chromium_event"
STRING: Final = "str"

NAMED = frozenset({ARTIFACT, GRAPH_DUMP})
"""Kinds whose records have a name, which distinguishes them."""

Part = Literal["compile", "autograd", "before code", "code", "kernels", "after code"]


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a graph that records of a kind hold."""

    role: str
    """The role in which it is stored: the id of a stage or of another role."""
    part: Part
    """When it is logged, which decides the graph it belongs to:

    `compile`: once for a compile; every graph of the compile has it.
    `autograd`: by AOTAutograd; the graph of the same direction has it.
    `before code`: before the code of its graph. A second text of the same role starts a new graph.
    `code`: the code, which ends its graph.
    `kernels`: right after the code that calls them.
    `after code`: after the code; the graph that ended last has it.
    """
    direction: str = ""
    """Direction of AOTAutograd's graph."""

    def __post_init__(self) -> None:
        if self.role not in ROLE_TITLES:
            raise ValueError(f"{self.role!r} is neither a stage nor a role of the vocabulary.")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record, or artifacts of one name."""

    name: str
    meaning: str
    shown: str
    """The pages that show it, for the documentation, in addition to the explorer's stages."""
    text: Text | None = None
    """Set if its payload is a graph's text."""
    counted: bool = False
    """Whether its records are only counted: there are thousands, and each says little."""
    guard: str = ""
    """The name of a guard of this kind on the page Story."""
    passes: bool = False
    """Whether passes made it from the graph before; pages compare the two."""
    figures: bool = False
    """Whether it holds the metrics of a compile."""
    ranks: str = ""
    """The name under which the page Ranks compares it."""

    @property
    def appears(self) -> str:
        """Every place that shows it."""
        stages = [each.title for each in STAGES if self.text and each.role == self.text.role]
        explorer = "; Explorer: " + ", ".join(f"*{title}*" for title in stages) if stages else ""
        compared = ", compared with the graph before" if self.passes else ""
        return f"{self.shown}{compared}{explorer}"


KEPT = "records of a compile"

KINDS: tuple[Kind, ...] = (
    Kind(DYNAMO_START, "a compile of a frame starts",
        "Compiles; Stacks; *Where your program triggered it* of a compile", ranks="compiles"),
    Kind("dynamo_output_graph", "the graph Dynamo captured", KEPT, passes=True,
        text=Text(DYNAMO, "compile")),
    Kind(GUARDS, "guards of a compiled frame", "*Guards* of a compile", ranks="guards"),
    Kind(GUARD_TREE, "guards of a compiled frame",
        "*Guards* of a compile, as a tree with search; difference from the compile before",
        ranks="guards"),
    Kind(DYNAMO_ERROR, "an error of a compile", "Story, *Failures*; its compile", ranks="failures"),
    Kind("aot_forward_graph", "AOTAutograd's forward graph", KEPT, passes=True,
        text=Text(AOT, "autograd", FORWARD)),
    Kind("aot_backward_graph", "AOTAutograd's backward graph", KEPT, passes=True,
        text=Text(AOT, "autograd", BACKWARD)),
    Kind("aot_inference_graph", "AOTAutograd's graph without a backward", KEPT, passes=True,
        text=Text(AOT, "autograd", INFERENCE)),
    Kind("aot_joint_graph", "AOTAutograd's forward and backward in one graph", KEPT, passes=True,
        text=Text(JOINT, "autograd")),
    Kind("inductor_pre_grad_graph", "the graph before autograd", KEPT, passes=True,
        text=Text(PRE_GRAD, "compile")),
    Kind("inductor_post_grad_graph", "the graph Inductor lowers", KEPT, passes=True,
        text=Text(POST_GRAD, "before code")),
    Kind(OUTPUT_CODE, "the code Inductor generated", KEPT, ranks="code", text=Text(CODE, "code")),
    Kind("optimize_ddp_split_graph", "a graph split for DDP", KEPT, passes=True),
    Kind("optimize_ddp_split_child", "a part of a graph split for DDP", KEPT),
    Kind("compiled_autograd_graph", "compiled autograd's graph", KEPT, passes=True,
        text=Text(DYNAMO, "compile")),
    Kind(GRAPH_DUMP, "a graph with a name", "records of a compile, under its own name"),
    Kind("dump_file", "a generated source file", "Log"),
    Kind("link", "a link to another page", "head of its compile"),
    Kind(ARTIFACT, "a text or JSON with a name", "by its name, below"),
    Kind("guard_added", "a guard on a size, with its reason",
        "Symbols, *Guards and decisions on sizes*, with how the expression came about; its compile",
        guard="guard"),
    Kind("guard_added_fast", "a guard on a size", "Symbols, *Constraints*; its compile",
        counted=True, guard="guard"),
    Kind("symbolic_shape_specialization", "a size that became a constant",
        "Symbols, as *became a constant*, with the line that caused it", guard="specialisation"),
    Kind("create_symbol", "a size that became a symbol", "Symbols; its compile"),
    Kind(UNBACKED_SYMBOL, "a size known only at run time", "Symbols, marked *unbacked*"),
    Kind("expression_created", "an expression of sizes", "Symbols, *Derivation*", counted=True),
    Kind("propagate_real_tensors_provenance", "a guard that real tensors decided",
        "Symbols, as *decided by real data*; Story, as a failure of export", guard="real tensors"),
    Kind("exported_program", "an exported program", KEPT, passes=True,
        text=Text(DYNAMO, "compile")),
    Kind("missing_fake_kernel", "an operator without a fake implementation",
        "Symbols; Story, as a failure of export", guard="missing fake kernel"),
    Kind("mismatched_fake_kernel", "an operator whose fake implementation is wrong",
        "Symbols; Story, as a failure of export", guard="mismatched fake kernel"),
    Kind(METRICS, "metrics of a compile",
        "all fields, grouped, with units, on its compile; times, guards, failures and "
        "restarts in Story, Compiles and Time", figures=True),
    Kind(BACKWARD_METRICS, "metrics of a backward's compile",
        "all fields on its compile; time of the backward", figures=True),
    Kind(RUNTIME_METRICS, "metrics of a compile, from run time",
        "all fields on its compile", figures=True),
    Kind("bwd_compilation_metrics_runtime", "metrics of a backward's compile, from run time",
        "all fields on its compile", figures=True),
    Kind("describe_storage", "a storage of an input", "counted on Log", counted=True),
    Kind(TENSOR, "an input tensor", "counted on Log; Ranks compare them", counted=True),
    Kind("describe_source", "where an input comes from", "counted on Log", counted=True),
    Kind(PHASE, "a phase begins or ends",
        "Time: phases over time, by kind of work and by name; Autotuned; "
        "what became dynamic",
        counted=True),
    Kind(STRING, "a name that stacks refer to", "names of files in every stack", counted=True),
    Kind("stack", "a stack", "Log"),
    Kind("inductor_input_graph", "the graph Inductor was given", "Log"),
    Kind("export", "an exported program's metadata", "Log"),
    Kind("propagate_real_tensors", "a value that real tensors gave",
        "Symbols, as *decided by real data*", guard="real tensors"),
    Kind("guard_on_data_dependent_error", "a condition that depends on data",
        "Symbols, as *undecidable*", guard="undecidable"),
    Kind("cudagraph", "a metric of CUDA graphs", "Log"),
    Kind(IR_BEFORE, "the IR before fusion, from a TORCH_LOGS text", KEPT,
        text=Text(IR_PRE, "before code")),
    Kind(IR_AFTER, "the IR after fusion, from a TORCH_LOGS text", KEPT,
        text=Text(IR_POST, "before code")),
    *added("kinds", Kind),
)  # fmt: skip

ARTIFACTS: tuple[Kind, ...] = (
    Kind("before_pre_grad_graph", "Dynamo's graph, before passes", KEPT, passes=True,
        text=Text(PRE_GRAD, "compile")),
    Kind("after_pre_grad_graph", "Dynamo's graph, after passes", KEPT, passes=True),
    Kind("before_joint_graph", "forward and backward, before passes", KEPT, passes=True),
    Kind("after_joint_graph", "forward and backward, after passes", KEPT, passes=True),
    Kind("before_post_grad_graph", "the ATen graph, before passes", KEPT, passes=True,
        text=Text(READABLE, "before code")),
    Kind("after_post_grad_graph", "the ATen graph that Inductor lowers", KEPT, passes=True,
        text=Text(POST_GRAD, "before code")),
    Kind("inductor_post_grad_graph", "the ATen graph that Inductor lowers", KEPT, passes=True,
        text=Text(POST_GRAD, "before code")),
    Kind("aot_forward_graph_fw_metadata", "AOTAutograd's notes on inputs and outputs", KEPT),
    Kind("aot_forward_graph_fw_subclass_metadata", "AOTAutograd's notes on tensor subclasses",
        KEPT),
    Kind("aot_inference_graph_after_hop_passes", "AOTAutograd's graph after higher-order operators",
        KEPT),
    Kind(RUNNABLE, "the graph as a program that reproduces it",
        "records of a compile; Explorer; torch's version and the device of the run",
        text=Text(FX_RUNNABLE, "before code")),
    Kind("fx_graph_cache_hit", "a hit in the FX graph cache",
        "Story, *Caches*; its compile, with the components of the key"),
    Kind("fx_graph_cache_miss", "a miss in the FX graph cache",
        "Story, *Caches*; its compile, with the components of the key"),
    Kind("fx_graph_cache_bypass", "the FX graph cache was bypassed",
        "Story, *Caches*; its compile, with the components of the key"),
    Kind("aotautograd_cache_hit", "a hit in AOTAutograd's cache",
        "Story, *Caches*; its compile, with the components of the key"),
    Kind("aotautograd_cache_miss", "a miss in AOTAutograd's cache",
        "Story, *Caches*; its compile, with the components of the key"),
    Kind("aotautograd_cache_bypass", "AOTAutograd's cache was bypassed",
        "Story, *Caches*; its compile, with the components of the key"),
    Kind("aotautograd_cache_hash", "the key of AOTAutograd's cache", KEPT),
    Kind(GRAPH_BREAK, "why the graph breaks, with both stacks",
        "Story, *Graph breaks*: once for each place and reason, with code, explanation, "
        "advice and stack", ranks="graph breaks"),
    Kind(DYNAMO_ERROR, "why the compile failed, with the traceback",
        "Story, *Failures*; its compile", ranks="failures"),
    Kind("dynamo_side_effects", "side effects that run after the graph", KEPT),
    Kind(RECOMPILED, "which guards failed",
        "Story, *Recompiles*: the history of each function; its compile", ranks="recompiles"),
    Kind("triton_kernel_info", "kernels: configuration, autotuning, time to compile",
        "Time, *Kernels by time to compile*", text=Text(KERNEL_COMPILES, "after code")),
    Kind("inductor_provenance_tracking_node_mappings", "nodes and the kernels they became",
        "Explorer, links", text=Text(PROVENANCE, "after code")),
    Kind("inductor_provenance_tracking_kernel_stack_traces", "the user's lines for each kernel",
        "Explorer, links; annotated code", text=Text(KERNEL_STACKS, "after code")),
    Kind("inductor_post_to_pre_grad_nodes", "nodes before and after autograd", "Explorer, links",
        text=Text(PROVENANCE_NODES, "after code")),
    Kind("inductor_triton_kernel_to_post_grad_nodes", "nodes of each kernel", "Explorer, links",
        text=Text(PROVENANCE_KERNELS, "after code")),
    Kind("inductor_generated_kernel_to_post_grad_nodes", "nodes of each kernel", "Explorer, links",
        text=Text(PROVENANCE_KERNELS, "after code")),
    Kind(SCHEDULE, "collectives in the order they run",
        "Ranks, *collectives*; records of a compile", ranks="collectives"),
    Kind("inductor_runtime_and_tensor_meta", "estimated run times, metadata of tensors",
        "Ranks, *tensor metadata*; records of a compile", ranks="tensor metadata"),
    Kind("inductor_autotune_at_compile_time_code", "the code that tunes kernels", KEPT),
    Kind("inductor_aot_wrapper_code", "AOTInductor's wrapper", KEPT, text=Text(CODE, "code")),
    Kind("inductor_aot_kernel_code", "AOTInductor's kernels", KEPT,
        text=Text(LOG_ARTIFACT, "kernels")),
    Kind("inductor_aot_code", "AOTInductor's code", KEPT, text=Text(CODE, "code")),
    Kind("inductor_aot_header_code", "AOTInductor's header", KEPT),
    Kind("graph_execution", "graphs in the order they ran", "Ranks, *order of graphs*; records",
        ranks="order of graphs"),
    Kind("min_cut_information", "what the backward keeps and what it recomputes", KEPT),
    Kind("runtime_wrapper_orchestration", "what runs around the compiled code", KEPT),
    Kind("torch._functorch.config", "AOTAutograd's settings", KEPT),
    Kind("torch_version", "torch's version", "records; version of the run"),
    Kind("compiled_autograd_compile_reasons", "why compiled autograd compiled", KEPT),
    Kind("put_local_code_state", "profile for the next run: what is dynamic", KEPT),
    *added("artifacts", Kind),
)  # fmt: skip

BYTECODE: tuple[Kind, ...] = (
    Kind("_ORIGINAL_BYTECODE", "Python's bytecode of the function", KEPT),
    Kind("_MODIFIED_BYTECODE", "the bytecode Dynamo replaced it with", KEPT),
)  # fmt: skip
"""Artifacts whose names start with the function's name, by the end of the name."""

GRAPHS_OF_TOPICS: dict[str, dict[str, str]] = {
    "graph_code": {"": "dynamo_output_graph"},
    "aot_graphs": {
        "joint": "aot_joint_graph", "backward": "aot_backward_graph", "": "aot_forward_graph",
    },
    "aot_joint_graph": {"": "aot_joint_graph"},
    "pre_grad_graphs": {"before": "before_pre_grad_graph", "": "after_pre_grad_graph"},
    "post_grad_graphs": {"before": "before_post_grad_graph", "": "inductor_post_grad_graph"},
}  # fmt: skip
"""Topic of TORCH_LOGS → a word of the graph's title → the record that TORCH_TRACE writes for it."""

BY_NAME = {kind.name: kind for kind in (*ARTIFACTS, *KINDS)}
COUNTED = frozenset(kind.name for kind in KINDS if kind.counted)
_KINDS = {kind.name: kind for kind in KINDS}
_ARTIFACTS = {kind.name: kind for kind in ARTIFACTS}


def is_artifact(name: str) -> bool:
    """Whether records of this name are artifacts."""
    return name in _ARTIFACTS


def name_of(kind: str, name: str | None) -> str:
    """The name of an artifact, or else the kind of the record."""
    return name if name and kind in NAMED else kind


def is_of_graph(name: str) -> bool:
    """Whether a record of this name holds a text of a graph; such texts are always kept."""
    return role_of(name) != LOG_ARTIFACT


def role_of(name: str) -> str:
    """The role of the text of a record of this name."""
    text = BY_NAME[name].text if name in BY_NAME else None
    return LOG_ARTIFACT if text is None else text.role


def meaning(kind: str) -> str | None:
    """The meaning of a kind or an `artifact:NAME`; None when unknown."""
    if not kind.startswith(f"{ARTIFACT}:"):
        return _KINDS[kind].meaning if kind in _KINDS else None
    name = kind.removeprefix(f"{ARTIFACT}:")
    known = _ARTIFACTS.get(name)
    ends = (each for each in BYTECODE if name.endswith(each.name))
    entry = known or next(ends, None)
    return None if entry is None else entry.meaning
