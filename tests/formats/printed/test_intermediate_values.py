"""Values that AOTInductor prints around every launch."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.printed.intermediate_values import parse_intermediate_values, saved_value


def test_a_real_print(fixtures: Path) -> None:
    text = (fixtures / "intermediate-values" / "cpu-printed.txt").read_text()
    found = parse_intermediate_values(text)
    assert len(found.values) == text.count("\n[  ") + text.startswith("[  ") == 13
    first, second, third = found.values[:3]
    assert (first.when, first.kernel, first.argument) == ("aoti_model_inputs", "", "arg2_1")
    assert (first.elements, first.dtype, first.device, first.size) == (
        16, "float32", "cpu", ("2", "8"),
    )  # fmt: skip
    assert (first.mean, first.least, first.largest) == (0.144603, -2.2793, 1.745)
    assert (second.when, second.kernel, second.argument) == ("before_launch", "cpp_fused_0", "buf0")
    assert (third.when, third.mean) == ("after_launch", -0.0549532)
    assert text.split("\n")[third.line - 1].startswith("[  after_launch - cpp_fused_0 - buf0")
    launched = dict.fromkeys(item.kernel for item in found.values if item.when == "before_launch")
    assert [*launched] == ["cpp_fused_0", "aoti_torch_cpu_addmm_out", "cpp_fused_relu_sum_1"]


def test_numbers_names_and_the_older_label() -> None:
    found = parse_intermediate_values(
        "[  before_launch - triton_poi_fused_0 - 4096L: 4096  ]\n"
        "[ before_launch: cpp_fused_1 ]\n"
        "[  after_launch - k - buf0  ]:\nDtype: 0.25\nMin value: nan\nNumber of elements: x\n"
    ).values
    assert (found[0].argument, found[0].value) == ("4096L", "4096")
    assert (found[1].kernel, found[1].argument) == ("cpp_fused_1", "")
    assert (found[2].mean, found[2].dtype, found[2].elements) == (0.25, "", None)


def test_names_of_saved_files() -> None:
    name = "aoti_torchbefore_launch_aoti_torch_cpu_addmm_out_arg2_1_cpu.pt"
    assert saved_value(name) == ("before_launch", "aoti_torch_cpu_addmm_out", "arg2_1")
    assert saved_value("after_launch_triton_poi_fused_0_buf12.pt") == (
        "after_launch", "triton_poi_fused_0", "buf12",
    )  # fmt: skip
    assert saved_value("weights.pt") is None


@given(text=st.text(alphabet="[] before_launch-:kbuf0\nDtype: Mean value1.5Size", max_size=200))
def test_any_text_is_read(text: str) -> None:
    parse_intermediate_values(text)
    saved_value(text)


@pytest.mark.parametrize("piece", ["[ ", "[  before_launch - ", "Size: [", "a - b - ", "_launch_"])
def test_long_lines_are_read(piece: str) -> None:
    assert parse_intermediate_values(piece * 50_000).values == []
    assert saved_value(piece * 50_000 + ".pt") is None
