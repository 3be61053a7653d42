"""The category of a kernel: by its name, by the operator that launched it, and by whether compiled
code called that operator.

Inductor puts the category into the name (`triton_poi_fused_…`). Names in libraries change with
every version, so the operator is tried before them; `kernel_names.py` has the table of names.
"""

import re

from inductorscope.analyze.time.kernel_names import family_of_name, generated_category
from inductorscope.formats.vocabulary import (
    ATTENTION,
    CACHE,
    COMMUNICATION,
    CONVOLUTION,
    EAGER,
    EXTERN,
    GEMM,
    MEMCPY,
    MEMSET,
    OTHER,
    USER_TRITON,
)

# add_kernel_0d1d2d3de: Triton of 2023 wrote down which arguments divide by 16
_TRITON_SUFFIX = re.compile(r"^[A-Za-z_]\w*_0d1[0-9dec]*$")

# aten::addmm, mkl::_mkl_linear, aten::addmm_ (in place)
_OPERATOR = re.compile(r"^(?:\w+::)?_?_?(\w+?)_?(?:\.\w+)?$")
_GEMM_OPERATOR = re.compile(
    r"^(?:addmm|mm|bmm|baddbmm|addbmm|matmul|linear|addmv|mv|dot|vdot|bias_addmm|scaled_mm"
    r"|scaled_grouped_mm|grouped_mm|int_mm|weight_int\dpack_mm|addmm_activation|mm_plus_mm|mkl_linear"
    r"|linear_pointwise|qlinear_pointwise|linear_dynamic|linear_backward|packed_linear"
    r"|cpp_packed_gemm\w*|sparse_semi_structured_(?:linear|mm|addmm)|linear_fp16\w*|dyn_quant_matmul\w*)$"
)
_CONVOLUTION_OPERATOR = re.compile(r"conv(?!ert)|im2col|col2im|slow_conv")
_ATTENTION_OPERATOR = re.compile(r"attention|fmha|(?:^|_)sdpa")
_COMMUNICATION_OPERATOR = re.compile(r"^(?:nccl:|gloo:|mpi:|c10d::|_?c10d_functional::|symm_mem::)")


SAME_ANYWHERE = (COMMUNICATION, MEMCPY, MEMSET)
"""Families that are a category in themselves, whether compiled code calls their kernels or not."""


def category_of(
    name: str,
    kind: str = "kernel",
    op: str | None = None,
    *,
    triton: bool = False,
    compiled: bool = False,
) -> str:
    """The category of a kernel, memcpy or memset (`kind`), one of `CATEGORIES`. `op`: the operator
    that launched it. `triton`: whether its launch shows that Triton made it. `compiled`: whether
    compiled code called the operator."""
    if kind in (MEMCPY, MEMSET):
        return kind
    generated = generated_category(name)
    if generated is not None:
        return generated
    family = family_of(name, op)
    own = triton or (op is None and _TRITON_SUFFIX.match(name))
    if own and family not in SAME_ANYWHERE:
        return USER_TRITON
    return library_category(family, compiled=compiled)


def library_category(family: str, *, compiled: bool) -> str:
    """The category of a family's kernels, by whether compiled code calls them."""
    if family in SAME_ANYWHERE:
        return family
    if compiled:
        return f"{EXTERN}_{family}"
    return EAGER if family == OTHER else f"{EAGER}_{family}"


def family_of(name: str, op: str | None) -> str:
    """The family of a library's kernel, by the operator that launched it or else by its name."""
    named = family_of_name(name)
    if named in (*SAME_ANYWHERE, CACHE) or op is None:
        return named
    launched = operator_family(op)
    if launched == OTHER and name.startswith("void at::native::"):
        return OTHER  # one of torch's own, for any types
    return named if launched == OTHER else launched


def operator_family(op: str) -> str:
    """The family of an operator, `aten::addmm` or `mkl::_mkl_linear`."""
    if _COMMUNICATION_OPERATOR.match(op):
        return COMMUNICATION
    match = _OPERATOR.match(op)
    name = match.group(1) if match else op
    if _ATTENTION_OPERATOR.search(name):
        return ATTENTION
    if _CONVOLUTION_OPERATOR.search(name):
        return CONVOLUTION
    return GEMM if _GEMM_OPERATOR.match(name) else OTHER
