"""The category of a kernel: by its name, by the operator that launched it, and by whether compiled
code called that operator.

Inductor puts the category into the name (`triton_poi_fused_…`). Names in libraries change with
every version, so the operator is tried first, and the name only if no operator is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from inductorscope.formats.vocabulary import (
    ATTENTION,
    CATEGORIES,
    COMMUNICATION,
    CONVOLUTION,
    CPP_FUSED,
    EAGER,
    EXTERN,
    GEMM,
    MEMCPY,
    MEMSET,
    OTHER,
    TRITON_OTHER,
    TRITON_TEMPLATE,
    USER_TRITON,
)

_TRITON_CATEGORIES = {category.short: category.id for category in CATEGORIES if category.short}

# triton_poi_fused_add_0, model_triton_red_fused_sum_1 (AOTInductor puts a model's name in front)
_TRITON = re.compile(rf"^(?:\w*?_)?triton_({'|'.join(_TRITON_CATEGORIES)})_")
# triton_, triton__0d1d2d (2023, without unique names), triton_fused_add_1, triton_0
_TRITON_UNNAMED = re.compile(r"^triton_(?:$|_?\d|fused_)")
# triton_mm, triton_bmm_3, triton_flex_attention_backward_7
_TRITON_TEMPLATE = re.compile(r"^triton_(?:mm|bmm|addmm|convolution|conv\d|flex_)")
# add_kernel_0d1d2d3de: Triton of 2023 wrote down which arguments divide by 16
_TRITON_SUFFIX = re.compile(r"^[A-Za-z_]\w*_0d1[0-9dec]*$")
_CPP = re.compile(r"^(?:graph_\d+_)?cpp_\w*fused")

_COMMUNICATION = re.compile(
    r"nccl|rccl|msccl|oneccl|nvshmem|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
    r"|cross_device_reduce|quick_?reduce|multimem_|deep_ep",
    re.IGNORECASE,
)
_ATTENTION = re.compile(
    r"flash|fmha|sdpa|attention|(?:^|_|::)attn_|_attn(?:_|$)|mha_(?:fwd|bwd|varlen)|mem_eff",
    re.IGNORECASE,
)
_CONVOLUTION = re.compile(
    r"conv(?!ert)|fprop|wgrad|dgrad|winograd|(?:^|_)igemm_|im2col|implicit_gemm|nchwtonhwc"
    r"|nhwctonchw|batched_transpose_\d|subtensorop|col2im|xdlops_conv",
    re.IGNORECASE,
)
_GEMM = re.compile(
    r"gemm|gemv|nvjet|^cijk_|^custom_cijk|cublas|splitk|cutlass|matmul|xmma|wvsplitk|tensile"
    r"|dot_kernel|_scaled_mm",
    re.IGNORECASE,
)

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


@dataclass(frozen=True, slots=True)
class Work:
    """The facts about a kernel that decide its category."""

    name: str
    kind: str = "kernel"
    """'kernel', 'memcpy' or 'memset'."""
    op: str | None = None
    """The operator that launched it."""
    triton: bool = False
    """Whether its launch shows that Triton made it."""
    compiled: bool = False
    """Whether compiled code called the operator."""


def category_of(work: Work) -> str:
    """The category, one of `CATEGORIES`."""
    if work.kind in (MEMCPY, MEMSET):
        return work.kind
    generated = generated_category(work.name)
    if generated is not None:
        return generated
    family = family_of(work.name, work.op)
    if family == COMMUNICATION:
        return COMMUNICATION
    if work.triton or (work.op is None and _TRITON_SUFFIX.match(work.name)):
        return USER_TRITON
    return f"{EXTERN}_{family}" if work.compiled else EAGER


def generated_category(name: str) -> str | None:
    """The category of a kernel that Inductor generated, by its name; None for others."""
    if _CPP.match(name):
        return CPP_FUSED
    match = _TRITON.match(name)
    if match:
        return _TRITON_CATEGORIES[match.group(1)]
    if _TRITON_TEMPLATE.match(name):
        return TRITON_TEMPLATE
    return TRITON_OTHER if _TRITON_UNNAMED.match(name) else None


def family_of(name: str, op: str | None) -> str:
    """'gemm', 'convolution', 'attention', 'communication' or 'other'."""
    if _COMMUNICATION.search(name) or (op is not None and _COMMUNICATION_OPERATOR.match(op)):
        return COMMUNICATION
    facts = None if op is None else operator_family(op)
    if facts is not None and facts != OTHER:
        return facts
    if name.startswith("void at::native::") and facts == OTHER:
        return OTHER  # one of torch's own, for any types
    for family, pattern in (
        (ATTENTION, _ATTENTION),
        (CONVOLUTION, _CONVOLUTION),
        (GEMM, _GEMM),
    ):
        if pattern.search(name):
            return family
    return OTHER


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
