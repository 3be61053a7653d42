"""A `key_averages` table without a trace has figures."""

from pathlib import Path

import pytest
from inductorscope.analyze.time.facts import ProfileFacts
from inductorscope.formats.printed.key_averages import parse_key_averages
from inductorscope.reading.profiles.profiles import ProfileRead, draft_of


@pytest.mark.parametrize(
    ("folder", "on_device", "us", "slowest"),
    [
        # 1.952 µs of one kernel, as the table's last line says
        ("cuda-foo1", True, 1.952, "triton_poi_fused_maximum_neg_0"),
        # sums of the columns Self CUDA and Self CPU, without annotations
        ("cuda-gpt-train", True, 1_296.5, "void at::native::vectorized_elementwise_kernel<4"),
        ("cpu-gpt-train", False, 87_402.3, "aten::mm"),
    ],
)
def test_a_table_alone_has_its_kernels_and_kinds(
    shared: Path, folder: str, on_device: bool, us: float, slowest: str
) -> None:
    rows = parse_key_averages((shared / "traces" / folder / "compiled.table.txt").read_bytes())
    draft = draft_of(ProfileRead("compiled", rows=rows, facts=ProfileFacts()))
    figures = draft.facts.breakdown
    assert figures is not None
    assert (figures.on_device, figures.timeline) == (on_device, None)
    assert figures.total_us == pytest.approx(us, rel=0.002)
    assert sum(category.us for category in figures.categories) == pytest.approx(figures.total_us)
    assert draft.kernels[0].name.startswith(slowest)
    assert [kernel.position for kernel in draft.kernels] == list(range(len(draft.kernels)))
