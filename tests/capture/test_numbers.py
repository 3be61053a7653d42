"""The search for the first wrong number: faults are planted one by one, and none where none is.

Torch is imported by the tests that need it: importing it takes seconds of every process of a test
session, which collects all tests.
"""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inductorscope.capturing.inside.instructions import try_instructions
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.permission import permit
from inductorscope.capturing.spec import CaptureSpec, SpecError

pytestmark = pytest.mark.torch

BACKWARD = {"dtype": "bfloat16", "train": True, "backward": True}
SUBJECTS = Path(__file__).with_name("numbers_subjects.py")


@pytest.fixture(autouse=True)
def fresh(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled C++ may be used again; what Dynamo and Inductor remember of graphs may not."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    monkeypatch.setenv("TORCHINDUCTOR_AUTOGRAD_CACHE", "0")
    try_instructions("cpu")
    torch._dynamo.reset()


def search(model: str, tmp_path: Path, **options: Any) -> dict[str, Any]:
    from inductorscope.capturing.inside.diagnose.numbers.numbers import diagnose

    name = model if "-" in model else f"{SUBJECTS}:{model}"
    spec = CaptureSpec(model=name, **options)
    found = diagnose(spec, permit(spec, [], trusted=True), {}, tmp_path, Reporter(None))
    result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return result


def operation(found: dict[str, Any]) -> str:
    """Of the node that is blamed."""
    rows = [row for graph in found["graphs"] for row in graph["rows"] if row["blamed"]]
    assert [row["node"] for row in rows] == [found["summary"]["node"]]
    return str(rows[0]["op"])


@pytest.mark.parametrize(
    ("fault", "expected", "model", "options"),
    [
        ("exp", "aten.exp.default", "mlp", BACKWARD),
        ("sum", "aten.mean.dim", "conv", {"dtype": "float16"}),
    ],
)
def test_a_planted_fault_is_found(
    fault: str, expected: str, model: str, options: dict[str, Any], tmp_path: Path
) -> None:
    from tests.support.planted import planted

    backward = options.get("backward", False)
    given = {name: value for name, value in options.items() if name != "backward"}
    with planted(fault, backward):
        found = search(model, tmp_path, **given)
    assert operation(found) == expected, found["summary"]["verdict"]
    assert ("backward" in found["summary"]["graph"]) == backward
    assert found["summary"]["kernel"].startswith("cpp_fused")
    if fault == "exp":
        its_pages_blame(found, expected, tmp_path)


def its_pages_blame(found: dict[str, Any], operation: str, tmp_path: Path) -> None:
    from tests.support.diagnosed import shown

    page, failures = shown("numbers", found, tmp_path / "data")
    node = found["summary"]["node"]
    assert re.search(rf"First wrong: <.*?>{node}<", page)
    assert operation in page.partition('data-testid="blamed"')[2]
    assert re.search(rf"{node}</code>.* is the first node whose numbers differ", failures)
    assert "Nothing failed" not in failures


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("mlp", {"dtype": "bfloat16", "train": True}),
        ("cat_and_index", {}),
    ],
)
def test_where_nothing_is_wrong_nothing_is_blamed(
    model: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """Of the same programs, so that compiled C++ is shared with those that have a fault."""
    found = search(model, tmp_path, **options)
    assert found["summary"]["node"] is None, found["summary"]["verdict"]
    assert found["summary"]["compared"] >= 2
    assert found["summary"]["verdict"].startswith("No node's numbers differ")


def test_random_operations_are_named_and_not_blamed(tmp_path: Path) -> None:
    found = search("dropping", tmp_path)
    assert found["summary"]["node"] is None, found["summary"]["verdict"]
    (graph,) = found["graphs"]
    assert graph["random"] == ["native_dropout", "rand_like"]
    assert found["summary"]["compared"] == 1
    assert "2 random operations could not be compared" in found["summary"]["verdict"]


def test_scripts_and_other_backends_are_refused_with_a_sentence(tmp_path: Path) -> None:
    from inductorscope.capturing.inside.diagnose.numbers.numbers import diagnose

    with pytest.raises(SpecError, match="generates no kernels to compare"):
        search("mlp", tmp_path, backend="aot_eager")
    spec = CaptureSpec(model=str(SUBJECTS))
    with pytest.raises(SpecError, match="Capture a factory"):
        diagnose(spec, permit(spec, [], trusted=True), {}, tmp_path, Reporter(None))


def lanes_of(right: Any) -> tuple[Any, Any, list[Any]]:
    """As if a node gave this: as written, in float64, and shaken."""
    import torch

    eps = torch.finfo(right.dtype).eps
    exact = right.double()
    return right, exact, [exact * (1 + eps * 0.7), exact * (1 - eps * 0.6)]


def test_roundings_agree_and_one_wrong_element_differs() -> None:
    import torch
    from inductorscope.capturing.inside.diagnose.numbers.measure import measure

    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        right = torch.linspace(-3, 3, 1001).to(dtype)
        eps = torch.finfo(dtype).eps
        written, exact, shaken = lanes_of(right)
        near = (exact * (1 + eps)).to(dtype)
        assert measure(near, written, exact, shaken, 1).agrees
        wrong = right.clone()
        wrong[17] += 100 * eps * 3
        found = measure(wrong, written, exact, shaken, 1)
        assert (found.agrees, found.wrong) == (False, 1)
        assert (found.excess or 0.0) > 1


def test_nan_and_infinities_must_be_where_they_belong() -> None:
    import torch
    from inductorscope.capturing.inside.diagnose.numbers.measure import measure

    right = torch.tensor([1.0, float("nan"), float("inf"), -2.0])
    written, exact, shaken = lanes_of(right)
    same = measure(right.clone(), written, exact, shaken, 1)
    assert (same.agrees, same.nan, same.inf) == (True, (1, 1), (1, 1))
    for place, value in ((0, float("nan")), (1, 0.0), (2, -float("inf")), (3, float("inf"))):
        wrong = right.clone()
        wrong[place] = value
        found = measure(wrong, written, exact, shaken, 1)
        assert (found.agrees, found.wrong, found.excess) == (False, 1, float("inf"))


def test_what_changes_between_two_calls_is_allowed() -> None:
    import torch
    from inductorscope.capturing.inside.diagnose.numbers.measure import measure

    written, exact, shaken = lanes_of(torch.ones(8))
    compiled = torch.full((8,), 1.01)
    assert not measure(compiled, written, exact, shaken, 1).agrees
    assert measure(compiled, written, exact, shaken, 1, torch.full((8,), 0.99)).agrees


def test_truth_values_count_where_rounding_does_not_decide_them() -> None:
    import torch
    from inductorscope.capturing.inside.diagnose.numbers.measure import measure

    written = torch.tensor([True, False, True])
    wavers = torch.tensor([True, False, False])
    assert measure(torch.tensor([True, False, False]), written, written, [wavers], 1).agrees
    assert not measure(torch.tensor([False, False, True]), written, written, [wavers], 1).agrees


def test_errors_are_counted_in_representable_values_and_as_a_direction() -> None:
    import torch
    from inductorscope.capturing.inside.diagnose.numbers.measure import measure

    for dtype in (torch.float8_e5m2, torch.bfloat16, torch.float32, torch.float64):
        one = torch.ones(3, dtype=dtype)
        step = 1 + torch.finfo(dtype).eps * torch.tensor([0, 1, 3], dtype=torch.float64)
        found = measure(step.to(dtype), one, one.double(), [], 1)
        assert found.ulps == 3
    zero = torch.tensor([0.0, 1.0])
    assert measure(torch.tensor([-0.0, 1.0]), zero, zero.double(), [], 1).ulps == 0
    left, right = torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0])
    assert measure(left, right, right.double(), [], 1).cosine == pytest.approx(24 / 25)
    far = torch.tensor([-4.0], dtype=torch.float64)
    assert measure(far, -far, -far, [], 1).ulps == 2**63 - 1


def test_an_error_is_seen_where_it_is_made_and_not_where_it_arrives() -> None:
    import torch
    from inductorscope.capturing.inside.diagnose.numbers.lanes import compare_along
    from inductorscope.capturing.inside.diagnose.numbers.measure import measure

    def program(x: Any) -> Any:
        return torch.ops.aten.exp.default(torch.ops.aten.sin.default(torch.ops.aten.neg.default(x)))

    module = torch.fx.symbolic_trace(program)
    x = torch.randn(50)
    wrong = torch.sin(-x) + 0.5
    compiled = {"neg_default": -x, "sin_default": wrong, "exp_default": torch.exp(wrong)}
    verdicts = {
        value.node.name: measure(
            value.compiled, value.written, value.exact, value.shaken, value.terms
        ).agrees
        for value in compare_along(module, [x], compiled)
        if not isinstance(value, tuple)
    }
    assert verdicts == {"neg_default": True, "sin_default": False, "exp_default": True}


WRAPPER = """
def call(args):
    arg0_1, = args
    args.clear()
    buf0 = empty_strided_cpu((8, ), (1, ), torch.float32)
    # [Provenance debug handles] cpp_fused_a_0:3
    cpp_fused_a_0(arg0_1, buf0)
    buf1 = buf0; del buf0  # reuse
    buf2 = empty_strided_cpu((8, ), (1, ), torch.float32)
    cpp_fused_b_1(buf1, buf2)
    del buf1
    buf3 = torch.ops.aten.sort.default(buf2)
    buf4 = reinterpret_tensor(buf2, (4, 2), (2, 1), 0)
    return (buf2, buf3, )
"""


def test_only_buffers_that_are_read_later_are_kept() -> None:
    """`buf0` only lends its memory, and `buf1` was not stored for anybody."""
    from inductorscope.capturing.inside.diagnose.numbers.watch import steps_of

    steps = [step for found in steps_of(WRAPPER).values() for step in found]
    launches = {step.kernel: step for step in steps if step.launches}
    assert launches["cpp_fused_a_0"].buffers == ()
    assert launches["cpp_fused_a_0"].handle == 3
    assert launches["cpp_fused_b_1"].buffers == ("buf2",)
    assert [step.buffers for step in steps if not step.launches] == [("buf3",), ("buf2", "buf3")]
