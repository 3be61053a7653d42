"""Changes written into a program's source."""

import pytest
from inductorscope.analyze.trial.patch import patch, patched, written
from inductorscope.formats.change import Change, Mark

PROGRAM = '''"""Trains."""
import torch
from torch import nn

model = nn.Linear(4, 4)
if True:
    optimizer = torch.optim.Adam(
        model.parameters(), lr=1e-3
    )
compiled = torch.compile(model, options={"shape_padding": False}, fullgraph=True)  # é


@torch.compile
def loss(x):
    return x.sum()
'''


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (Change(mode="max-autotune"),
         ['compiled = torch.compile(model, fullgraph=True, mode=\'max-autotune\')  # é',
          "@torch.compile(mode='max-autotune')"]),
        (Change(dynamic=True),
         ["compiled = torch.compile(model, options={'shape_padding': False}, fullgraph=True, "
          "dynamic=True)  # é", "@torch.compile(dynamic=True)"]),
        (Change(inductor={"freezing": "True", "cpp.min_chunk_size": "128"}),
         ["import torch._inductor.config", "torch._inductor.config.freezing = True",
          "torch._inductor.config.cpp.min_chunk_size = 128"]),
        (Change(optimizer=True), ["    optimizer.step = torch.compile(optimizer.step)"]),
        (Change(channels_last=True), ["model = model.to(memory_format=torch.channels_last)"]),
        (Change(float32_products="high", threads=1),
         ["torch.set_float32_matmul_precision('high')", "torch.set_num_threads(1)"]),
        (Change(ignored=("logging.Logger.warning",)),
         ["import torch._dynamo.config, logging",
          "torch._dynamo.config.ignore_logging_functions.add(logging.Logger.warning)"]),
    ],
)  # fmt: skip
def test_changes_become_lines_of_the_program(change: Change, lines: list[str]) -> None:
    new = patched(PROGRAM, change)
    assert new is not None
    compile(new, "new", "exec")
    before = PROGRAM.splitlines()
    assert [line for line in new.splitlines() if line not in before] == lines
    assert patch("train.py", PROGRAM, change).startswith("--- a/train.py\n+++ b/train.py\n@@ ")


def test_what_cannot_be_written_is_no_patch() -> None:
    assert patch("x.py", PROGRAM, Change(marks=(Mark("f", "x", 0),))) == ""
    assert patch("x.py", "model.compile()", Change(mode="default")) == ""
    assert patch("x.py", "torch.compile(\n    model)", Change(mode="default")) == ""
    assert patch("x.py", "not python", Change(mode="default")) == ""


def test_a_setting_comes_after_the_programs_own() -> None:
    source = "import torch\n\ntorch._inductor.config.shape_padding = False\nrun()\n"
    made = patched(source, Change(inductor={"shape_padding": "True"}))
    assert made is not None
    assert made.splitlines()[-2:] == ["torch._inductor.config.shape_padding = True", "run()"]


def test_only_loaders_without_workers_get_them() -> None:
    source = (
        "import torch\nfrom torch.utils import data\n"
        "a = torch.utils.data.DataLoader(rows, 8)\n"
        "b = data.DataLoader(rows, num_workers=2)\n"
        "c = data.DataLoader(rows, num_workers=0)\n"
    )
    made = patched(source, Change(workers=1))
    assert made is not None
    assert made.splitlines()[2:] == [
        "a = torch.utils.data.DataLoader(rows, 8, num_workers=1, persistent_workers=True)",
        "b = data.DataLoader(rows, num_workers=2)",
        "c = data.DataLoader(rows, num_workers=1, persistent_workers=True)",
    ]
    assert patched("b = data.DataLoader(rows, num_workers=2)\n", Change(workers=1)) is None


def test_how_to_write_a_change_is_told_without_a_program() -> None:
    change = Change(
        mode="max-autotune", dynamic=True, no_grad=True, optimizer=True, channels_last=True,
        regions="nested", marks=(Mark("loss", "x", 0, "dynamic"),), inductor={"freezing": "True"},
    )  # fmt: skip
    assert written(change) == [
        "torch.compile(…, mode='max-autotune', dynamic=True)",
        "torch._dynamo.mark_dynamic(x, 0)  # before each call of loss",
        "with torch.no_grad(): …  # around calls of what is compiled",
        "optimizer.step = torch.compile(optimizer.step)",
        "model = model.to(memory_format=torch.channels_last)",
        "Block.forward = torch.compiler.nested_compile_region(Block.forward)",
        "import torch._inductor.config",
        "torch._inductor.config.freezing = True",
    ]
