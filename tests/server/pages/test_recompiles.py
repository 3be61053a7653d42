"""How many compiles the remedies of a run save, counted from its guards, and by compiling."""

import runpy
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from inductorscope.answers.parts import graph_rows, run_of
from inductorscope.answers.runs.diagnosis.attention import NEEDED
from inductorscope.answers.runs.diagnosis.cause import Cause, Cleared
from inductorscope.answers.runs.diagnosis.compiling import graph_breaks, recompiles
from inductorscope.answers.runs.diagnosis.diagnose import Check
from inductorscope.answers.runs.diagnosis.evidence import gather
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions

from tests.support.forked import forked

pytestmark = pytest.mark.torch
PROGRAM = """
import torch
from torch._dynamo.utils import counters
for dynamic, tensor in {remedies}:
    def f(x, t):
        return (x * t).sum(-1)
    torch._dynamo.reset()
    counters.clear()
    f = torch.compile(f, backend="eager", dynamic=dynamic)
    for n, t in ((8, 1.0), (5, 1.1), (6, 1.2), (1, 1.3), (9, 1.4)):
        f(torch.ones(n, 3), torch.tensor(t) if tensor else t)
    print(counters["stats"]["unique_graphs"])
"""
MODULES = """
import torch
for module in (torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.Sigmoid()):
    torch.compile(module, backend="eager")(torch.ones(3))
"""
STRIDES = """
import torch
@torch.compile(backend="eager", dynamic=False)
def f(x): return x + 1
f(torch.ones(2, 3, 4))
f(torch.ones(2, 4, 3).permute(0, 2, 1))
f(torch.ones(2, 3, 8)[:, :, ::2])
"""


EVALUATED = """
import torch
layer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
f = torch.compile(layer, backend="eager", dynamic=False)
for rows in {rows}:
    for training in (True, False):
        with torch.set_grad_enabled({grad}):
            f(torch.ones(rows, 3)), layer.train({mode})
"""
ATTENDING = """
import torch
attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
@torch.compile(backend="eager")
def f(x): return attention(x, x, x{said})[0]
f(torch.randn(2, 4, 8))
"""
BROKEN = """
import torch
@torch.compile(backend='eager')
def f(x):
    t = x.sum().item()
    return x * t
for n in range(3): f(torch.full((4,), n + 0.5))
"""
ENCODED = """
import torch
encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 1, 8), 1)
@torch.compile(backend='eager')
def f(x):
    y = x + 1
    z = encoder(y, mask=torch.zeros(4, 4){said})
    return z * 2
f(torch.randn(4, 2, 8))
"""


class Ran(NamedTuple):
    printed: str
    log: Path
    """Torch's log of the program."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """The programs, each in a fork of this process."""
    programs = {
        "before": PROGRAM.format(remedies=[(None, False)]),
        "remedies": PROGRAM.format(remedies=[(True, False), (None, True), (True, True)]),
        "broken": BROKEN,
        "modules": MODULES,
        "strides": STRIDES,
        "modes": EVALUATED.format(rows=[8, 8], grad=True, mode="not training"),
        "grad": EVALUATED.format(rows=[8], grad="training", mode=True),
        "sizes": EVALUATED.format(rows=[8, 9], grad=True, mode="not training"),
        "weights": ATTENDING.format(said=""),
        "fused": ATTENDING.format(said=", need_weights=False"),
        "encoded": ENCODED.format(said=""),
        "causal": ENCODED.format(said=", is_causal=False"),
    }
    made = {}
    for name, text in programs.items():
        folder = tmp_path_factory.mktemp(name)
        program, said, log = folder / f"{name}.py", folder / "said", folder / "log"
        program.write_text(text)
        log.mkdir()
        status = forked(partial(run_traced, program), said, folder, {"TORCH_TRACE": str(log)})
        assert status == 0, said.read_text()
        made[name] = Ran(said.read_text(), log)
    return made


def run_traced(program: Path) -> None:
    from torch._logging import _internal

    _internal.LOG_TRACE_HANDLER = None
    _internal._init_logs()  # reads TORCH_TRACE anew
    runpy.run_path(str(program))


def found_in(tmp_path: Path, folder: Path, check: Check = recompiles) -> Cause | Cleared | None:
    settings = Settings(data=tmp_path / "data", database_url="")
    read = read_paths(
        settings, [folder], name="recompiles", tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    engine = make_engine(settings)
    with sessions(engine, read_only=True)() as session:
        found = check(gather(session, run_of(session, read), graph_rows(session, read)))
    engine.dispose()
    return found


def test_what_remedies_save_is_what_compiling_with_them_saves(
    ran: dict[str, Ran], tmp_path: Path
) -> None:
    """Size 1 needs its own compile, whatever is marked."""
    before = int(ran["before"].printed)
    cause = found_in(tmp_path, ran["before"].log)
    assert isinstance(cause, Cause)
    size_alone, number_alone, both = (
        before - int(number) for number in ran["remedies"].printed.split()
    )
    assert (before, number_alone, both) == (3, 0, 1)
    assert size_alone == 1  # dynamic=True frees numbers too
    assert f" together save {both} of {before} compiles, and none" in cause.fix
    assert "`torch._dynamo.mark_dynamic(x, 0)`" in cause.fix
    assert "`torch.tensor(t)`" in cause.fix
    assert (cause.known, cause.of) == ("estimated", "compile time")
    assert "`x.size(0)` became 1" in cause.what


def test_contiguous_arguments_save_compiles(ran: dict[str, Ran], tmp_path: Path) -> None:
    cause = found_in(tmp_path, ran["strides"].log)
    assert isinstance(cause, Cause)
    assert "`x.contiguous()`." in cause.fix
    assert "together save 2 of 3 compiles" in cause.fix


def test_recompiles_for_what_a_break_passes_on_are_due_to_the_break(
    ran: dict[str, Ran], tmp_path: Path
) -> None:
    assert found_in(tmp_path, ran["broken"].log) is None
    cause = found_in(tmp_path, ran["broken"].log, graph_breaks)
    assert isinstance(cause, Cause)
    assert "Values that are passed on cost 1 recompile of the code after it." in cause.why
    assert "___stack" not in f"{cause.what} {cause.fix} {cause.why}"


def test_a_break_in_a_library_is_told_at_the_call_that_leads_to_it(
    ran: dict[str, Ran], tmp_path: Path
) -> None:
    cause = found_in(tmp_path, ran["encoded"].log, graph_breaks)
    assert isinstance(cause, Cause)
    assert cause.lines[0].path.endswith("encoded.py")
    assert cause.lines[0].line == 7
    assert "`is_causal=True` or `False`" in cause.fix
    mended = found_in(tmp_path, ran["causal"].log, graph_breaks)
    assert isinstance(mended, Cleared)
    assert mended.text == "No graph breaks."


@pytest.mark.parametrize("name", ["modes", "grad"])
def test_a_compile_for_training_and_one_for_evaluating_are_no_cause(
    ran: dict[str, Ran], tmp_path: Path, name: str
) -> None:
    found = found_in(tmp_path, ran[name].log)
    assert isinstance(found, Cleared)
    assert found.text.endswith(", but for training and for evaluation, which need a compile each.")
    more = found_in(tmp_path / "sizes", ran["sizes"].log)
    assert isinstance(more, Cause)


def test_dynamo_writes_whether_a_layer_returns_its_weights(ran: dict[str, Ran]) -> None:
    """The cause on attention that is written out looks for it in Dynamo's graph."""
    said = {
        name: any(NEEDED in file.read_text() for file in ran[name].log.iterdir())
        for name in ("weights", "fused")
    }
    assert said == {"weights": True, "fused": False}


def test_torchs_own_wrapper_compiles_nothing_again(ran: dict[str, Ran], tmp_path: Path) -> None:
    """Torch compiles modules through one function of its own, and counts them as recompiles."""
    log = ran["modules"].log
    assert found_in(tmp_path, log) == Cleared("No function is compiled again.")
    assert any(log.iterdir())
