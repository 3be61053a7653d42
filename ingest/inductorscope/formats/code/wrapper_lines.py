"""The wrapper as typed lines: the effect of each on memory, and the buffers it names.

    buf2 = empty_strided_cuda((32, 64), (64, 1), torch.float32)      allocate
    buf3 = buf2; del buf2  # reuse                                   reuse
    buf4 = reinterpret_tensor(buf3, (64, 32), (1, 64), 0)            reinterpret
    triton_poi_fused_neg_0.run(arg0_1, buf3, 2048, stream=stream0)   call
    extern_kernels.mm(buf3, buf4, out=buf5)                          extern_call
    del buf3                                                         free

C++ wrappers do the same with `aoti_torch_empty_strided`, `std::move` and `.reset()`.
"""

from inductorscope.formats.code.records import OutputCode
from inductorscope.formats.code.wrapper_cpp import CppWrapper
from inductorscope.formats.code.wrapper_python import LineKind, PythonWrapper, WrapperLine
from inductorscope.formats.text import plain_lines

__all__ = ["LineKind", "WrapperLine", "parse_wrapper"]


def parse_wrapper(text: str, code: OutputCode) -> list[WrapperLine]:
    """A record for every line of the wrapper that is not blank; `code` is read from `text`."""
    lines = plain_lines(text)
    calls = {call.line: call for call in code.calls}
    after = min(code.wrapper_last, len(lines))
    reader = (CppWrapper if code.cpp else PythonWrapper)(calls, code.inputs)
    start = max(code.wrapper_first - 1, 0) if code.wrapper_first else after
    for kernel in [*sorted(code.kernels, key=lambda kernel: kernel.first_line), None]:
        stop = after if kernel is None else min(kernel.comment_line - 1, after)
        for number in range(start, stop):
            line = lines[number].strip()
            if line:
                reader.read(line, number + 1)
        if kernel is not None:
            start = max(start, kernel.last_line)
    return reader.records
