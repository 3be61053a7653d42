"""`neg` without its cast: in C++, `-x` of an unsigned char is an int, which does not compile.

This affects scalar code only, so vectorising is switched off as well.
"""

import torch
from torch._inductor.codegen.cpp import CppOverrides


def install() -> None:
    torch._inductor.config.cpp.simdlen = 1
    CppOverrides.neg = staticmethod(lambda x: f"-{x}")
