"""What to change, where the reason of a break or a recompile is known to have a remedy.

Dynamo's own hints are shown as they are; this is what one line of a program needs.
"""

from __future__ import annotations

import re

from inductorscope.analyze.compile.model import GraphBreak
from inductorscope.formats.log.guard_failures import GuardFailure

_BREAKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.I), text)
    for pattern, text in (
        (r"`print`|builtin `?print|logging",
         "Move it out of the compiled function, or let Dynamo move it behind the graph: "
         "torch._dynamo.config.reorderable_logging_functions.add(print)."),
        (r"data-dependent (?:branching|jump)|dynamic control flow|generic_jump",
         "Make both branches part of the graph: torch.where(condition, a, b), or torch.cond for "
         "branches that are costly."),
        (r"\.item\(|Tensor\.item|scalar output|data.dependent operator|aten\._local_scalar_dense",
         "Keep the number on the device, or let Dynamo trace it: "
         "torch._dynamo.config.capture_scalar_outputs = True."),
        (r"nonzero|dynamic shape operator|unique|masked_select|data-dependent output",
         "Let Dynamo trace sizes that depend on data: "
         "torch._dynamo.config.capture_dynamic_output_shape_ops = True."),
        (r"torch\._dynamo\.disable|marked .{0,30}skip|disallowed|skip function",
         "It is marked not to be compiled: take the mark away, or call it elsewhere."),
        (r"C/C\+\+|builtin\. ?It cannot be traced|extension|pybind|cython",
         "Wrap the native function as an operator of its own: torch.library.custom_op with a fake "
         "implementation."),
        (r"with context manager|context manager",
         "Enter the context outside of the compiled function, or use one that Dynamo knows "
         "(torch.no_grad, torch.autocast)."),
        (r"exception|raise|try|assert",
         "Check outside of the compiled function, or use torch._check for conditions on sizes."),
        (r"numpy|np\.", "Use torch's own functions in the compiled part, or convert before it."),
        (r"copy\.deepcopy|deepcopy", "Copy outside of the compiled function."),
        (r"backward\(\)|autograd\.grad|requires_grad_",
         "Call backward outside of the compiled function."),
        (r"random|time\.time|perf_counter|datetime",
         "Read it before the compiled function and pass it in."),
    )
)  # fmt: skip

_FAILURES = {
    "size": "Sizes that vary: torch._dynamo.mark_dynamic(tensor, dimension) before the first call, "
    "or torch.compile(…, dynamic=True), compiles once for all of them.",
    "stride": "The layout of an input varies: call .contiguous() before, or always pass the same "
    "layout.",
    "value": "A number of the program that varies is part of the guards: pass it as a tensor, or "
    "keep it the same. Dynamo makes integers dynamic after their first change, and floats not.",
    "length": "A list of inputs has another length: pad it, or pass one stacked tensor.",
    "dtype": "Pass one dtype always, or keep a compiled function for each.",
    "requires_grad": "Calls with and without gradients are compiled apart: expected with training "
    "and evaluation in one program.",
    "rank": "Inputs of another number of dimensions are other graphs: reshape before.",
    "dispatch_key_set": "The input is of another kind (device, inference mode, subclass): keep "
    "calls in the same mode.",
}


def advice_for_break(one: GraphBreak) -> str:
    """One sentence, or nothing where torch's hints are all there is to say."""
    text = f"{one.title}\n{one.explanation}\n{one.context}"
    return next((advice for pattern, advice in _BREAKS if pattern.search(text)), "")


def advice_for_guard(failed: GuardFailure) -> str:
    if failed.kind in _FAILURES:
        return _FAILURES[failed.kind]
    text = failed.text
    if "___check_obj_id" in text or "ID_MATCH" in text:
        return (
            "An object that was compiled in was replaced: keep modules, functions and settings "
            "the same objects between calls."
        )
    if "___check_type_id" in text or "TYPE_MATCH" in text:
        return "An argument has another type than before: always pass the same type."
    if "grad_mode" in text or "GLOBAL_STATE" in text or "___check_global_state" in text:
        return (
            "A global setting changed (gradients, autocast, default dtype, threads): set it once "
            "before."
        )
    return ""
