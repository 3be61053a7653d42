"""The category of a kernel: by its name, by the operator that launched it, and by whether compiled
code called that operator. Has the one table of names that Inductor and libraries give.

Inductor puts the category into the name (`triton_poi_fused_…`). Names in libraries change with
every version, so the operator is tried before them.

Libraries hide what a kernel does in different places of its C++ name. Torch's own kernels are known
by the function alone; their template arguments name anything. Libraries of templates have one
function for everything (`cutlass::Kernel2<…>`), so there the template arguments count too.
"""

import re

import msgspec

from inductorscope.formats.vocabulary import (
    ATTENTION,
    CACHE,
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


class Row(msgspec.Struct, frozen=True):
    """Names that match the pattern belong to the category, or to the family of library kernels."""

    category: str
    pattern: re.Pattern[str]


def _row(category: str, *patterns: str) -> Row:
    return Row(category, re.compile("|".join(patterns), re.IGNORECASE))


# triton_poi_fused_add_0, model_triton_red_fused_sum_1 (AOTInductor puts a model's name in front)
_TRITON = tuple(
    Row(category.id, re.compile(rf"^(?:\w*?_)?triton_{category.short}_"))
    for category in CATEGORIES
    if category.short
)
GENERATED = (
    Row(CPP_FUSED, re.compile(r"^(?:graph_\d+_)?cpp_\w*fused")),
    *_TRITON,
    # triton_mm, triton_bmm_3, triton_flex_attention_backward_7
    Row(TRITON_TEMPLATE, re.compile(r"^triton_(?:mm|bmm|addmm|convolution|conv\d|flex_)")),
    # triton_, triton__0d1d2d (2023, without unique names), triton_fused_add_1, triton_0
    Row(TRITON_OTHER, re.compile(r"^triton_(?:$|_?\d|fused_)")),
)
"""Kernels that Inductor generates."""
LIBRARIES = (
    _row(MEMSET, r"^__amd_rocclr_fill"),
    _row(MEMCPY, r"^__amd_rocclr_copy"),
    _row(
        COMMUNICATION,
        r"nccl|rccl|msccl|oneccl|oneapi::ccl|nvshmem|deep_ep::|userbuffers",
        r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all",
        r"cross_device_reduce|quick_?reduce|multimem_|symmetric_memory::barrier",
        r"(?:one|two)_?shot|stream_write_value",
    ),
    # Writes of keys and values. Named like attention: reshape_and_cache_flash_kernel
    _row(
        CACHE,
        r"(?:reshape|concat|quant|rope|norm)_and_cache|store_kv_?cache|(?:append|update)\w{0,20}kv_?cache",
        r"set_(?:mla_)?kv_(?:buffer|scale)|copy_blocks_(?:mla_)?kernel|gather_(?:and_maybe_dequant_)?cache",
        r"write_kv_?cache|copy_\w{0,20}kv_cache|kv_?cache_(?:copy|store|write|update|scatter)",
        r"fused_set_kv|swap_blocks",
    ),
    # From libraries for attention, but not attention.
    _row(
        OTHER,
        r"flashinfer::(?:norm|sampling|activation|quantization|group_?norm)",
        r"flashinfer::\w{0,30}(?:rope|rotary|rmsnorm|topk|softmax|sampl)",
        r"kv_indices|kv_indptr|page_indices|index_?page_?table",
    ),
    _row(
        ATTENTION,
        r"flash(?!_?attn::(?:layer|rms|rotary)|infer::)|fmha|sdpa|sdp_micro|attention",
        r"flashinfer::\w{0,30}(?:batch|single|prefill|decode|merge|kvcache|mla)",
        r"(?:^|_|::)attn_|_attn(?:_|$)|mha_(?:fwd|bwd|varlen|fprop|dgrad)|kernel_mha|mem_eff|mmha::",
        r"sage_(?:fwd|quant)|qk_int\d_?sv|quant_per_(?:block|warp|thread)_int8|sageattn",
        r"(?:^|::|_)mla_(?:fwd|combine|reduce|pfl|a\d|prefill|dec|stage)|flash_?mla|mla_metadata",
        r"(?:^|::)pa_(?:fwd|bf16|fp16|fp8|decode|prefill|ragged)|paged_attn|prefix_prefill",
        r"^_(?:fwd|bwd)(?:_grouped)?_kernel(?:_stage\d|_dk_?dv|_dq|_destindex)?(?:$|_\d)",
        r"^_?bwd_(?:kernel_fuse|kernel_dk_?dv|kernel_dq|preprocess)|^reduce_segments$|kn_mla",
        r"merge_(?:attn_)?states?_kernel|selective_attn|natten|compute_dot_do_o|convert_dq",
    ),
    _row(
        CONVOLUTION,
        r"conv(?!ert)|fprop|wgrad|dgrad|winograd|(?:^|_)igemm_|im2d?2?col|im2col|col2im|vol2col",
        r"implicit_gemm|nchwtonhwc|nhwctonchw|batched_transpose_\d|transpose_(?:nchw|cnhw)2",
        r"subtensorop|scudnn|h\d+cudnn|s\d+cudnn|xdlops_(?:bwd|fwd|conv)|cask_cudnn|cutlass_cudnn",
        r"miopen(?:gcn|sp\d|conv|cv)|gcnasm|cudnn::gemm::compute|fft2d_[rc]2[rc]|tensortransform",
        r"kern_precompute_indices",
    ),
    _row(
        GEMM,
        r"(?<!fb)gemm|gemv|nvjet|^cijk_|^custom_cijk|cublas|splitk|matmul|xmma|wvsplitk|tensile",
        r"marlin|machete|_scaled_mm|mul_mat_(?:vec_)?q|cutlass(?!::(?:bfloat|half|tfloat))",
        r"^epilogue::impl|^dot_kernel|^reduce_1block_kernel|^scal_kernel|rocblas_dot|^bmm_\w{0,60}_t\d|fused_moe_kernel",
        r"^_?\w{0,20}grouped_mm|moe_mmk|fmoe_|^_fused_moe|_mm_kernel|mfma_moe",
    ),
)
"""Kernels of libraries and their families; the first row that matches counts."""
_ANONYMOUS = "(anonymous namespace)::"
_TYPE = ">::type "
_RETURNS = ("void ", "__global__ ")
# cutlass::Kernel2<…>, cutlass::device_kernel<…>, ck_tile::kentry<…>, xmma_new::gemm::kernel<…>
_WRAPPER = re.compile(
    r"(?:^|::)(?:kernel\d?|device_kernel|kentry|globalkernel|run_kernel|trampoline_kernel)$", re.I
)
_TORCH = re.compile(r"^(?:at::|at_cuda_detail::|c10::|cub::|hipcub::|rocprim::|thrust::)")


def generated_category(name: str) -> str | None:
    """The category of a kernel that Inductor generated; None for others."""
    return next((row.category for row in GENERATED if row.pattern.match(name)), None)


def family_of_name(name: str) -> str:
    """The family of a library's kernel, 'gemm' or another; 'memcpy' or 'memset'; else 'other'."""
    part = telling(name)
    return next((row.category for row in LIBRARIES if row.pattern.search(part)), OTHER)


def telling(name: str) -> str:
    """The part of a name that says what the kernel does, in plain C++ without its arguments."""
    short = name.replace(_ANONYMOUS, "")
    if short.startswith("std::enable_if<"):
        short = short.partition(_TYPE)[2]
    for word in _RETURNS:
        short = short.removeprefix(word)
    head = short.partition("<")[0].partition("(")[0]
    if _WRAPPER.search(head) and not _TORCH.match(head):
        return short.partition(">(")[0]
    return head


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
