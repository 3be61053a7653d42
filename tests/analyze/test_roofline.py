"""Roofs, headroom, and devices by the names that drivers give them."""

import pytest
from inductorscope.analyze.roofline.devices import device_peaks
from inductorscope.analyze.roofline.roofline import Peaks, peaks_of, standing

PEAKS = Peaks("x", 1e12, {"float32": 2e13, "bfloat16": 1e15}, 2e13, 4e12, "measured", "here")


@pytest.mark.parametrize(
    ("name", "known", "gbs"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80 GB", 2039),
        ("NVIDIA A100-SXM4-40GB", "A100 40 GB", 1555),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80 GB", 1935),
        ("NVIDIA H100 80GB HBM3", "H100 SXM", 3350),
        ("NVIDIA H100 PCIe", "H100 PCIe", 2000),
        ("NVIDIA H200", "H200", 4800),
        ("NVIDIA B200", "B200", 8000),
        ("AMD Instinct MI300X", "MI300X", 5300),
        ("AMD Instinct MI210", "MI210", 1638),
        ("NVIDIA GeForce RTX 4090", "RTX 4090", 1008),
        ("NVIDIA RTX A6000", "RTX A6000", 768),
        ("Tesla T4", "T4", 320),
        ("Tesla V100-SXM2-16GB", "V100", 900),
        ("NVIDIA L4", "L4", 300),
    ],
)
def test_devices_by_their_names(name: str, known: str, gbs: int) -> None:
    found = device_peaks(name)
    assert found is not None
    assert (found.name, found.memory) == (known, gbs * 1e9)
    assert found.matmul["float16"] >= found.matmul["float32"] > 0


@pytest.mark.parametrize("name", [None, "", "AMD EPYC", "Intel(R) Xeon(R) Platinum 8480+"])
def test_other_names_are_not_known(name: str | None) -> None:
    assert device_peaks(name) is None
    assert peaks_of(None, name) is None


def test_what_was_measured_comes_first() -> None:
    measured = {"memory_bytes_per_s": 4.2e12, "matmul_flops": {"bfloat16": 8e14}}
    found = peaks_of(measured, "NVIDIA H200")
    assert found is not None
    assert (found.provenance, found.memory) == ("measured", 4.2e12)
    table = peaks_of({"memory_bytes_per_s": "much"}, "NVIDIA H200")
    assert table is not None
    assert table.provenance == "estimated"


def test_memory_bound() -> None:
    found = standing(PEAKS, moved=4e6, products=None, operations=1e6, dtype="", time_us=16.0,
                     step_us=100.0)  # fmt: skip
    assert (found.bound, found.roof_us, found.share) == ("memory", 4.0, 0.25)
    assert (found.headroom_us, found.saves, found.over) == (12.0, 0.12, "")
    assert found.bytes_per_s == 2.5e11


def test_calls_whose_roof_is_below_the_time_to_start_a_kernel_are_too_small_to_judge() -> None:
    found = standing(PEAKS, moved=4e6, products=None, operations=1e6, dtype="", time_us=16.0,
                     step_us=100.0, calls=4)  # fmt: skip
    assert (found.small, found.share, found.saves) == (True, 0.25, None)


def test_no_kernel_saves_more_than_its_own_time() -> None:
    """A profile can be slower than the timed step."""
    found = standing(PEAKS, moved=1e6, products=None, operations=None, dtype="", time_us=100.0,
                     step_us=40.0)  # fmt: skip
    assert found.headroom_us is not None
    assert found.saves == found.headroom_us / 100.0


def test_compute_bound() -> None:
    found = standing(PEAKS, moved=1e6, products=1e10, operations=None, dtype="bfloat16",
                     time_us=20.0, step_us=None)  # fmt: skip
    assert (found.bound, found.roof_us, found.share, found.saves) == ("compute", 10.0, 0.5, None)


def test_over_the_roof_is_flagged_and_not_hidden() -> None:
    found = standing(PEAKS, moved=1e6, products=None, operations=None, dtype="", time_us=0.5,
                     step_us=100.0)  # fmt: skip
    assert found.share == 2.0
    assert found.headroom_us == 0.0
    assert "cache" in found.over


def test_without_bytes_or_peaks_nothing_is_claimed() -> None:
    unknown = standing(PEAKS, moved=None, products=1e9, operations=None, dtype="bfloat16",
                       time_us=5.0, step_us=10.0)  # fmt: skip
    assert (unknown.bound, unknown.share, unknown.saves) == ("unknown", None, None)
    none = standing(None, moved=1e6, products=None, operations=None, dtype="", time_us=5.0,
                    step_us=10.0)  # fmt: skip
    assert none.bytes_per_s == pytest.approx(2e11)
    assert none.share is None
