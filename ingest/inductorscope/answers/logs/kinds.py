"""Kinds of records of TORCH_TRACE logs, in words; what is not here is shown as unknown."""

from __future__ import annotations

KINDS: dict[str, str] = {
    "dynamo_start": "a compile of a frame starts",
    "dynamo_output_graph": "the graph Dynamo captured",
    "dynamo_guards": "guards of a compiled frame",
    "dynamo_cpp_guards_str": "guards of a compiled frame",
    "dynamo_error": "an error of a compile",
    "aot_forward_graph": "AOTAutograd's forward graph",
    "aot_backward_graph": "AOTAutograd's backward graph",
    "aot_inference_graph": "AOTAutograd's graph without a backward",
    "aot_joint_graph": "AOTAutograd's forward and backward in one",
    "inductor_pre_grad_graph": "the graph before autograd",
    "inductor_post_grad_graph": "the graph Inductor lowers",
    "inductor_output_code": "the code Inductor generated",
    "optimize_ddp_split_graph": "a graph split for DDP",
    "optimize_ddp_split_child": "a part of a graph split for DDP",
    "compiled_autograd_graph": "compiled autograd's graph",
    "graph_dump": "a graph by name",
    "dump_file": "a generated source file",
    "link": "a link to another page",
    "artifact": "a text or JSON by name",
    "guard_added": "a guard on a size, with its reason",
    "guard_added_fast": "a guard on a size",
    "symbolic_shape_specialization": "a size that became a constant",
    "create_symbol": "a size that became a symbol",
    "create_unbacked_symbol": "a size only known when running",
    "expression_created": "an expression of sizes",
    "propagate_real_tensors_provenance": "a guard that real tensors decided",
    "exported_program": "an exported program",
    "missing_fake_kernel": "an operator without a fake implementation",
    "mismatched_fake_kernel": "an operator whose fake implementation is wrong",
    "compilation_metrics": "figures of a compile",
    "bwd_compilation_metrics": "figures of a backward's compile",
    "compilation_metrics_runtime": "figures of a compile, from running",
    "bwd_compilation_metrics_runtime": "figures of a backward's compile, from running",
    "describe_storage": "a storage of an input",
    "describe_tensor": "an input tensor",
    "describe_source": "where an input comes from",
    "chromium_event": "a phase begins or ends",
    "str": "a name that stacks refer to",
    "stack": "a stack by itself",
    "inductor_input_graph": "the graph Inductor was given",
    "export": "an exported program's metadata",
    "propagate_real_tensors": "a value that real tensors gave",
    "guard_on_data_dependent_error": "a condition that only data decide",
    "cudagraph": "a figure of CUDA graphs",
}

ARTIFACTS: dict[str, str] = {
    "before_pre_grad_graph": "Dynamo's graph, before passes",
    "after_pre_grad_graph": "Dynamo's graph, after passes",
    "before_joint_graph": "forward and backward, before passes",
    "after_joint_graph": "forward and backward, after passes",
    "before_post_grad_graph": "the ATen graph, before passes",
    "after_post_grad_graph": "the ATen graph that Inductor lowers",
    "inductor_post_grad_graph": "the ATen graph that Inductor lowers",
    "aot_forward_graph_fw_metadata": "AOTAutograd's notes on inputs and outputs",
    "aot_forward_graph_fw_subclass_metadata": "AOTAutograd's notes on tensor subclasses",
    "aot_inference_graph_after_hop_passes": "AOTAutograd's graph after higher-order operators",
    "fx_graph_runnable": "the graph as a program that reproduces it",
    "fx_graph_cache_hit": "the FX graph's cache had it",
    "fx_graph_cache_miss": "the FX graph's cache had it not",
    "fx_graph_cache_bypass": "the FX graph's cache was not asked",
    "aotautograd_cache_hit": "AOTAutograd's cache had it",
    "aotautograd_cache_miss": "AOTAutograd's cache had it not",
    "aotautograd_cache_bypass": "AOTAutograd's cache was not asked",
    "aotautograd_cache_hash": "the key of AOTAutograd's cache",
    "dynamo_graph_break_reason": "why the graph breaks, with both stacks",
    "dynamo_error": "why the compile failed, with the traceback",
    "dynamo_side_effects": "side effects that run after the graph",
    "recompile_reasons": "which guards failed",
    "triton_kernel_info": "kernels: configuration, autotuning, time to compile",
    "inductor_provenance_tracking_node_mappings": "which node became which kernel",
    "inductor_provenance_tracking_kernel_stack_traces": "the user's lines of each kernel",
    "inductor_post_to_pre_grad_nodes": "nodes before and after autograd",
    "inductor_triton_kernel_to_post_grad_nodes": "nodes of each kernel",
    "inductor_generated_kernel_to_post_grad_nodes": "nodes of each kernel",
    "inductor_collective_schedule": "collectives in the order they run",
    "inductor_runtime_and_tensor_meta": "estimated run times, metadata of tensors",
    "inductor_autotune_at_compile_time_code": "the code that tunes kernels",
    "inductor_aot_wrapper_code": "AOTInductor's wrapper",
    "inductor_aot_kernel_code": "AOTInductor's kernels",
    "inductor_aot_code": "AOTInductor's code",
    "inductor_aot_header_code": "AOTInductor's header",
    "graph_execution": "graphs in the order they ran",
    "min_cut_information": "what the backward keeps, what it computes anew",
    "runtime_wrapper_orchestration": "what runs around the compiled code",
    "torch._functorch.config": "AOTAutograd's settings",
    "torch_version": "torch's version",
    "compiled_autograd_compile_reasons": "why compiled autograd compiled",
    "put_local_code_state": "profile for the next run: what is dynamic",
}
BYTECODE = {
    "_ORIGINAL_BYTECODE": "Python's bytecode of the function",
    "_MODIFIED_BYTECODE": "the bytecode Dynamo put in its place",
}
"""How names end of texts that a function's name begins."""


def meaning(kind: str) -> str | None:
    """What a record of a kind is; None for a kind that is not known."""
    if kind.startswith("artifact:"):
        name = kind.removeprefix("artifact:")
        ends = (text for ending, text in BYTECODE.items() if name.endswith(ending))
        return ARTIFACTS.get(name) or next(ends, None)
    return KINDS.get(kind)
