"""`neg` that doubles instead: compiles, and computes wrong numbers, in C++ and in Triton."""

from torch._inductor.codegen.cpp import CppOverrides, CppVecOverrides
from torch._inductor.codegen.triton import TritonKernelOverrides


def install() -> None:
    CppOverrides.neg = staticmethod(lambda x: f"decltype({x})(2 * {x})")
    CppVecOverrides.neg = staticmethod(lambda x: f"({x} + {x})")
    TritonKernelOverrides.neg = staticmethod(lambda x: f"(2 * {x})")
