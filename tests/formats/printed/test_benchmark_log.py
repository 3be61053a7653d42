"""What compiled modules print about themselves, of this and of older versions."""

import re
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.printed.benchmark_log import parse_benchmark_log

from tests.support.benchmark_texts import BANDWIDTH, CONFIGS, KERNELS, PROFILE


def test_a_profile() -> None:
    log = parse_benchmark_log(PROFILE)
    assert log.problems == []
    (profile,) = log.profiles
    assert (profile.wall_ms, profile.busy_percent) == pytest.approx((1.023, 4.53))
    assert profile.kernels == 4


def test_several_reports_in_one_log() -> None:
    log = parse_benchmark_log(PROFILE + PROFILE.replace("1.023", "7.000") + "0.000007\n0.000008\n")
    walls = [profile.wall_ms for profile in log.profiles]
    assert walls == pytest.approx([1.023, 7, 0.007, 0.008])
    assert [profile.kernels for profile in log.profiles] == [4, 4, 0, 0]


def test_the_older_spelling() -> None:
    text = "**Percent of time when GPU is busy: 102.88%**\n(Forward graph) Percent of time when GPU"
    log = parse_benchmark_log(text + " is busy: 32.69%\n")
    assert [profile.busy_percent for profile in log.profiles] == [102.88, 32.69]


def test_kernels_alone() -> None:
    log = parse_benchmark_log(KERNELS)
    first, second = log.kernels
    assert (first.ms, first.gb_per_s, first.key) == (0.003, 88.09, "c7fweebsor")
    assert (second.registers, second.spills, second.shared_bytes) == (156, 2, 4096)
    assert (second.line, log.problems) == (2, [])
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
    cut = PROFILE.split("Total   ")[0]
    assert problems(cut) == [(22, "the table of triton_pointwise is cut short")]
    assert problems(KERNELS.replace("0.003ms", "infms")) == [
        (1, "a kernel's measurements could not be read")
    ]


def rows_by_search(text: str) -> int:
    return len(re.findall(r"^\S.* {2,}\d\S* +\d+(?:\.\d+)? +[\d.]+%$", text, re.M))


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
                (profile,) = log.profiles
                *_, busy, wall = text.partition("Output for tabulate: ")[2].split(", ")
                assert (profile.busy_percent, profile.wall_ms) == (
                    float(busy.rstrip("%")), float(wall.strip().removesuffix("ms"))
                )  # fmt: skip
                assert profile.kernels == rows_by_search(text) > 200
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
