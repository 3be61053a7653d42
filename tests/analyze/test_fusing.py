"""Why kernels are not one: the scheduler's rules applied to real code and IR."""

from collections import Counter
from pathlib import Path

import pytest
from inductorscope.analyze.bytes.graph import read_graph, work_of
from inductorscope.analyze.fusing.chosen import chosen_kernels, sizes_of
from inductorscope.analyze.fusing.facts import nests_in_code
from inductorscope.analyze.fusing.rules import UnfusedPair, unfused_pairs, walked
from inductorscope.formats.code.output_code import parse_output_code

FOLDER = "torch_compile_debug/*/torchinductor/{}*"


def texts(folder: Path) -> tuple[str, str, str]:
    names = ("output_code.py", "ir_post_fusion.txt", "fx_graph_transformed.py")
    code, ir, fx = ((folder / name).read_text() for name in names)
    return code, ir, fx


def pairs(folder: Path) -> list[UnfusedPair]:
    code, ir, fx = texts(folder)
    read = read_graph(code, ir, fx)
    return unfused_pairs(read, work_of(read))


def graph(shared: Path, trace: str, name: str) -> Path:
    return next((shared / "traces" / trace).glob(FOLDER.format(name)))


@pytest.mark.parametrize(
    ("trace", "counts"),
    [
        ("cuda-gpt-train", {"library": 75, "between": 11, "sizes": 1}),
        ("cuda-gpt-max-autotune", {"template": 44, "library": 31, "between": 11, "sizes": 1}),
        ("cpu-gpt-train", {"library": 42, "between": 8}),
    ],
)
def test_each_pair_has_a_rule(shared: Path, trace: str, counts: dict[str, int]) -> None:
    found = pairs(graph(shared, trace, "model__0_forward"))
    assert Counter(pair.blockers[0].rule for pair in found) == counts
    assert [pair.saved for pair in found] == sorted((pair.saved for pair in found), reverse=True)
    for pair in found:
        shares = [call.saves for call in (pair.one, pair.other) if call.saves is not None]
        assert all(0 <= share <= 1 for share in shares)
        assert set(pair.one.members).isdisjoint(pair.other.members)


def test_reasons_name_what_is_in_the_way(shared: Path) -> None:
    found = pairs(graph(shared, "cuda-gpt-train", "model__0_forward"))
    between = next(pair for pair in found if pair.blockers[0].rule == "between")
    assert between.blockers[0].text.startswith("`extern_kernels.addmm` must run between them")
    sizes = next(pair for pair in found if pair.blockers[0].rule == "sizes")
    assert sizes.one.kernel == "triton_poi_fused_embedding_0"
    assert "the first computes 65 536 elements, the second 1 024 results of 256" in (
        sizes.blockers[0].text.replace("\N{NARROW NO-BREAK SPACE}", " ")
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("256*d0 + d1", "d0: 4, d1: 256"), ("c0", "c0: 1024"), True),
        (("256*d0 + d1", "d0: 4, d1: 256"), ("d0 + 4*d1", "d0: 4, d1: 256"), False),
        (("256*d0 + d1", "d0: 4, d1: 256"), ("256*d1 + d2", "d0: 8, d1: 4, d2: 256"), True),
        (("c0 + 1", "c0: 8"), ("c0", "c0: 8"), False),
        (("c0 + 8*tmp0", "c0: 8"), ("c0 + 8*tmp0", "c0: 8"), True),
    ],
)
def test_orders_of_access(one: tuple[str, str], other: tuple[str, str], same: bool) -> None:
    assert (walked(*one) == walked(*other)) == same


def test_a_winner_is_known_by_its_settings_and_sizes(shared: Path) -> None:
    code, ir, fx = texts(graph(shared, "cuda-gpt-max-autotune", "model__0_forward"))
    read = read_graph(code, ir, fx)
    found = chosen_kernels(read.code, read.lines, work_of(read))
    sizes = sizes_of(["1024x768", " 1024x256", " 256x768"])
    settings = "ACC_TYPE='tl.float32', BLOCK_K=128, BLOCK_M=64, BLOCK_N=128, num_warps=4"
    fits = [fit for fit in found if fit.sizes == sizes and fit.runs("triton_mm_12", settings)]
    assert len(fits) == 4  # one in each block of the model
    assert all(fit.kernel.startswith("triton_tem_fused") for fit in fits)
    assert not any(fit.runs("triton_mm_13", settings.replace("128,", "32,")) for fit in found)


LOOPS = """
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*', 'float*'], '''
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0)
{
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=static_cast<int64_t>(16L))
        {
            auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0));
            tmp0.store(out_ptr0 + static_cast<int64_t>(x0));
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=static_cast<int64_t>(1L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(32L); x1+=static_cast<int64_t>(1L))
            {
                auto tmp0 = in_ptr0[static_cast<int64_t>(x0 + 64L*x1)];
                out_ptr0[static_cast<int64_t>(x1 + 32L*x0)] = tmp0;
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(3L); x0+=static_cast<int64_t>(1L))
        {
            out_ptr0[static_cast<int64_t>(x0)] = in_ptr0[static_cast<int64_t>(x0)];
        }
    }
}
''')
"""  # noqa: E501 (as Inductor writes it)


def test_loops_of_code_say_why_they_are_not_vectorised() -> None:
    nests = nests_in_code(parse_output_code(LOOPS), LOOPS.split("\n"))
    assert [(nest.loops, nest.vectorised) for nest in nests] == [
        (["64"], True), (["64", "32"], False), (["3"], False),
    ]  # fmt: skip
    assert "1 of its 2 loads and stores" in nests[1].how
    assert "only 3 turns" in nests[2].how
