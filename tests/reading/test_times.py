"""Kernel times: joined where something tells, said to be open where nothing does."""

import pytest
from inductorscope.analyze.time.facts import PER_CALL
from inductorscope.formats.trace.event_columns import Span
from inductorscope.formats.trace.kineto import ChromeTrace, CpuKernelTime, KernelTime
from inductorscope.formats.trace.regions import Region
from inductorscope.reading.graphs.graph import GraphRead
from inductorscope.reading.graphs.texts_of import GraphSource
from inductorscope.reading.profiles.benchmarks import Benchmarks
from inductorscope.reading.profiles.join import join_profiles
from inductorscope.reading.profiles.profiles import ProfileRead
from inductorscope.reading.profiles.times import join_times
from inductorscope.store.runs.draft import CallDraft, GraphDraft, KernelDraft


def graph(slug: str, *kernels: tuple[str, str]) -> GraphRead:
    """Kernels as (name, path)."""
    draft = GraphDraft(slug=slug, name=slug, direction="forward")
    draft.kernels = [
        KernelDraft(name, "triton", "triton_pointwise", 1, 2, {"kernel_path": path} if path else {})
        for name, path in kernels
    ]
    return GraphRead(GraphSource(slug, slug), draft)


def device(name: str, file: str | None, us: float, region: int | None = None) -> KernelTime:
    return KernelTime(name, "kernel", file, None, None, region, None, calls=4, total_us=us)


def test_the_file_tells_the_same_names_apart() -> None:
    forward, backward = graph("fw", ("triton_a", "/t/f.py")), graph("bw", ("triton_a", "/t/b.py"))
    trace = ChromeTrace(
        kernels=[device("triton_a", "/x/f.py", 40), device("triton_a", "/x/b.py", 8)], steps=4
    )
    joined = join_times(trace, [forward, backward], None)
    assert forward.draft.kernels[0].time_us == 10
    assert backward.draft.kernels[0].time_us == 2
    assert forward.draft.time_us == 10
    assert (joined.kernel_us, joined.attributed_us) == (12, 12)


def test_a_name_in_both_graphs_is_not_guessed() -> None:
    forward, backward = graph("fw", ("triton_a", "")), graph("bw", ("triton_a", ""))
    trace = ChromeTrace(kernels=[device("triton_a", None, 40)], steps=4)
    joined = join_times(trace, [forward, backward], None)
    for side in (forward, backward):
        kernel = side.draft.kernels[0]
        assert kernel.time_us is None
        assert kernel.time_source is not None
        assert "bw and fw" in kernel.time_source
        assert "not attributed" in kernel.time_source
    assert (joined.kernel_us, joined.attributed_us) == (10, 0)


def test_the_graphs_call_tells_cpu_kernels_apart() -> None:
    forward = graph("fw", ("cpp_fused_add_0", ""), ("cpp_fused_mul_1", ""))
    backward = graph("bw", ("cpp_fused_add_0", ""), ("cpp_fused_sum_1", ""))
    regions = [
        Region(None, "0/0", frozenset({"graph_0_cpp_fused_add_0", "graph_0_cpp_fused_mul_1"}), 2),
        Region(None, "0/0", frozenset({"graph_0_cpp_fused_add_0", "graph_0_cpp_fused_sum_1"}), 2),
    ]
    trace = ChromeTrace(
        cpu_kernels=[
            CpuKernelTime("cpp_fused_add_0", 0, 0, 2, 6.0),
            CpuKernelTime("cpp_fused_add_0", 0, 1, 2, 10.0),
        ],
        regions=regions,
    )
    joined = join_times(trace, [forward, backward], None)
    assert (joined.steps, joined.steps_from) == (2, "calls of the compiled graphs")
    assert forward.draft.kernels[0].time_us == 3
    assert backward.draft.kernels[0].time_us == 5
    assert "within the graph's call" in (forward.draft.kernels[0].time_source or "")


def test_a_ranks_trace_is_joined_to_its_own_graphs() -> None:
    graphs = [graph("fw", ("triton_a", "")), graph("fw~1", ("triton_a", ""))]
    for rank, read in enumerate(graphs):
        read.source.rank = rank
    trace = ChromeTrace(kernels=[device("triton_a", None, 40)], steps=4, rank=1)
    join_profiles([ProfileRead("compiled", trace=trace)], graphs, Benchmarks())
    assert [read.draft.kernels[0].time_us for read in graphs] == [None, 10]


def test_steps_beside_the_profile_win() -> None:
    one = graph("fw", ("triton_a", ""))
    trace = ChromeTrace(kernels=[device("triton_a", None, 40)], steps=4)
    assert join_times(trace, [one], 8).steps == 8
    assert one.draft.kernels[0].time_us == 5


def test_extern_operators_of_eager_code_are_not_taken() -> None:
    one = graph("fw", ("triton_a", ""))
    extern = KernelDraft("extern_kernels.mm", "extern", "extern", None, None, {})
    extern.calls = [CallDraft(1, True, 9, [], [], "x", [0])]
    one.draft.kernels.append(extern)
    eager = device("sm90_gemm", None, 40)
    eager.op = "aten::mm"
    trace = ChromeTrace(kernels=[eager], steps=1)
    assert join_times(trace, [one], None).attributed_us == 0
    inside = device("sm90_gemm", None, 40, region=0)
    inside.op = "aten::mm"
    region = Region(None, None, frozenset({"triton_a"}), 1)
    trace = ChromeTrace(kernels=[inside], regions=[region], steps=1)
    assert join_times(trace, [one], None).attributed_us == pytest.approx(40)
    assert extern.time_us == pytest.approx(40)
    assert extern.time_calls == 1  # though it launched four kernels


def test_operators_inside_of_an_extern_call_count_for_it() -> None:
    one = graph("fw", ("triton_a", ""))
    one.draft.kernels.append(
        KernelDraft("extern_kernels.convolution", "extern", "extern", None, None, {})
    )
    inside = device("implicit_gemm", None, 40, region=0)
    inside.op = "aten::cudnn_convolution"
    trace = ChromeTrace(
        kernels=[inside], regions=[Region(None, None, frozenset({"triton_a"}), 1)], steps=1
    )
    assert join_times(trace, [one], None).attributed_us == pytest.approx(40)


def test_calls_of_an_operator_add_up_over_regions() -> None:
    """The same code called under two compile ids, or from two threads, is two regions."""
    one = graph("fw", ("triton_a", ""))
    extern = KernelDraft("extern_kernels.mm", "extern", "extern", None, None, {})
    extern.calls = [CallDraft(line, True, 9, [], [], "x", [line]) for line in (1, 2)]
    one.draft.kernels.append(extern)
    kernels = []
    for number in (0, 1, 1):  # the second region's operator launched two kernels
        kernels.append(device("sm90_gemm", None, 40, region=number))
        kernels[-1].op = "aten::mm"
    regions = [Region(None, None, frozenset({"triton_a"}), calls) for calls in (3, 1)]
    join_times(ChromeTrace(kernels=kernels, regions=regions, steps=4), [one], None)
    assert extern.time_us == pytest.approx(30)
    assert extern.time_calls == 2  # two calls in the code, four runs of it, four steps


def test_without_marks_a_step_is_a_call_or_the_calls_that_repeat() -> None:
    one, other = graph("one", ("cpp_fused_a_0", "")), graph("other", ("cpp_fused_b_0", ""))

    def called(order: str) -> tuple[int, str]:
        regions = [
            Region(None, None, frozenset({f"graph_0_cpp_fused_{name}_0"}), order.count(name))
            for name in sorted(set(order))
        ]
        for at, name in enumerate(order):
            regions[name == "b"].spans.append(Span(0, at, 0.5, ""))
        joined = join_times(ChromeTrace(regions=regions), [one, other], None, write=False)
        return joined.steps, joined.steps_from

    assert called("aaaaaa") == (6, PER_CALL)
    assert called("aabaab") == (2, "repetitions of the compiled graphs' calls")
    assert called("abba")[1] == "calls of the compiled graphs"
