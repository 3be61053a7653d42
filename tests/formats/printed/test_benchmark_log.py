"""What compiled modules print about themselves, of this and of older versions."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.printed.benchmark_log import BenchmarkLog, parse_benchmark_log

from tests.support.benchmark_texts import BANDWIDTH, CONFIGS, KERNELS, PROFILE


def test_a_profile() -> None:
    log = parse_benchmark_log(PROFILE)
    assert log.problems == []
    (profile,) = log.profiles
    assert (profile.wall_ms, profile.profiled_wall_ms) == pytest.approx((1.023, 2.092))
    assert (profile.peak_bytes, profile.device, profile.busy_percent) == (200.96e6, "cuda", 4.53)
    assert (profile.benchmark, profile.trace_path) == (None, "/tmp/compiled_module_profile.json")
    pointwise, unknown = profile.categories
    assert (pointwise.name, pointwise.device, pointwise.line) == ("triton_pointwise", "cuda", 18)
    assert [
        (row.name, row.self_ms, row.count, row.percent, row.line) for row in pointwise.rows
    ] == [
        ("triton_poi_fused_gelu_view_10", 0.010586, 4, 1.04, 21),
        ("triton_poi_fused_arange_2", 6.5092e-05, 1.5, 0.01, 22),
    ]
    assert (pointwise.total_ms, pointwise.total_percent) == (0.010651, 1.05)
    assert [row.name for row in unknown.rows] == [
        "void at::native::kernel<128, 4, at::native::copy(at::T", "Memset (Device)",
    ]  # fmt: skip
    assert profile.tabulate is not None
    assert profile.tabulate.percents["unknown"] == 3.48
    assert (profile.tabulate.busy_percent, profile.tabulate.wall_ms) == (4.53, 1.023)
    assert profile.key_averages is log.tables[0]
    assert [row.name for row in log.tables[0]] == ["aten::addmm", "nvjet_sm90_tst_64x48_"]


def test_several_reports_in_one_log() -> None:
    log = parse_benchmark_log(PROFILE + PROFILE.replace("1.023", "7.000") + "0.000007\n0.000008\n")
    walls = [profile.wall_ms for profile in log.profiles]
    assert walls == pytest.approx([1.023, 7, 0.007, 0.008])
    assert [len(profile.categories) for profile in log.profiles] == [2, 2, 0, 0]


def test_the_older_spelling() -> None:
    text = "**Percent of time when GPU is busy: 102.88%**\n(Forward graph) Percent of time when GPU"
    log = parse_benchmark_log(text + " is busy: 32.69%\n")
    assert [(profile.device, profile.busy_percent) for profile in log.profiles] == [
        ("gpu", 102.88), ("gpu", 32.69),
    ]  # fmt: skip
    old = PROFILE.replace("0.00%, 0.00%, 0.00%", "0.00%, 0.00%")
    (profile,) = parse_benchmark_log(old).profiles
    assert profile.tabulate is not None
    assert list(profile.tabulate.percents) == [
        "triton_pointwise", "triton_reduction", "triton_persistent_reduction", "unknown",
    ]  # fmt: skip


def test_kernels_alone() -> None:
    log = parse_benchmark_log(KERNELS)
    first, second = log.kernels
    assert (first.ms, first.gb_per_s, first.key, first.category) == (
        0.003,
        88.09,
        "c7fweebsor",
        "UNK",
    )
    assert (first.benchmark, first.slow) == (None, False)
    assert (second.benchmark, second.category, second.slow) == ("gpt layer one", "POI", True)
    assert (second.registers, second.spills, second.shared_bytes) == (156, 2, 4096)
    assert (second.line, log.problems) == (2, [])
    (alone,) = parse_benchmark_log("0.012ms    0.003GB    250.00GB/s\n").kernels
    assert (alone.ms, alone.gigabytes, alone.gb_per_s, alone.key) == (0.012, 0.003, 250, None)


def test_configurations_of_a_kernel() -> None:
    first, second = parse_benchmark_log(CONFIGS).kernels
    assert (first.key, first.category, first.config) == (
        "cpxub2atgo", "RED", "XBLOCK: 1",
    )  # fmt: skip
    assert (second.registers, second.config) == (None, "XBLOCK: 8, num_warps: 2")


def test_bandwidth_of_a_graph() -> None:
    log = parse_benchmark_log(BANDWIDTH + BANDWIDTH)
    assert (len(log.bandwidth), log.kernels, log.problems) == (2, [], [])
    report = log.bandwidth[0]
    assert (report.file, report.line) == ("/tmp/torchinductor_user/ab/cab.py", 2)
    assert [(kernel.name, kernel.percent) for kernel in report.kernels] == [
        ("triton_red_fused_sum_1", 82.44), ("triton_poi_fused_add_relu_0", 17.56),
    ]  # fmt: skip
    assert (report.total_ms, report.total_gb, report.total_gb_per_s) == (0.12, 0.25, 2077.82)


def test_bandwidth_as_it_is_printed() -> None:
    prefix = "I1121 01:25:55.678000 419 torch/_inductor/runtime/triton_heuristics.py:3016] "
    text = f"{prefix}0.021ms    \t0.002 GB \t   95.77GB/s \t triton_poi_fused_add_relu_0\n"
    text += f"{prefix}SUMMARY (/tmp/cab.py)\n0.12ms   \t 0.25 GB\t 2077.82GB/s\n"
    log = parse_benchmark_log(text)
    assert [kernel.name for kernel in log.kernels] == ["triton_poi_fused_add_relu_0"]
    assert [(report.file, report.total_ms) for report in log.bandwidth] == [("/tmp/cab.py", 0.12)]


def test_carriage_returns_change_nothing() -> None:
    text = PROFILE + KERNELS + CONFIGS + BANDWIDTH
    assert parse_benchmark_log(text.replace("\n", "\r\n")) == parse_benchmark_log(text)


def problems(text: str) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.reason) for problem in parse_benchmark_log(text).problems]


def test_what_is_cut_or_damaged_is_told() -> None:
    assert problems("nothing of it\n") == [(None, "no report of a benchmark was found")]
    cut = PROFILE.split("Total   ")[0]
    assert problems(cut) == [(22, "the table of triton_pointwise is cut short")]
    damaged = PROFILE.replace("0.010586", "0.01x586")
    assert problems(damaged) == [(21, "not a row of the table of triton_pointwise")]
    assert problems(PROFILE.replace("1.023ms", "")) == [
        (34, "the line for tabulate has other columns")
    ]
    assert problems(KERNELS.replace("0.003ms", "infms")) == [
        (1, "a kernel's measurements could not be read")
    ]
    assert problems(BANDWIDTH.split("SUMMARY")[0]) == [(2, "the bandwidth report has no summary")]


def consistent(log: BenchmarkLog) -> None:
    """What a report says twice agrees."""
    assert log.problems == []
    (profile,) = log.profiles
    assert profile.tabulate is not None
    assert profile.wall_ms == profile.tabulate.wall_ms
    assert profile.busy_percent == profile.tabulate.busy_percent
    assert profile.busy_percent == pytest.approx(
        sum(table.total_percent or 0 for table in profile.categories), abs=0.03
    )
    for table in profile.categories:
        assert table.total_ms == pytest.approx(sum(row.self_ms for row in table.rows), rel=1e-4)
        assert table.total_percent == profile.tabulate.percents[table.name]
        for row in table.rows:
            assert row.percent == pytest.approx(row.self_ms / profile.wall_ms * 100, abs=0.02)


def rows_by_search(text: str) -> int:
    return len(re.findall(r"^\S.* {2,}\d\S* +\d+(?:\.\d+)? +[\d.]+%$", text, re.M))


def test_logs_that_this_was_written_for(shared: Path) -> None:
    paths = sorted((shared / "traces" / "cuda-gpt-train").rglob("wrapper_benchmark.log"))
    assert len(paths) == 2
    for path in paths:
        consistent(parse_benchmark_log(path.read_text()))


def test_logs_that_this_was_not_written_for(shared: Path) -> None:
    found = 0
    with tarfile.open(shared / "traces" / "cuda-mixnet-train.tar.xz") as archive:
        for member in archive:
            if member.name.endswith("wrapper_benchmark.log"):
                opened = archive.extractfile(member)
                assert opened is not None
                text = opened.read().decode()
                log = parse_benchmark_log(text)
                consistent(log)
                rows = sum(len(table.rows) for table in log.profiles[0].categories)
                assert rows == rows_by_search(text) > 200
                assert len(log.tables[0]) == 10
                found += 1
    assert found == 2


def test_kernel_logs(shared: Path) -> None:
    paths = sorted((shared / "traces").rglob("kernel_benchmark.log"))
    assert len(paths) == 2
    for path in paths:
        text = path.read_text()
        log = parse_benchmark_log(text)
        assert len(log.kernels) == text.count("GB/s") == text.count("\n")
        assert all(kernel.registers and kernel.key for kernel in log.kernels)
        assert [kernel.slow for kernel in log.kernels] == [
            kernel.ms > 0.012 and kernel.gb_per_s < 650 for kernel in log.kernels
        ]


def test_tables_within_a_tutorial(shared: Path) -> None:
    (path,) = (shared / "seeds").glob("001_*.txt")
    log = parse_benchmark_log(path.read_text())
    assert [(table.line, len(table)) for table in log.tables] == [(516, 20), (544, 20)]
    assert log.profiles == []


LINES = st.sampled_from((PROFILE + KERNELS + CONFIGS + BANDWIDTH).split("\n"))


@given(st.one_of(st.lists(LINES, max_size=40).map("\n".join), st.text(max_size=300)))
def test_any_text_is_read(text: str) -> None:
    log = parse_benchmark_log(text)
    last = text.count("\n") + 1
    assert all(problem.line is None or 1 <= problem.line <= last for problem in log.problems)
    measured = [*log.kernels, *(kernel for each in log.bandwidth for kernel in each.kernels)]
    assert len(measured) <= text.count("GB/s")
