"""Whose fault a failure is, and what to write instead, from what real torch raises."""

import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from inductorscope.analyze.failures.blame import judge
from inductorscope.analyze.failures.text import Explained, explain
from inductorscope.formats.capture_facts import CaptureError, EagerOutcome

pytestmark = pytest.mark.torch
LOG = logging.getLogger(__name__)
PASSED = EagerOutcome(passed=True)
FAILED = EagerOutcome(error=CaptureError("RuntimeError", "no such size"))


@pytest.fixture
def torch() -> Iterator[Any]:
    import torch

    torch._dynamo.reset()
    yield torch
    torch._dynamo.reset()


def failed(run: Callable[[], object], eager: EagerOutcome | None) -> Explained:
    """Returns what is made of the exception that a call raises."""
    try:
        run()
    except Exception as error:  # noqa: BLE001  # whatever torch raises
        kind = f"{type(error).__module__}.{type(error).__name__}"
        why = explain(str(error), "".join(traceback.format_exception(error)), kind)
        judge(why, eager)
        return why
    raise AssertionError("it did not fail")


def whole(torch: Any, function: Callable[..., object], *args: object, **options: object) -> object:
    return torch.compile(function, **{"backend": "eager", "fullgraph": True, **options})(*args)


def fix(why: Explained) -> str:
    assert why.fix is not None
    return why.fix.do


def test_what_dynamo_does_not_trace_has_torchs_hints_and_the_exact_call(torch: Any) -> None:
    def branches(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    def prints(x: Any) -> Any:
        print(x.shape)
        return x * 2

    def logs(x: Any) -> Any:
        LOG.warning("seen")
        return x * 2

    def opens(x: Any) -> Any:
        open("/dev/null").close()  # noqa: PTH123  # Dynamo names the builtin
        return x * 2

    for function, words in (
        (branches, "`torch.cond`"),
        (prints, "reorderable_logging_functions.add(print)"),
        (logs, "ignore_logging_functions.add(LOG.warning)"),
        (opens, "Avoid calling builtin `open`"),
    ):
        why = failed(lambda of=function: whole(torch, of, torch.ones(4)), PASSED)  # type: ignore[misc]
        assert why.fault == "unsupported"
        assert words in fix(why)
        assert "disable" not in fix(why)
        assert why.user is not None
        assert why.user.function == function.__name__
    assert "logging" not in fix(why)


def test_an_operator_without_a_fake_names_itself(torch: Any) -> None:
    schema = "(Tensor x) -> Tensor"
    bare = torch.library.custom_op(
        "blame::bare", lambda x: x.clone(), mutates_args=(), schema=schema
    )
    why = failed(lambda: whole(torch, lambda x: bare(x) * 2, torch.ones(3)), PASSED)
    assert why.title == "`blame::bare` has no fake implementation"
    assert "@torch.library.register_fake('blame::bare')" in fix(why)

    torch.library.register_fake("blame::bare")(torch.empty_like)
    assert whole(torch, lambda x: bare(x) * 2, torch.ones(3)) is not None


def test_settings_that_do_not_fit_are_told_in_torchs_words(torch: Any) -> None:
    fixed = torch.ones(3, 4)
    torch._dynamo.mark_dynamic(fixed, 1)
    why = failed(lambda: whole(torch, torch.nn.Linear(4, 2), fixed), PASSED)
    assert "either remove it or use maybe_mark_dynamic" in fix(why)
    why = failed(lambda: whole(torch, lambda x: x, fixed, backend="nope"), PASSED)
    assert "torch._dynamo.list_backends()" in fix(why)


def test_torch_is_to_blame_only_where_eager_was_seen_to_succeed(torch: Any) -> None:
    def wide(x: Any) -> Any:
        return x @ torch.ones(5, 5)

    def run() -> object:
        return whole(torch, wide, torch.ones(4))

    why = failed(run, FAILED)
    assert (why.fault, why.title) == ("program", "The program fails without torch.compile too")
    assert why.sentences == ["RuntimeError: no such size."]
    assert failed(run, PASSED).fault == "torch"
    for unseen in (None, EagerOutcome(unknown="It was stopped after 60 s.")):
        why = failed(run, unseen)
        assert why.fault == "unknown"
        assert "force_eager" in fix(why)
        assert any("must match" in sentence or "dim" in sentence for sentence in why.sentences)


def test_a_gradient_of_a_gradient_needs_the_plain_module(torch: Any) -> None:
    plain = torch.nn.Linear(3, 1)
    x = torch.randn(4, 3, requires_grad=True)

    def penalised() -> None:
        score = torch.compile(plain, backend="aot_eager")(x).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        (slope.norm() + score).backward()

    why = failed(penalised, PASSED)
    assert (why.fault, why.title[:13]) == ("unsupported", "A gradient of")
    assert "the plain module" in fix(why)


def test_the_names_of_a_compiled_models_state_are_explained(torch: Any) -> None:
    plain, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    state = torch.compile(plain).state_dict()
    with pytest.raises(RuntimeError) as raised:
        other.load_state_dict(state)
    eager = EagerOutcome(error=CaptureError("RuntimeError", str(raised.value)))
    why = failed(lambda: other.load_state_dict(state), eager)
    assert "begin with `_orig_mod.`" in why.title
    assert "state_dict()" in fix(why)


ASSERTED = (
    "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported "
    "at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider "
    "passing CUDA_LAUNCH_BLOCKING=1"
)
OVERWRITTEN = (
    "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. "
    "To prevent overwriting, clone the tensor outside of torch.compile() or call "
    "torch.compiler.cudagraph_mark_step_begin() before each model invocation."
)


@pytest.mark.parametrize(
    ("said", "title", "do"),
    [
        (ASSERTED, "A kernel found an index that is out of range", "CUDA_LAUNCH_BLOCKING=1"),
        (OVERWRITTEN, "A result of a CUDA graph is read after a later call", "`.clone()`"),
    ],
)
def test_what_a_gpu_reports_late_is_explained(said: str, title: str, do: str) -> None:
    why = explain(said, "", "torch.AcceleratorError")
    judge(why, None)
    assert (why.fault, why.title[: len(title)]) == ("program", title)
    assert do in fix(why)
