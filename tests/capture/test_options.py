"""Options that only torch can judge, and factories that only it can call."""

from __future__ import annotations

from pathlib import Path

import pytest
from inductorscope.capture.spec import CaptureSpec, SpecError

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("max_fusion_size", "16", 16),
        ("freezing", "true", True),
        ("freezing", "0", False),
        ("cpp.simdlen", "256", 256),
        ("cpp.simdlen", "None", None),
        ("cpp.threads", "-1", -1),
        ("max_autotune_gemm_backends", "ATEN,CPP", "ATEN,CPP"),
        ("max_autotune_gemm_backends", "16", "16"),
    ],
)
def test_values_are_read_by_the_keys_type(key: str, text: str, value: object) -> None:
    from inductorscope.capture.inside.options import parse_value
    from torch._inductor import config

    parsed = parse_value(config, key, text)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("max_fusion_sise", "1", "Did you mean max_fusion_size"),
        ("freezing", "3", "takes a value like False, not 3"),
        ("max_fusion_size", "many", "takes a value like"),
        ("max_fusion_size", "True", "takes a value like"),
        ("trace.enabled", "False", "the capture's own"),
    ],
)
def test_values_that_do_not_fit_are_refused(key: str, text: str, sentence: str) -> None:
    from inductorscope.capture.inside.options import parse_value
    from torch._inductor import config

    with pytest.raises(SpecError, match=sentence):
        parse_value(config, key, text)


def test_options_this_machine_or_torch_lacks() -> None:
    import torch
    from inductorscope.capture.inside.options import apply_options

    with pytest.raises(SpecError, match=r"no back end 'inducter'\. Did you mean inductor"):
        apply_options(CaptureSpec(model="gpt-small", backend="inducter"))
    if not torch.cuda.is_available():
        with pytest.raises(SpecError, match="sees no CUDA device"):
            apply_options(CaptureSpec(model="gpt-small", device="cuda"))


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("subjects.py:no_model", r"must return \(callable, arguments\).*returned int"),
        ("subjects.py:absent", "has no function absent"),
    ],
)
def test_factories_must_make_a_model(model: str, sentence: str) -> None:
    from inductorscope.capture.inside.loading import load
    from inductorscope.capture.permission import permit

    spec = CaptureSpec(model=str(Path(__file__).parent / model))
    with pytest.raises(SpecError, match=sentence):
        load(spec, permit(spec, [], trusted=True))


def test_an_absent_module_is_named() -> None:
    from inductorscope.capture.inside.loading import load
    from inductorscope.capture.permission import Loading

    with pytest.raises(SpecError, match="There is no module absent"):
        load(CaptureSpec(model="absent.module:make"), Loading())


def test_another_torch_gets_no_record_and_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from inductorscope.capture.record.install import install
    from inductorscope.formats.capture_facts import RecordFacts

    monkeypatch.setattr(torch, "__version__", "2.99.0")
    facts = install()
    assert isinstance(facts, RecordFacts)
    assert not facts.made
    assert "not 2.99.0" in facts.reason
