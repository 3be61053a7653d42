"""The sizes of launches: read from traces, computed from code and logs, and put into words."""

import io
import json
import shutil
from pathlib import Path

import pytest
from inductorscope.agents.tools import kernel as kernel_tool
from inductorscope.analyze.machine.geometry import computed_shape, geometry_of, other_geometry
from inductorscope.analyze.machine.threads import shared_loops
from inductorscope.answers.machine.geometry import Launches
from inductorscope.cli.local import read_paths
from inductorscope.formats.trace.kineto import read_chrome_stream, read_chrome_trace
from inductorscope.formats.trace.shapes import Device, LaunchShape, UsualShape
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.runs.nodes import all_kernel_facts
from inductorscope.store.tables.models import Graph, Kernel, Run
from msgspec.structs import replace
from sqlalchemy import select

H200 = Device("NVIDIA H200", 132, 9, 0, 32)


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


@pytest.mark.parametrize(
    ("blocks", "threads", "registers", "text", "short"),
    [
        (
            6, 256, 24, "6 blocks of 256 threads on 132 multiprocessors: 126 of them get none",
            "6 blocks on 132 multiprocessors",
        ),
        (
            1024, 128, 32, "1 024 blocks of 128 threads on 132 multiprocessors, 48.5 % of a wave",
            "1 024 blocks, 48.5 % of a wave",
        ),
        (
            2048, 256, 32, "2 048 blocks of 256 threads on 132 multiprocessors: 1.94 waves, the "
            "last 93.9 % full", "2 048 blocks, 1.94 waves",
        ),
        (2112, 128, 32, "2 112 blocks of 128 threads on 132 multiprocessors, 100 % of a wave",
         "2 112 blocks, 100 % of a wave"),
    ],
)  # fmt: skip
def test_how_blocks_fill_an_h200(
    blocks: int, threads: int, registers: int, text: str, short: str
) -> None:
    shape = LaunchShape((blocks, 1, 1), (threads, 1, 1), registers, 0)
    found = geometry_of(shape, H200, "")
    assert (plain(found.text), plain(found.short)) == (text, short)


def test_of_several_sizes_the_usual_one_is_kept(shared: Path) -> None:
    """The kernel ran for three lengths; its trace has 4, 2 and 2 launches of them."""
    trace = read_chrome_trace(shared / "traces" / "cuda-dynamic" / "compiled.trace.json.gz")
    found = [kernel.shape for kernel in trace.kernels if kernel.name == "triton_poi_fused_mul_0"]
    launches = sum(shape.launches + shape.others for shape in found if shape)
    assert launches == 8
    assert trace.device is not None
    assert (trace.device.multiprocessors, trace.device.warp) == (132, 32)


def test_a_launch_that_makes_no_sense_has_no_shape() -> None:
    whole = {"grid": [4, 1, 1], "block": [128, 1, 1], "registers per thread": 16}
    damaged: tuple[dict[str, object], ...] = (
        {"grid": [4, 1]},
        {"grid": "4"},
        {"block": [0, 1, 1]},
        {"block": [2**40, 1, 1]},
        {},
    )
    events = [
        {"ph": "X", "cat": "kernel", "name": f"k{at}", "pid": 0, "tid": 7, "ts": at, "dur": 1,
         "args": whole | wrong}
        for at, wrong in enumerate(damaged)
    ]  # fmt: skip
    text = json.dumps({"traceEvents": events})
    shapes = {kernel.name: kernel.shape for kernel in read_chrome_stream(_stream(text)).kernels}
    right = LaunchShape((4, 1, 1), (128, 1, 1), 16)
    assert shapes == {**dict.fromkeys(("k0", "k1", "k2", "k3")), "k4": UsualShape(right, 1, 0)}


def _stream(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def test_a_library_call_gives_no_reason() -> None:
    one = geometry_of(LaunchShape((8, 2, 1), (64, 1, 1), 32, 0), H200, "")
    other = replace(one, grid=(6, 2, 1))
    library = replace(other, kernel="nvjet_sm90")
    assert other_geometry(one, other).startswith("other geometry: grid 8 × 2 blocks × 64 threads →")
    assert other_geometry(one, one) == other_geometry(one, library) == ""


def loops(threads: int, *loops: tuple[int, int]) -> list[str]:
    """The lines of a kernel with parallel loops, each of this many numbers and this step."""
    lines = [f"    #pragma omp parallel num_threads({threads})", "auto a = at::vec::Vectorized(b);"]
    for end, step in loops:
        to = f"x0<static_cast<int64_t>({end}L); x0+=static_cast<int64_t>({step}L)"
        lines += ["#pragma omp for", f"for(int64_t x0=static_cast<int64_t>(0L); {to})"]
    return lines


@pytest.mark.parametrize(
    ("lines", "text", "short"),
    [
        (
            loops(16, (1048576, 16)),
            "16 threads share 65 536 iterations, at most 4 096 each; vectors of 16",
            "16 threads, vectors of 16",
        ),
        (
            loops(16, (4096, 16), (4, 1)),
            "16 threads share 4 iterations in the smallest of 2 loops: 12 of them get none; "
            "vectors of 16", "4 of 16 threads, vectors of 16",
        ),
        (
            loops(8, (20, 1)),
            "8 threads share 20 iterations, at most 3 each: 83.3 % balanced; no vectors",
            "8 threads, no vectors",
        ),
        (
            ["#pragma omp parallel", "#pragma omp for", "for(int64_t x0=0; x0<ks0; x0+=1)"],
            "all threads; no vectors", "all threads, no vectors",
        ),
        (
            ["#pragma omp parallel", "#pragma omp for", "for(int64_t x0=0; x0<64; x0+=1)"],
            "all threads share 64 iterations; no vectors", "all threads, no vectors",
        ),
        (["for(long x0=0; x0<8; x0+=1)"], "1 thread; no vectors", "1 thread, no vectors"),
    ],
)  # fmt: skip
def test_how_threads_share_the_loops_of_a_kernel(lines: list[str], text: str, short: str) -> None:
    found = shared_loops(lines)
    assert (plain(found.text), plain(found.short)) == (text, short)


def test_other_threads_are_a_reason() -> None:
    one, other = shared_loops(loops(16, (64, 16))), shared_loops(loops(2, (64, 16)))
    assert other_geometry(one, one) == ""
    assert other_geometry(one, other).startswith("other threads or vectors: 16 threads share 4 ")


def read(folder: Path, data: Path) -> Settings:
    settings = Settings(data=data, database_url="")
    read_paths(
        settings, [folder], name=None, tags=[], origin="ingest", progress=lambda *_: None
    )  # fmt: skip
    return settings


@pytest.mark.parametrize(("name", "least"), [("cuda-gpt-train", 21), ("cuda-ops-zoo", 8)])
def test_code_and_log_give_the_launches_that_the_trace_saw(
    shared: Path, tmp_path: Path, name: str, least: int
) -> None:
    settings, agreed = read(shared / "traces" / name, tmp_path), 0
    with engine_of(settings) as engine, sessions(engine)() as session:
        launches = Launches(session, session.scalars(select(Run)).one())
        for graph in session.scalars(select(Graph)):
            facts, arguments = all_kernel_facts(session, graph.id), launches.arguments(graph)
            for kernel, geometry in launches.of_graph(graph).items():
                options, own = geometry.configuration, arguments.get(kernel, [])
                shape = computed_shape(facts.get(kernel, {}), options, own)
                if shape is not None and geometry.launches:
                    assert (shape.grid, shape.block) == (geometry.grid, geometry.block), kernel
                    agreed += 1
    assert agreed >= least


def test_without_a_trace_the_launch_is_computed(shared: Path, tmp_path: Path) -> None:
    shutil.copytree(
        shared / "traces" / "cuda-gpt-train", tmp_path / "gpt",
        ignore=shutil.ignore_patterns("*.gz", "*.table.txt"),
    )  # fmt: skip
    kernel = "triton_per_fused__unsafe_view_add_clone_permute_select_backward_sum_view_13"
    with engine_of(read(tmp_path / "gpt", tmp_path)) as engine, sessions(engine)() as session:
        run = session.scalars(select(Run)).one()
        launches, told = Launches(session, run), kernel_tool(session, run.id, base="", name=kernel)
        found = [launches.of_graph(graph).get(kernel) for graph in session.scalars(select(Graph))]
    (geometry,) = filter(None, found)
    assert geometry.short == "6 blocks on 132 multiprocessors"
    assert geometry.configuration == {"XBLOCK": 128, "num_warps": 8, "num_stages": 1}
    assert geometry.source.startswith("the code")
    assert "6 blocks of 256 threads on 132 multiprocessors: 126 of them get none" in plain(told)


def test_calls_that_launch_different_things_show_none_of_them(shared: Path, tmp_path: Path) -> None:
    """Products of several shapes run several kernels of a library: one is not that of each."""
    with (
        engine_of(read(shared / "traces" / "cuda-gpt-train", tmp_path)) as engine,
        sessions(engine)() as session,
    ):
        launches = Launches(session, session.scalars(select(Run)).one())
        found = [launches.of_graph(graph) for graph in session.scalars(select(Graph))]
        products = select(Kernel).where(Kernel.name == "extern_kernels.mm")
        run = [launches.of_library(kernel) for kernel in session.scalars(products)]
    names = [{kernel.name for kernel in kernels} for kernels in run]
    assert sorted(map(len, names)) == [1, 7]
    assert all(kernel.each_us > 0 and " blocks of " in kernel.launch for kernel in run[0])
    product = found[1]["extern_kernels.mm"]
    assert (product.short, product.kernel, product.grid) == ("differs from call to call", "", ())
    assert product.text.startswith("its ")
    assert product.text.endswith("in different sizes")
