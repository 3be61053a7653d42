"""Figures with their units, names cut, ages."""

from datetime import UTC, datetime, timedelta

import pytest
from inductorscope import units
from inductorscope_server.rendering import filters


def plain(text: str) -> str:
    return text.replace(units.THIN, " ")


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (None, "—"),
        (float("nan"), "—"),
        (0, "0 µs"),
        (0.05, "50.0 ns"),
        (1.234, "1.23 µs"),
        (12.34, "12.3 µs"),
        (999.4, "999 µs"),
        (999.6, "1.00 ms"),
        (12_345, "12.3 ms"),
        (1_234_567, "1.23 s"),
        (113.8e6, "114 s"),
        (200e6, "3 min 20 s"),
        (-12.34, "-12.3 µs"),
    ],
)
def test_durations(microseconds: float | None, text: str) -> None:
    assert plain(units.microseconds(microseconds)) == text


def test_other_units_of_time() -> None:
    assert plain(units.milliseconds(5.4)) == "5.40 ms"
    assert plain(units.seconds(12.4)) == "12.4 s"
    assert units.milliseconds(None) == units.seconds(None) == "—"


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(None, "—"), (0, "0 µs"), (0.001, "0 µs"), (-0.0157, "−0.02 µs"), (0.2, "+0.20 µs"),
     (-702, "−702 µs"), (1200, "+1.20 ms")],
)  # fmt: skip
def test_differences_of_durations(microseconds: float | None, text: str) -> None:
    assert plain(units.signed_microseconds(microseconds)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (4 * 2**30, "4.00 GiB"), (None, "—")],
)
def test_sizes(value: int | None, text: str) -> None:
    assert plain(units.size_in_bytes(value)) == text


def test_other_figures() -> None:
    assert plain(units.bandwidth(136.2e9)) == "136 GB/s"
    assert plain(units.percent(0.176)) == "17.6 %"
    assert plain(units.percent(0.0001)) == "< 0.1 %"
    assert [plain(units.percent(value)) for value in (0, 1, 0.9999)] == ["0 %", "100 %", "> 99.9 %"]
    assert units.ratio(1.2361) == "1.24×"
    assert plain(units.count(12_345)) == "12 345"
    assert plain(units.plural(1, "graph")) == "1 graph"
    assert plain(units.plural(0, "graph")) == "0 graphs"
    assert plain(units.plural(2, "entry", "entries")) == "2 entries"
    assert units.step(0.333) == 33
    assert units.step(7.0) == 100
    assert units.step(None) == 0


def test_names_are_cut_in_the_middle() -> None:
    name = "triton_per_fused__to_copy_add_embedding_native_layer_norm_1"
    assert units.middle(name) == "triton_per_fused_…ayer_norm_1"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("torch.ops.aten.convolution_backward.default", "aten.convolution_backward"),
        ("void cutlass::Kernel2<cutlass_80_tn_align2>(cutlass_80_tn_align2::Params)",
         "cutlass_80_tn_align2"),
        ("void at::native::(anonymous namespace)::indexSelect<c10::BFloat16>(at::Info<int>, int)",
         "indexSelect<BFloat16>"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>, "
         "std::array<char*, 3ul> >(int, at::native::Add<float>, std::array<char*, 3ul>)",
         "vectorized_elementwise_kernel<4, Add<float>>"),
        ("void unbalanced<(int)", "unbalanced<(int)"),
    ],
)  # fmt: skip
def test_names_of_kernels_lose_what_many_have(name: str, told: str) -> None:
    assert units.telling(name) == told


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (timedelta(seconds=-5), "now"),
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=2), "2 min ago"),
        (timedelta(hours=1), "1 h ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_ages(passed: timedelta, text: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert units.age(now - passed, now) == text


def test_an_age_tells_the_moment() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert 'title="2026-01-02 03:04:05 UTC"' in filters.ago(moment)
    assert filters.ago(None) == "—"
