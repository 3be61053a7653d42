"""Kernels are named by what they compute, each of a graph differently."""

import re
from pathlib import Path

import pytest
from inductorscope.formats.code.short_names import short_name

FIXTURES = Path(__file__).parents[2] / "fixtures"
CALLED = re.compile(
    r"\b(triton_\w+_fused_\w+|cpp_fused_\w+|extern_kernels\.\w+|torch\.ops\.[\w.]+)\("
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("triton_per_fused__to_copy_add_native_layer_norm_native_layer_norm_backward_view_17",
         "layer_norm_backward + to_copy + add 17"),
        ("triton_poi_fused_gelu_view_10", "gelu 10"),
        ("triton_red_fused__native_batch_norm_legit_functional_max_pool2d_with_indices_relu_3",
         "batch_norm + max_pool2d_with_indices + relu 3"),
        ("triton_poi_fused_t_view_4", "t + view 4"),
        ("cpp_fused_cat_maximum_neg_0", "maximum + cat + neg 0"),
        ("extern_kernels.mm", "mm"),
        ("torch.ops.aten.mm.default", "aten.mm"),
        ("torch.ops.aten._scaled_dot_product_cudnn_attention.default",
         "scaled_dot_product_cudnn_attention"),
        ("triton_poi_fused_add", "triton_poi_fused_add"),
        ("nvjet_sm90_tst_64x48", "nvjet_sm90_tst_64x48"),
    ],
)  # fmt: skip
def test_kernels_are_named_by_what_they_compute(name: str, short: str) -> None:
    assert str(short_name(name)) == short


def test_no_two_kernels_of_a_graph_have_the_same_short_name() -> None:
    seen = 0
    for code in FIXTURES.rglob("*output_code*"):
        names = set(CALLED.findall(code.read_text())) if code.suffix in (".py", ".txt") else set()
        assert len({str(short_name(name)) for name in names}) == len(names), code
        seen += len(names)
    assert seen > 10
