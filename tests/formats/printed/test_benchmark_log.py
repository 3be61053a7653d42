"""What compiled modules print about themselves, of this and of older versions."""

import tarfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.printed.benchmark_log import parse_benchmark_log

from tests.support.benchmark_texts import BANDWIDTH, CONFIGS, KERNELS, PROFILE


def test_a_profile() -> None:
    log = parse_benchmark_log(PROFILE)
    assert (log.wall_ms, log.problems) == (1.023, [])
    assert parse_benchmark_log(PROFILE.partition("Total wall")[0]).wall_ms == 0.001023 * 1e3


def test_of_several_reports_the_first_counts() -> None:
    log = parse_benchmark_log(PROFILE + PROFILE.replace("1.023", "7.000") + "0.000007\n0.000008\n")
    assert log.wall_ms == 1.023
    assert parse_benchmark_log("0.000007\n0.000008\n").wall_ms == 0.000007 * 1e3


def test_kernels_alone() -> None:
    log = parse_benchmark_log(KERNELS)
    first, second = log.kernels
    assert (first.ms, first.gb_per_s, first.key) == (0.003, 88.09, "c7fweebsor")
    assert (second.registers, second.spills, second.shared_bytes) == (156, 2, 4096)
    assert log.problems == []
    (alone,) = parse_benchmark_log("0.012ms    0.003GB    250.00GB/s\n").kernels
    assert (alone.ms, alone.gigabytes, alone.gb_per_s, alone.key) == (0.012, 0.003, 250, None)


def test_configurations_of_a_kernel() -> None:
    first, second = parse_benchmark_log(CONFIGS).kernels
    assert (first.key, first.registers) == ("cpxub2atgo", 32)
    assert (second.ms, second.registers) == (0.006, None)


def test_bandwidth_of_a_graph() -> None:
    log = parse_benchmark_log(BANDWIDTH)
    assert log.problems == []
    assert [(kernel.name, kernel.ms) for kernel in log.kernels] == [
        ("triton_red_fused_sum_1", 0.1), ("triton_poi_fused_add_relu_0", 0.021),
    ]  # fmt: skip


def test_bandwidth_as_it_is_printed() -> None:
    prefix = "I1121 01:25:55.678000 419 torch/_inductor/runtime/triton_heuristics.py:3016] "
    text = f"{prefix}0.021ms    \t0.002 GB \t   95.77GB/s \t triton_poi_fused_add_relu_0\n"
    text += f"{prefix}SUMMARY (/tmp/cab.py)\n0.12ms   \t 0.25 GB\t 2077.82GB/s\n"
    log = parse_benchmark_log(text)
    assert [kernel.name for kernel in log.kernels] == ["triton_poi_fused_add_relu_0"]


def test_carriage_returns_change_nothing() -> None:
    text = PROFILE + KERNELS + CONFIGS + BANDWIDTH
    assert parse_benchmark_log(text.replace("\n", "\r\n")) == parse_benchmark_log(text)


def problems(text: str) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.reason) for problem in parse_benchmark_log(text).problems]


def test_what_is_cut_or_damaged_is_told() -> None:
    assert problems("nothing of it\n") == [(None, "no report of a benchmark was found")]
    assert problems(KERNELS.replace("0.003ms", "infms")) == [
        (1, "a kernel's measurements could not be read")
    ]


def test_logs_that_this_was_not_written_for(shared: Path) -> None:
    found = 0
    with tarfile.open(shared / "traces" / "cuda-mixnet-train.tar.xz") as archive:
        for member in archive:
            if member.name.endswith("wrapper_benchmark.log"):
                opened = archive.extractfile(member)
                assert opened is not None
                text = opened.read().decode()
                log = parse_benchmark_log(text)
                assert log.problems == []
                wall = text.partition("Output for tabulate: ")[2].rpartition(", ")[2]
                assert log.wall_ms == float(wall.strip().removesuffix("ms"))
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


LINES = st.sampled_from((PROFILE + KERNELS + CONFIGS + BANDWIDTH).split("\n"))


@given(st.one_of(st.lists(LINES, max_size=40).map("\n".join), st.text(max_size=300)))
def test_any_text_is_read(text: str) -> None:
    log = parse_benchmark_log(text)
    last = text.count("\n") + 1
    assert all(problem.line is None or 1 <= problem.line <= last for problem in log.problems)
    assert len(log.kernels) <= text.count("GB/s")
