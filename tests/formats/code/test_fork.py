"""Graphs as programs of the playground."""

from pathlib import Path

import pytest
from inductorscope.formats.code.fork import line_of, program

from tests.support.places import FIXTURES

GRAPHS = sorted(FIXTURES.glob("*/torch_compile_debug/*/torchinductor/model__*"))


def texts(folder: Path) -> list[str]:
    names = ("fx_graph_readable.py", "fx_graph_runnable.py", "output_code.py")
    return [(folder / name).read_text() if (folder / name).exists() else "" for name in names]


@pytest.mark.parametrize("folder", GRAPHS, ids=lambda folder: folder.parts[-5])
def test_each_graph_is_a_program_with_its_recorded_inputs(folder: Path) -> None:
    code = program("a title\nof two lines", *texts(folder))
    compile(code, "fork", "exec")
    assert code.startswith("# a title of two lines\n")
    assert "not recorded" not in code


def test_a_graph_with_parts_of_its_own_is_its_module() -> None:
    runnable = (
        "import os\nos.environ['X'] = '1'\nclass Repro(torch.nn.Module):\n"
        "    def __init__(self) -> None:\n        self.weight = 3\n"
        "    def forward(self, arg0_1):\n        return (arg0_1 * self.weight,)\n"
        "def load_args(reader):\n    pass\n"
    )
    graph = 'class G:\n    def forward(self, arg0_1: "f32[2, 3]"):\n        return self.weight\n'
    code = program(
        "t",
        graph,
        runnable,
        "    arg0_1 = rand_strided((2, 3), (1, 2), device='cpu', dtype=torch.float16)\n",
    )
    assert "os.environ" not in code
    assert "f = Repro()" in code
    assert "made((2, 3), (1, 2), torch.float16),  # arg0_1" in code
    assert code.split("\n")[line_of(code, "none") - 1] == "class Repro(torch.nn.Module):"


def test_without_strides_inputs_are_contiguous_and_without_nodes_there_is_no_program() -> None:
    graph = 'class G:\n    def forward(self, a: "i64[4, 5]", b: "Sym(s0)"):\n        return (a,)\n'
    code = program("t", graph, "", "    b = 7\n")
    assert "made((4, 5), (5, 1), torch.int64),  # a\n    7,  # b" in code
    assert program("t", "", "", "nothing") == ""
