"""Advice for graph breaks: torch's own hints on the line, else what is known about the reason."""

import re

from inductorscope.analyze.compile.model import GraphBreak

_BREAKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.I), text)
    for pattern, text in (
        (r"non-contiguous `?out=",
         "Give `out=` a contiguous tensor, such as rows of a buffer and not columns, or leave it "
         "out: compiled code reuses memory by itself."),
        (r"logging\.Logger|ignore_logg",
         "Log outside of the compiled function, or let Dynamo leave the call out: add it to "
         "`torch._dynamo.config.ignore_logging_functions`."),
        (r"`print`|builtin:? `?print|BuiltinVariable\(print\)|logging",
         "Move it out of the compiled function, or let Dynamo run it after the graph: "
         "`torch._dynamo.config.reorderable_logging_functions.add(print)`."),
        (r"data-dependent (?:branching|jump)|dynamic control flow|generic_jump",
         "Make both branches part of the graph: `torch.where(condition, a, b)`, or `torch.cond` if "
         "they are costly."),
        (r"\.item\(|Tensor\.item|scalar output|data.dependent operator|aten\._local_scalar_dense",
         "Keep the number on the device, or let Dynamo trace it: "
         "`torch._dynamo.config.capture_scalar_outputs = True`."),
        (r"nonzero|dynamic shape operator|unique|masked_select|data-dependent output",
         "Let Dynamo trace sizes that depend on data: "
         "`torch._dynamo.config.capture_dynamic_output_shape_ops = True`."),
        (r"\brandom\b|time\.time|perf_counter|datetime",
         "Read it outside of the compiled function, and pass it in if results depend on it. A "
         "profiler times the parts of a graph."),
        (r"C/C\+\+|builtin\. ?It cannot be traced|extension|pybind|cython",
         "Wrap the native function in a custom operator: `torch.library.custom_op` with a fake "
         "implementation."),
        (r"torch\._dynamo\.disable|marked .{0,30}skip|disallowed|skip function",
         "It is marked as not to be compiled: remove the mark, or call it elsewhere."),
        (r"with context manager|context manager",
         "Enter the context outside of the compiled function, or use one that Dynamo knows "
         "(`torch.no_grad`, `torch.autocast`)."),
        (r"\bexception|\braise|\btry\b|\bassert",
         "Check outside of the compiled function, or use `torch._check` for conditions on sizes."),
        (r"numpy|np\.", "Use torch functions in the compiled part, or convert before it."),
        (r"copy\.deepcopy|deepcopy", "Copy outside of the compiled function."),
        (r"backward\(\)|autograd\.grad|requires_grad_",
         "Call backward outside of the compiled function."),
    )
)  # fmt: skip

_GENERAL = re.compile(
    r"It may be possible to write Dynamo tracing rules|This graph break (?:is|may)|This is likely "
    r"to be a Dynamo bug|Your code may result in an error when running in eager|Please report"
    r"|If it is a Python builtin"
)
"""Hints that torch gives for many reasons (`torch._dynamo.graph_break_hints`)."""
_LOGGING = re.compile(
    r"`?(torch\._dynamo\.config\.(?:ignore_logg\w{1,20}|reorderable_logging_functions))"
)
_LOGS = re.compile(
    r"\b(print|[A-Za-z_][\w.]{0,200}\.(?:debug|info|warn|warning|warning_once|error|exception"
    r"|critical|log))\("
)
_MISSPELT = re.compile(r"torch\._dynamo\.(trace_autograd_ops) ?= ?")
"""A setting that a hint of torch 2.13 names without `config`."""
_CONDITIONAL = re.compile(r"If it is ")
"""Begin of hints on any function that Dynamo does not know."""


def advice_for_break(graph_break: GraphBreak, code: str | None = None) -> str:
    """Torch's own hints on the line; if it has none, our advice on the reason; else empty."""
    text = f"{graph_break.title}\n{graph_break.explanation}\n{graph_break.context}"
    hints = useful_hints(graph_break.hints, code)
    if not all(map(_CONDITIONAL.match, hints)):
        return " ".join(hints)
    # The reason may be told of a whole frame: then the line tells what it is.
    text = f"{text}\n{code or ''}" if "frame skipped" in graph_break.context else text
    own = next((advice for pattern, advice in _BREAKS if pattern.search(text)), "")
    return own or " ".join(hints)


def useful_hints(hints: list[str], code: str | None = None) -> list[str]:
    """Torch's hints without those that say nothing about the line. Where a hint names a set of
    functions, the call that adds the line's own function stands for them."""
    useful = []
    for hint in hints:
        text = _MISSPELT.sub(r"torch._dynamo.config.\1 = ", " ".join(hint.split()))
        if not text or _GENERAL.match(text):
            continue
        setting = _LOGGING.search(text)
        if setting is not None:
            called = _LOGS.search(code or "")
            if called is None:
                continue  # torch gives this hint for any builtin
            then = "leaves it out" if "ignore" in setting[1] else "runs it after the graph"
            return [f"`{setting[1]}.add({called[1]})`: Dynamo then {then}."]
        useful.append(text if text.endswith((".", "!", "?")) else f"{text}.")
    return useful
