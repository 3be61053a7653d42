"""What a wrapper says of its buffers and library calls."""

import re

from inductorscope.correlate.replay.schedule import argument_buffer
from inductorscope.formats.code.records import CodeCall
from inductorscope.formats.code.wrapper_lines import WrapperLine
from inductorscope.formats.graph.ir import IrBuffer

# `aoti_torch_cpu_addmm_out(buf0, …)`, `at::addmm_out(buf0, …)`: the result comes first
_FILLS_FIRST = re.compile(r"(?:aoti_torch_|at::)\w+_out$")


def buffers_of(wrapper: list[WrapperLine]) -> dict[str, IrBuffer]:
    """Name → the buffer as the wrapper allocates or views it."""
    return {
        name: IrBuffer(name, "ComputedBuffer", line.layout.dtype, line.layout.shape)
        for line in wrapper
        if line.layout is not None and line.kind != "assert"
        for name in line.defines
    }


def argument_buffers(call: CodeCall) -> list[str]:
    values = (argument.rpartition("=")[2] for argument in call.arguments)
    return [name for value in values if (name := argument_buffer(value))]


def output_of(call: CodeCall) -> list[str]:
    """The outputs of an extern call: its results, `out=buf10`, or the first argument of a shim."""
    outputs = [argument_buffer(a[4:]) for a in call.arguments if a.startswith("out=")]
    if not call.results and _FILLS_FIRST.match(call.kernel):
        outputs += [argument_buffer(argument) for argument in call.arguments[:1]]
    return [name for name in [*call.results, *outputs] if name]
