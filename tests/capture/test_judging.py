"""The judge of kernels: honest ones pass; wrong and dishonest ones are refused with the reason."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.analyze.compile.difference import Difference
from inductorscope.analyze.judging.configurations import configurations
from inductorscope.analyze.judging.shapes import allowed
from inductorscope.analyze.judging.verdict import Verdict, of_time, verdict_lines
from inductorscope.analyze.measure.judge import judge as measured
from inductorscope.answers.explorer.judging import cases_of
from inductorscope.capturing.benchmark.text import operator_text, reference_text
from inductorscope.capturing.judging.order import edited, order_of, swap_of
from inductorscope.capturing.judging.run import Judge, judging
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.tables.models import Graph
from msgspec.structs import replace
from sqlalchemy import select

from bench.judge.subject import FOLDER, KERNEL, ORIGIN, cases, definition, whole
from tests.support.running import run as run_command

CASES = cases()
RECORDED = CASES[0]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    pytest.importorskip("torch")
    settings = Settings(data=tmp_path_factory.mktemp("data"), database_url="")
    with judging(settings) as made:
        yield made


def test_further_shapes_are_those_that_guards_allow() -> None:
    hints = {"s0": 32, "s1": 8}
    ranges = {"s0": "[2, 64]", "s1": "[2, int_oo]"}
    guards = ["s1 <= s0", "Eq(Mod(s1, 8), 0)"]
    assert allowed({"s0": 16, "s1": 16}, hints, ranges, guards)
    assert not allowed({"s0": 65, "s1": 8}, hints, ranges, guards)
    assert not allowed({"s0": 8, "s1": 16}, hints, ranges, guards)
    assert not allowed({"s0": 16, "s1": 12}, hints, ranges, guards)
    assert len(CASES) == 17


def test_a_source_alone_is_put_between_the_quotes_of_the_original() -> None:
    source = definition(RECORDED).split("'''")[1]
    assert order_of(CASES, ORIGIN, source).candidate.count(source.strip()) == 1
    with pytest.raises(NoCase, match="does not define"):
        order_of(CASES, ORIGIN, "other = async_compile.cpp_pybinding([], '''''')")


def test_only_a_kernel_has_a_place_in_the_step() -> None:
    source = definition(RECORDED).split("'''")[1]
    for candidate in (source, definition(RECORDED)):
        swap = swap_of(RECORDED, candidate)
        assert swap.own == definition(RECORDED)
        assert swap.other.startswith(f"{KERNEL} = ")
        assert swap.other.count(source.strip()) == 1
    with pytest.raises(NoCase, match="more than a kernel"):
        swap_of(RECORDED, whole(RECORDED, "", "return honest(given)"))


def test_an_edit_is_an_operator_of_torch(tmp_path: Path) -> None:
    """The file is imported as its user does, and called eagerly and by a compiler's tracing."""
    pytest.importorskip("torch")
    case = edited(RECORDED, definition(RECORDED).replace("#pragma GCC ivdep", "// edited"))
    (tmp_path / "operator_file.py").write_text(operator_text(case, ORIGIN))
    (tmp_path / "reference.py").write_text(reference_text(RECORDED))
    (tmp_path / "user.py").write_text(
        "import torch, operator_file, reference\n"
        f"called = torch.ops.inductorscope.{KERNEL}\n"
        "x, y = torch.randn(33, 100), torch.randn(33, 100)\n"
        "wanted = reference.eager({'arg2_1': x, 'arg3_1': y})\n"
        "for run in called, torch.compile(lambda *args: called(*args), backend='aot_eager'):\n"
        "    torch.testing.assert_close(run(x, y), (wanted['buf0'], wanted['buf1']))\n"
        "try:\n    called(x[:5], y[:5])\nexcept AssertionError as error:\n    print(error)\n"
    )
    ended = subprocess.run(
        [sys.executable, "user.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert not ended.returncode, ended.stderr
    assert "5" in ended.stdout  # the size that was expected, and the one that was given
    with pytest.raises(NoCase, match="more than a kernel"):
        edited(RECORDED, whole(RECORDED, "", "return given"))


def test_where_others_work_it_is_not_known_what_is_faster() -> None:
    judged = measured([2.0, 2.1, 2.2, 2.3, 2.4, 2.5], [1.0, 1.1, 1.2, 1.3, 1.4, 1.5])
    step = of_time(judged, "A step")
    assert step.answer == "yes"
    lines = verdict_lines(Verdict(accepted=True, step=judged, in_step=step))
    assert "in the step: yes" in lines
    part = of_time(judged, "A call", "Other processes used 80% of the cores.")
    assert part.answer == "not known"
    assert "80%" in part.reasons[1]


def test_the_runs_own_kernel_is_accepted(judge: Judge) -> None:
    verdict = judge.judge(order_of(CASES, ORIGIN, definition(RECORDED)))
    assert verdict.accepted, verdict
    assert len(verdict.shapes) == 17
    assert verdict.judged is not None
    assert verdict_lines(verdict)[0].startswith("Accepted")
    if shutil.which("objdump"):
        assert verdict.machine == Difference()


ELSEWHERE = "return honest({name: value.clone() for name, value in given.items()})"
ONCE = "if not kept:\n    kept.append(honest(given))\nreturn given"
WHEN_TIMED = """\
at.append(given['buf0'].data_ptr())
honest(given)
if len(at) > 1 and at[0] != at[1]:  # a batch, not two checks of one call
    given['buf0'].nan_to_num_(0.0)
return given"""
ATTACKS = [
    ("at = []", WHEN_TIMED, "honest", "though not when it is checked"),
    ("kept = []", ONCE, "correct", "values"),
    ("", ELSEWHERE, "correct", "before they are written"),
    ("time.perf_counter = lambda: 0.0", "return honest(given)", "honest", "time.perf_counter"),
    ("import os\nos._exit(0)", "return honest(given)", "correct", "ended with status 0"),
]


@pytest.mark.parametrize(("before", "kernel", "question", "why"), ATTACKS)
def test_a_dishonest_kernel_is_refused(
    judge: Judge, before: str, kernel: str, question: str, why: str
) -> None:
    verdict = judge.judge(order_of(CASES, ORIGIN, whole(RECORDED, before, kernel)))
    part = getattr(verdict, question)
    assert not verdict.accepted
    assert part.answer == "no"
    assert why in part.reasons[0], part


def test_a_candidate_finds_nothing_of_the_one_before(judge: Judge) -> None:
    if not judge.separated:
        pytest.skip("candidates share the machine's files")
    for own, other in (("one", "two"), ("two", "one")):
        before = f"import pathlib\nassert not pathlib.Path('/tmp/{other}').exists()\n"
        before += f"pathlib.Path('/tmp/{own}').touch()"
        order = order_of(CASES, ORIGIN, whole(RECORDED, before, "return honest(given)"))
        assert judge.judge(replace(order, candidate="")) == Verdict(unconfined={})  # gets ready
        assert judge.judge(order).accepted


def test_a_kernel_that_is_wrong_at_other_shapes_is_refused(judge: Judge) -> None:
    tail = "(ks0*ks1); x0+="
    text = definition(RECORDED).replace(tail, "(ks0*ks1 - (ks1 % 4 == 2)); x0+=", 1)
    verdict = judge.judge(order_of(CASES, ORIGIN, text))
    assert text != definition(RECORDED)
    assert not verdict.accepted
    assert verdict.shapes[0].ok
    assert [shape.ok for shape in verdict.shapes] == [shape.share <= 1 for shape in verdict.shapes]
    assert KERNEL in text
    if shutil.which("objdump"):
        assert verdict.machine is not None
        shown = [line.text for hunk in verdict.machine.hunks for line in hunk if line.kind == "new"]
        assert len(shown) == verdict.machine.new > 0
        assert any("and " in line for line in shown)  # of the remainder by four


def test_the_command_says_what_cannot_be_judged(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    migrate(settings)
    run = read_paths(
        settings, [FOLDER], name=None, tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    with sessions(make_engine(settings))() as session:
        graph = session.scalar(select(Graph.slug))
        found = cases_of(session, run, graph or "", KERNEL, None)
        assert len(found.cases) == 17
        assert not found.may_run
    file = tmp_path / "kernel.py"
    file.write_text(definition(RECORDED))
    for against, code, said in (
        (f"{run}/{graph}/{KERNEL}", 3, "not captured here"),
        (KERNEL, 2, "RUN/GRAPH/KERNEL"),
        (f"{run}/{graph}/other", 1, "no call"),
    ):
        done = run_command("judge", str(file), "--against", against, "--data", str(settings.data))
        assert done.returncode == code, done
        assert said in done.stderr


def test_rounding_where_a_sum_cancels_is_not_a_fault() -> None:
    """A normalisation in two orders, of values among which are infinities and large ones."""
    torch = pytest.importorskip("torch")
    from inductorscope.capturing.judging.reference import _values, difference

    def normed(x: Any, weight: Any, total: Callable[[Any], Any]) -> Any:
        centred = x - total(x)[:, None] / x.shape[1]
        scale = torch.rsqrt(total(centred * centred)[:, None] / x.shape[1] + 1e-5)
        result = centred * scale * weight
        return result * 0.5 * (1 + torch.erf(result * 0.5**0.5))

    def forward(x: Any) -> Any:
        return sum(x.unbind(1))

    def backward(x: Any) -> Any:
        return sum(x.flip(1).unbind(1))

    torch.manual_seed(1)
    for _ in range(40):
        x, weight = (_values(torch.empty(shape), "special", 0) for shape in ((1026, 32), (32,)))
        exact = normed(x.double(), weight.double(), forward)
        found = difference(
            normed(x, weight, backward), normed(x, weight, forward),
            torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (32,), weight)), exact, True,
        )  # fmt: skip
        assert not found[0], found


def test_a_kernel_of_a_gpu_is_not_judged_without_one(judge: Judge) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("here is a GPU")
    order = order_of([RECORDED], ORIGIN, definition(RECORDED))
    verdict = judge.judge(replace(order, device="cuda"))
    assert verdict.error == "The kernel needs a cuda device: there is none here."


@pytest.mark.parametrize(
    ("kernel", "count", "first"),
    [
        ("triton_red_fused_amax_0", 12, "XBLOCK 1, R0_BLOCK 1024, 4 warps, 1 stage"),
        ("triton_per_fused_amax_1", 12, "XBLOCK 1, 2 warps, 1 stage"),
    ],
)
def test_configurations_of_a_triton_kernel_name_their_choice(
    kernel: str, count: int, first: str, fixtures: Path
) -> None:
    code = (fixtures / "judged-gpu" / "output_code.py").read_text()
    text = code.partition(f"async_compile.triton('{kernel}', '''")[2].partition("'''")[0]
    offered = configurations(text)
    assert len({choice.text for choice in offered}) == count
    assert offered[0].label == first
    for choice in offered:
        ast.parse(choice.text)
        assert "@triton_heuristics.fixed_config(" in choice.text
        assert "triton_meta={'signature'" in choice.text
    assert configurations("def kernel(): pass") == []


def test_configurations_of_a_cpp_kernel_are_its_threads() -> None:
    offered = configurations("#pragma omp parallel num_threads(2)\n{}")
    assert offered[0].text == "#pragma omp parallel num_threads(1)\n{}"
    assert offered[0].label == "1 thread"
