"""The kinds of records of TORCH_TRACE logs: what they mean and which pages show them.

A new kind is one entry here: in `KINDS` if the record's head is `{"toy": …}`, in `ARTIFACTS` if it
is `{"artifact": {"name": "toy"}}`. Unknown kinds are read, counted and shown as they are.
`make docs` writes the tables of `docs/logs.md`.
"""

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
    JOINT_AFTER,
    JOINT_BEFORE,
    KERNEL_COMPILES,
    KERNEL_STACKS,
    LOG_ARTIFACT,
    POST_GRAD,
    PRE_GRAD,
    PRE_GRAD_AFTER,
    PROVENANCE,
    PROVENANCE_KERNELS,
    PROVENANCE_NODES,
    READABLE,
    ROLE_TITLES,
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
OVERLAP_BEFORE: Final = "overlap_scheduling_graph_before"
OVERLAP_AFTER: Final = "overlap_scheduling_graph_after"
TIMES_OF_NODES: Final = "fx_compute_nodes_runtime_estimation"
TIMES_OF_COLLECTIVES: Final = (
    "fx_collectives_estimations_after_overlap_bucketing", "fx_collectives_node_runtime_estimation",
    "fx_collectives_analytical_estimation",
)  # fmt: skip
"""The first is of the graph after the pass, the others are of the graph before it."""
OVERLAP: Final = (OVERLAP_BEFORE, OVERLAP_AFTER, TIMES_OF_NODES, *TIMES_OF_COLLECTIVES)
"""Artifacts that *Ranks* compares with a trace."""
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

_AS_LOGGED = {
    "after_activation_quantization_bwd_aten_pass": "the backward, after saved values became small",
    "after_activation_quantization_fwd_aten_pass": "the forward, after saved values became small",
    "aot_joint_graph_sync_decision_cross_ranks": "whose choice of saved values all ranks take",
    "aot_saved_tensors_hooks_graphs": "graphs with the hooks on saved tensors",
    "aotautograd_cache_pickle_failure": "what AOTAutograd's cache could not store, and why",
    "backward_epilogue": "what runs after the compiled backward",
    "backward_prologue": "what runs before the compiled backward",
    "backward_subclass_unwrap": "takes apart gradients of tensor subclasses",
    "backward_subclass_wrapper": "makes tensor subclasses of the backward's results",
    "before_activation_quantization_bwd_aten_pass": "the backward, before saved values are small",
    "before_activation_quantization_fwd_aten_pass": "the forward, before saved values are small",
    "compile_worker_sidecar_death": "how the compile workers died, and their last output",
    "compile_worker_status": "what a compile worker is doing",
    "compiled_autograd_graph_pre_reordering": "compiled autograd's graph, before it is sorted",
    "compiled_fn_wrapper": "what runs around the compiled function",
    "compiled_function_backward": "the backward that autograd calls",
    "compiled_function_forward": "the forward that autograd calls",
    "compiler_collective": "what ranks tell each other before they compile",
    "debug_assert_wrapper": "checks of which inputs need a gradient",
    "dedup_wrapper": "drops inputs that are given twice",
    "dynamo_cache_bypass": "an entry of Dynamo's cache without its compiled code",
    "dynamo_cache_entries": "the entries of Dynamo's cache",
    "dynamo_cache_exception": "an entry of Dynamo's cache that could not be read",
    "eager_compile_backwards_failure": "why the backward did not compile with its forward",
    "effect_tokens_wrapper": "passes the tokens of effects",
    "flex_gemm_analysis": "what FlexGEMM found in the code around a product",
    "flex_gemm_analysis_details": "the same, operation by operation",
    "flex_gemm_config_candidates": "configurations that FlexGEMM considers",
    "flex_gemm_generated_epilogue": "the epilogue that FlexGEMM generated",
    "flex_gemm_lowering_plan": "how FlexGEMM lowers a product",
    "flex_gemm_problem": "the product that FlexGEMM lowers",
    "flex_gemm_selection": "the configuration that FlexGEMM chose",
    "functionalized_rng_wrapper": "passes the state of random numbers",
    "fx_bucketing_passes_all_gather_buckets": "all-gathers that are joined",
    "fx_bucketing_passes_reduce_scatter_buckets": "reduce-scatters that are joined",
    "fx_collectives_analytical_estimation": "expected times of collectives, from a formula",
    "fx_collectives_estimations_after_overlap_bucketing": "the same, after some were joined",
    "fx_collectives_node_runtime_estimation": "expected times of collectives, from benchmarks",
    "fx_compute_nodes_runtime_estimation": "expected times of nodes, from benchmarks and a formula",
    "fx_graph_bundled_cache_hit": "a hit for a graph in AOTAutograd's entry",
    "fx_interpreter_error": "the graph in which a node failed",
    "fx_net_acc_splitter_finder_events": "why nodes are not run by an accelerator",
    "get_extra_remote_code_state": "profile of other runs: what is dynamic",
    "get_local_code_state": "profile of an earlier run: what is dynamic",
    "get_remote_code_state": "profile of an earlier run, kept elsewhere: what is dynamic",
    "inductor_fx_passes_overlap_bucketing": "collectives that are joined, and what hides them",
    "inductor_overlap_cyclic_extra_deps": "dependencies that overlapping had to drop",
    "inductor_spmd_graph_mismatch": "how graphs of ranks differ that should be equal",
    "invoke_subgraph_backward_duplicate": "why one region has several backwards",
    "make_fx_fail_partial": "a graph up to where tracing failed",
    "min_cut_failed_edge_list": "edges of a joint graph that could not be cut",
    "min_cut_failed_fx_graph": "a joint graph that could not be cut",
    "min_cut_failed_svg": "a picture of a joint graph that could not be cut",
    "mutation_epilogue": "writes changes back to inputs",
    "native_dsl_compile": "a compile of one of torch's own kernels in CuteDSL or Triton",
    "output_alias_wrapper": "makes outputs that are views of inputs",
    "overlap_scheduling_graph_after": "the graph with collectives moved to overlap",
    "overlap_scheduling_graph_before": "the graph before collectives are moved to overlap",
    "pge_profile_vs_analytical": "times of collectives and operators: profiled, and expected",
    "post_decomp_comms": "the graph with collectives taken apart",
    "pre_bucketing_collective_sizes": "sizes of collectives, before some are joined",
    "pre_bucketing_collective_sizes_after": "sizes of collectives, after some were joined",
    "pre_bucketing_fsdp_collectives": "how many collectives of FSDP were joined",
    "pre_decomp_comms": "the graph before collectives are taken apart",
    "precompile_cache_bypass": "why a compile is not in the precompiled package",
    "put_remote_code_state": "profile for the next run, kept elsewhere: what is dynamic",
    "reorder_communication_preserving_peak_memory": "collectives that were moved, and the peak",
    "scheduler_nodes_before_comm_overlap": "scheduler nodes before overlapping",
    "sink_waits_iterative_info": "waits that were moved later, and the peak",
    "subclass_wrapper": "takes apart tensor subclasses, and makes them of the results",
    "synthetic_base_wrapper": "joins inputs that share memory",
}
"""Artifacts that are shown as they are: name → meaning."""

ARTIFACTS: tuple[Kind, ...] = (
    Kind("before_pre_grad_graph", "Dynamo's graph, before passes", KEPT, passes=True,
        text=Text(PRE_GRAD, "compile")),
    Kind("after_pre_grad_graph", "Dynamo's graph, after passes", KEPT, passes=True,
        text=Text(PRE_GRAD_AFTER, "compile")),
    Kind("before_joint_graph", "forward and backward, before passes", KEPT, passes=True,
        text=Text(JOINT_BEFORE, "before code")),
    Kind("after_joint_graph", "forward and backward, after passes", KEPT, passes=True,
        text=Text(JOINT_AFTER, "before code")),
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
        f"{KEPT}; search; a kernel's page, beside its FX nodes",
        text=Text(KERNEL_STACKS, "after code")),
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
    *(
        Kind(name, meaning, f"{KEPT}; Ranks" if name in OVERLAP else KEPT)
        for name, meaning in _AS_LOGGED.items()
    ),
)  # fmt: skip

ENDINGS: tuple[Kind, ...] = (
    Kind("_ORIGINAL_BYTECODE", "Python's bytecode of the function", KEPT),
    Kind("_MODIFIED_BYTECODE", "the bytecode Dynamo replaced it with", KEPT),
    Kind("_pre_grad", "Dynamo's graph, after the pass that the name begins with", KEPT),
    Kind("_post_grad", "the ATen graph, after the pass that the name begins with", KEPT),
    Kind("_ITERATIVE_RECOMPUTE_ERROR", "a schedule whose memory was counted wrongly", KEPT),
)  # fmt: skip
"""Artifacts whose names start with the function's or the pass's name, by the end of the name."""

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
    return name in _ARTIFACTS


def name_of(kind: str, name: str | None) -> str:
    """The name of an artifact, or else the kind of the record."""
    return name if name and kind in NAMED else kind


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
    ends = (ending for ending in ENDINGS if name.endswith(ending.name))
    entry = known or next(ends, None)
    return None if entry is None else entry.meaning
