"""What may be asked of a capture, and the sentences for what may not."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.capturing.builtin import BUILT_IN
from inductorscope.capturing.spec import (
    DTYPES,
    CaptureSpec,
    SpecError,
    from_builtins,
    from_json,
    kind_of,
)
from inductorscope.formats.change import MODES

plain_text = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), max_size=20)
identifier = st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True)
specs = st.builds(
    CaptureSpec,
    model=st.sampled_from(["gpt-small", "conv-small", "models.mine:make", "/home/u/m.py:make"]),
    name=st.none() | plain_text.filter(bool),
    device=st.sampled_from(["cpu", "cuda", "cuda:3"]),
    dtype=st.none() | st.sampled_from(DTYPES),
    train=st.booleans(),
    dynamic=st.none() | st.booleans(),
    mode=st.none() | st.sampled_from(MODES),
    config=st.dictionaries(identifier, plain_text, max_size=4),
    source=st.booleans(),
    record=st.booleans(),
    profile=st.none() | st.booleans(),
    seconds=st.floats(0.1, 600),
    repeats=st.none() | st.integers(1, 10_000),
)


@given(specs)
def test_a_spec_survives_json(spec: CaptureSpec) -> None:
    assert from_json(spec.to_json()) == spec
    assert from_builtins(spec.to_builtins()) == spec


@given(st.dictionaries(st.sampled_from(CaptureSpec.__struct_fields__), st.none() | plain_text))
def test_any_json_gives_a_spec_or_a_sentence(values: dict[str, object]) -> None:
    try:
        spec = from_json(msgspec.json.encode(values))
    except SpecError as error:
        refusal = str(error)
    else:
        assert from_json(spec.to_json()) == spec
        return
    assert refusal.endswith((".", "?"))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"model": "gpt-smal"}, "no built-in model 'gpt-smal'. Did you mean gpt-small?"),
        ({"model": ""}, "The model is empty."),
        ({"model": "gpt-small\n"}, "control characters"),
        ({"model": "gpt-small", "args": ["1"]}, "takes no arguments"),
        ({"model": "neg-maximum-cat", "train": True}, "nothing to train"),
        ({"model": "a.b:c d"}, "'c d' in 'a.b:c d' is not the name of a function"),
        ({"model": "a b:c"}, "neither the name of a module nor a file.py"),
        ({"model": "gpt-small", "device": "gpu"}, "it must be cpu, cuda or cuda:N"),
        ({"model": "gpt-small", "dtype": "half"}, "it must be one of float32"),
        ({"model": "gpt-small", "mode": "max-autotun"}, "Did you mean max-autotune"),
        ({"model": "gpt-small", "mode": "max-autotune", "backend": "eager"}, "belongs to inductor"),
        ({"model": "gpt-small", "backend": "in ductor"}, "not the name of a back end"),
        ({"model": "gpt-small", "config": {"a-b": "1"}}, "not the name of an Inductor option"),
        ({"model": "gpt-small", "seconds": 0}, "above 0"),
        ({"model": "gpt-small", "seconds": 601}, "at most 600"),
        ({"model": "gpt-small", "repeats": 0}, "1 to 10000"),
        ({"model": "train.py", "dtype": "float16"}, "A script controls dtype itself"),
        ({"model": "train.py", "train": True}, "A script controls train itself"),
        ({"model": "gpt-small", "pretend": "H-100"}, "may be one of B200, H200"),
        ({"model": "gpt-small", "pretend": "H100"}, "as cuda:0"),
        (
            {"model": "gpt-small", "pretend": "A30", "device": "cuda:0", "mode": "max-autotune"},
            "without max-autotune",
        ),
        ({"model": "train.py", "pretend": "H100", "device": "cuda:0"}, "controls device itself"),
        ({"model": "gpt-small", "colour": "red"}, "unknown field `colour`"),
        ({}, "missing required field `model`"),
    ],
)
def test_refusals_are_sentences(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(SpecError) as refusal:
        from_json(msgspec.json.encode(values))
    assert sentence in str(refusal.value)
    assert str(refusal.value).endswith((".", "?"))


def test_not_a_number_is_no_time() -> None:
    with pytest.raises(SpecError, match="timing budget"):
        CaptureSpec(model="gpt-small", seconds=float("nan"))


@pytest.mark.parametrize(
    ("model", "kind", "title"),
    [
        ("gpt-small", "built-in", "gpt-small"),
        ("/home/u/train.py", "script", "train.py"),
        ("/home/u/models.py:make", "factory", "models.py:make"),
        ("mine.models:make", "factory", "mine.models:make"),
    ],
)
def test_kinds_and_titles(model: str, kind: str, title: str) -> None:
    assert kind_of(model) == kind
    spec = CaptureSpec(model=model)
    assert spec.title == title
    assert spec.profiles


def test_training_and_given_names_show_in_the_title() -> None:
    assert CaptureSpec(model="gpt-small", train=True).title == "gpt-small training"
    assert CaptureSpec(model="gpt-small", name="Tuesday").title == "Tuesday"


def test_the_catalogue_says_what_each_model_shows() -> None:
    for model in BUILT_IN:
        assert model.shows.endswith(".")
        assert set(model.missing) <= set(model.needs)
