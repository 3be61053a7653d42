"""Kinds of kernels: Inductor's names of all ages, libraries' names, and operators that launched."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.time.kernel_names import (
    category_of,
    family_of_name,
    generated_category,
    operator_family,
)
from inductorscope.formats.vocabulary import CATEGORY_BY_ID

NAMES = {
    "triton_poi_fused_add_0": "triton_pointwise",
    "triton_red_fused_sum_4": "triton_reduction",
    "triton_per_fused_native_layer_norm_1": "triton_persistent_reduction",
    "triton_tem_fused_addmm_3": "triton_template",
    "triton_for_fused_0": "triton_foreach",
    "triton_spl_fused_cumsum_0": "triton_split_scan",
    "triton_unk_fused_mean_0": "triton_other",
    "triton_poi_fused_add_0_0d1d2d3de": "triton_pointwise",
    "my_model_triton_red_fused_mean_2": "triton_reduction",
    "triton__0d1d2d3d4d": "triton_other",
    "triton_": "triton_other",
    "triton_fused_add_1": "triton_other",
    "triton_mm": "triton_template",
    "graph_0_cpp_fused_gelu_view_2": "cpp_fused",
    "cpp_CppMicroGemmFP32Vec_fused_linear_0": "cpp_fused",
    "add_kernel_0d1d2d3de": "user_triton",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "communication",
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t": "communication",
    "void vllm::cross_device_reduce_1stage<__hip_bfloat16, 8>": "communication",
}


@pytest.mark.parametrize(("name", "category"), NAMES.items())
def test_names_that_tell_by_themselves(name: str, category: str) -> None:
    assert category_of(name) == category
    assert category_of(name, compiled=True) == category


def test_what_real_kernels_do(fixtures: Path) -> None:
    """Names of kernels from traces of many libraries, judged by hand; long ones are cut."""
    rows = [line.split("\t") for line in (fixtures / "kernel-names.txt").read_text().splitlines()]
    assert len(rows) > 500
    wrong = [
        (name, judged)
        for judged, name in rows
        if (generated_category(name) or family_of_name(name)) != judged
    ]
    assert wrong == []


LIBRARIES = {
    "nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT": "gemm",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64": "gemm",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64>": "gemm",
    "sm100_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64": "gemm",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>": "gemm",
    "igemm_wrw_gtcx2_nhwc_bf16_bx0_ex1_bt256x128x16": "convolution",
    "batched_transpose_16x64_pack_1x4_ediv_1x2_half": "convolution",
    "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32": "convolution",
    "void implicit_convolve_sgemm<float, float, 1024, 5, 5>": "convolution",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>": "attention",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7": "attention",
    "fmha_cutlassF_bf16_aligned_64x128_rf_sm80": "attention",
    "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>": "cache",
    "void ck_tile::kentry<ck_tile::FmhaFwdKernel<...>>": "attention",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>": "other",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>": "other",
}


@pytest.mark.parametrize(("name", "family"), LIBRARIES.items())
def test_libraries_that_compiled_code_calls(name: str, family: str) -> None:
    assert category_of(name, compiled=True) == f"extern_{family}"
    assert category_of(name) == ("eager" if family == "other" else f"eager_{family}")


@pytest.mark.parametrize(
    ("op", "name", "category"),
    [
        ("aten::mm", "some_kernel_of_tomorrow", "extern_gemm"),
        ("aten::_flash_attention_forward", "attn_fwd", "extern_attention"),
        ("aten::_cudnn_attention_backward", "void cudnn::fusion::compute_dot_do_o<true>",
         "extern_attention"),
        ("aten::convolution_backward", "some_kernel", "extern_convolution"),
        ("aten::add_", "void at::native::vectorized_elementwise_kernel<4, Gemm>", "extern_other"),
        ("c10d::allreduce_", "some_kernel", "communication"),
    ],
)  # fmt: skip
def test_the_operator_is_asked_first(op: str, name: str, category: str) -> None:
    assert category_of(name, op=op, compiled=True) == category


def test_a_kernel_of_the_users_that_inductor_launches() -> None:
    category = category_of("add_kernel_0", op="add_kernel_0", triton=True, compiled=True)
    assert category == "user_triton"


def test_copies() -> None:
    assert category_of("Memcpy HtoD (Pinned -> Device)", "memcpy") == "memcpy"
    assert category_of("Memset (Device)", "memset", "aten::mm", compiled=True) == "memset"


@pytest.mark.parametrize(
    ("op", "family"),
    [
        ("mkl::_mkl_linear", "gemm"), ("mkldnn::_linear_pointwise", "gemm"),
        ("aten::addmm", "gemm"), ("aten::_int_mm", "gemm"), ("aten::bmm", "gemm"),
        ("mkldnn::_convolution_pointwise", "convolution"), ("aten::convolution", "convolution"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::_to_copy", "other"), ("aten::add_", "other"), ("nccl:all_reduce", "communication"),
    ],
)  # fmt: skip
def test_operators(op: str, family: str) -> None:
    assert operator_family(op) == family


@given(
    st.text(max_size=60), st.none() | st.text(max_size=20), st.booleans(), st.booleans(),
    st.sampled_from(["kernel", "memcpy", "memset"]),
)  # fmt: skip
def test_any_name_has_a_category(
    name: str, op: str | None, triton: bool, compiled: bool, kind: str
) -> None:
    assert category_of(name, kind, op, triton=triton, compiled=compiled) in CATEGORY_BY_ID
