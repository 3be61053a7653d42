"""No text makes a reader raise. That none takes it more than linear work: `tests/fuzz`."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir
from inductorscope.formats.graph.provenance import parse_provenance

READERS: dict[str, Callable[[str], object]] = {
    "fx_graph_transformed.py": parse_fx,
    "ir_post_fusion.txt": parse_ir,
    "output_code.py": parse_output_code,
}
PIECES = st.sampled_from(
    """op0: SchedulerNode(ComputedBuffer)
op0.outputs = [
]
class op0_loop_body:
    def body(self, ops):
        load = ops.load('a', get_index)
{
}
(
)
'''
k = async_compile.triton('k', '''
def call(args):
# [Provenance debug handles] k:1
    k.run(a, b)
class G(M):
x: "f32[2" = torch.ops.aten.add.Tensor(a, b);  a = None
# File: /a.py:1 in f, code: x
return (x,)
extern "C" void kernel(float* in_ptr0)
auto tmp0 = [&]
tmp0 = tl.load(in_ptr0 + (x0))
op0.snodes[0] =
\r
\t
\x00""".split("\n")  # noqa: SIM905
)
TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(PIECES, max_size=40).map("\n".join),
    st.lists(PIECES).map("".join),
)


@pytest.mark.parametrize("name", READERS)
@given(text=TEXTS)
@settings(max_examples=60)
def test_any_text_is_read(name: str, text: str) -> None:
    READERS[name](text)


@given(data=st.binary(max_size=300))
@settings(max_examples=60)
def test_any_bytes_are_read(data: bytes) -> None:
    parse_provenance(data)


@given(text=TEXTS, other=TEXTS, code=TEXTS)
@settings(max_examples=40)
def test_any_texts_are_linked(text: str, other: str, code: str) -> None:
    graph_links(GraphTexts(text, text, other, other, code, text, text, b"{}"))


def damaged(text: str, seed: int) -> str:
    chosen = random.Random(seed)
    lines = text.split("\n")
    for _ in range(6):
        place = chosen.randrange(len(lines))
        action = chosen.randrange(4)
        if action == 0:
            del lines[place : place + chosen.randrange(1, 20)]
        elif action == 1:
            lines[place] = lines[place][: chosen.randrange(len(lines[place]) + 1)]
        elif action == 2:
            lines[place] = lines[place] * 2
        else:
            other = chosen.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        lines = lines or [""]
    return "\n".join(lines)


@pytest.mark.parametrize("graph", ["cpu-ops-zoo", "cuda-adam"])
@pytest.mark.parametrize("seed", range(6))
def test_damaged_graphs_are_linked(fixtures: Path, graph: str, seed: int) -> None:
    (folder,) = (file.parent for file in (fixtures / graph).rglob("output_code.py"))
    texts = {name: damaged((folder / name).read_text(), seed) for name in READERS}
    links = graph_links(
        GraphTexts(
            texts["fx_graph_transformed.py"],
            None,
            None,
            texts["ir_post_fusion.txt"],
            texts["output_code.py"],
        )
    )
    last = texts["output_code.py"].count("\n") + 1
    assert all(1 <= line <= last for line in links.stages["code"].lines)


@pytest.mark.parametrize("name", READERS)
def test_truncated_files_are_read(fixtures: Path, name: str) -> None:
    (file,) = (fixtures / "cpu-ops-zoo").rglob(name)
    text = file.read_text()
    for cut in range(0, len(text), max(1, len(text) // 40)):
        READERS[name](text[:cut])
