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
}


def meaning(kind: str) -> str | None:
    """What a record of a kind is; None for a kind that is not known."""
    return KINDS.get(kind)
