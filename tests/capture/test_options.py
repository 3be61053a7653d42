"""Options that only torch can judge, and factories that only it can call."""

import os
from pathlib import Path

import pytest
from inductorscope.capturing.spec import CaptureSpec, SpecError

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
    from inductorscope.capturing.inside.options import parse_value
    from torch._inductor import config

    parsed = parse_value(config, key, text, trusted=True)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("max_fusion_sise", "1", "Did you mean max_fusion_size"),
        ("freezing", "3", "takes a value like False, not 3"),
        ("max_fusion_size", "many", "takes a value like"),
        ("max_fusion_size", "True", "takes a value like"),
        ("trace.enabled", "False", "The capture sets the key"),
    ],
)
def test_values_that_do_not_fit_are_refused(key: str, text: str, sentence: str) -> None:
    from inductorscope.capturing.inside.options import parse_value
    from torch._inductor import config

    with pytest.raises(SpecError, match=sentence):
        parse_value(config, key, text, trusted=True)


EXPLOIT = 'off -wrapper "/bin/sh,-c,touch X"'


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("max_fusion_size", "16", 16),
        ("freezing", "true", True),
        ("cpp.simdlen", "256", 256),
        ("cpp.simdlen", "None", None),
        ("cpp.min_chunk_size", "4096", 4096),
        ("realize_opcount_threshold", "12", 12),
        ("cpu_gpu_bw", "25", 25.0),
        ("max_autotune_gemm_backends", "aten, CPP", "aten, CPP"),
        ("max_autotune_gemm_search_space", "EXHAUSTIVE", "EXHAUSTIVE"),
    ],
)
def test_numbers_switches_and_known_words_may_come_from_the_web(
    key: str, text: str, value: object
) -> None:
    from inductorscope.capturing.inside.options import parse_value
    from torch._inductor import config

    parsed = parse_value(config, key, text, trusted=False)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("cpp.enable_floating_point_contract_flag", EXPLOIT),
        ("cpp.enable_floating_point_contract_flag", "16"),
        ("cpp.cxx", "(None, '/tmp/x')"),
        ("cpp.march", EXPLOIT),
        ("cpp.march", "1"),
        ("cpp.march", "None"),
        ("cpp.simdlen", EXPLOIT),
        ("cpp.simdlen", "(1, 2)"),
        ("cpp.simdlen", "1j"),
        ("cpp.gemm_cache_blocking", "1,2,3"),
        ("cuda.cuda_cxx", "/tmp/x"),
        ("cuda.cutlass_dir", "/tmp/x"),
        ("aot_inductor.output_path", "/tmp/x"),
        ("custom_partitioner_fn", "None"),
        ("fx_passes_numeric_check", "{}"),
        ("global_cache_dir", "/tmp/x"),
        ("halide.cpu_target", "x"),
        ("profile_bandwidth_output", "/tmp/x"),
        ("profile_bandwidth_output", "1"),
        ("max_autotune_gemm_backends", "ATEN,X"),
        ("max_autotune_gemm_backends", ""),
        ("max_autotune_gemm_backends", "None"),
        ("autotune_remote_cache", "True"),
        ("bundled_autotune_remote_cache", "False"),
        ("remote_gemm_autotune_cache", "True"),
        ("cuda.upload_to_binary_remote_cache", "True"),
        ("save_args", "True"),
    ],
)
def test_everything_else_is_refused_from_the_web_with_what_to_do(key: str, text: str) -> None:
    from inductorscope.capturing.inside.options import parse_value
    from inductorscope.capturing.permission import NotAllowed
    from torch._inductor import config

    if key not in config.get_config_copy():
        pytest.skip(f"this torch has no {key}")
    with pytest.raises(NotAllowed) as refusal:
        parse_value(config, key, text, trusted=False)
    assert str(refusal.value).startswith(f"The key {key} may not be set so from the web: ")
    assert f"command line on the machine (inductorscope capture … --config {key}=…)." in str(
        refusal.value
    )
    assert text not in str(refusal.value) or len(text) < 8


def test_no_key_takes_a_text_from_the_web_but_those_of_known_words() -> None:
    from inductorscope.capturing.inside.options import _WORDS, parse_value
    from torch._inductor import config

    for key in config.get_config_copy():
        for text in (EXPLOIT, repr([EXPLOIT]), repr((None, EXPLOIT)), repr({"a": EXPLOIT})):
            with pytest.raises(SpecError):
                parse_value(config, key, text, trusted=False)
        if key not in _WORDS:
            for text in ("1", "True", "None", "0.5", "x"):
                try:
                    value = parse_value(config, key, text, trusted=False)
                except SpecError:
                    continue
                assert value is None or isinstance(value, bool | int | float)


def test_one_refused_key_leaves_all_others_as_they_were() -> None:
    from inductorscope.capturing.inside.options import apply_options
    from torch._inductor import config

    before = config.max_fusion_size
    asked = {"max_fusion_size": str(before + 1), "cpp.march": "native"}
    with pytest.raises(SpecError, match=r"cpp\.march may not"):
        apply_options(CaptureSpec(model="gpt-small", config=asked), trusted=False)
    assert config.max_fusion_size == before


def test_back_ends_from_the_web_are_those_that_run_no_programs() -> None:
    from inductorscope.capturing.inside.options import apply_options

    for backend in ("inductor", "eager", "aot_eager", "cudagraphs"):
        apply_options(CaptureSpec(model="gpt-small", backend=backend), trusted=False)
    for backend in ("tvm", "dynamo_minifier_backend"):
        spec = CaptureSpec(model="gpt-small", backend=backend)
        with pytest.raises(SpecError, match=rf"back end {backend} may not be chosen from the web"):
            apply_options(spec, trusted=False)
        apply_options(spec, trusted=True)


def test_options_this_machine_or_torch_lacks() -> None:
    import torch
    from inductorscope.capturing.inside.options import apply_options

    with pytest.raises(SpecError, match=r"no back end 'inducter'\. Did you mean inductor"):
        apply_options(CaptureSpec(model="gpt-small", backend="inducter"), trusted=False)
    if not torch.cuda.is_available():
        with pytest.raises(SpecError, match="sees no CUDA device"):
            apply_options(CaptureSpec(model="gpt-small", device="cuda"), trusted=False)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("subjects.py:no_model", r"must return \(callable, arguments\).*returned int"),
        ("subjects.py:absent", "has no function absent"),
    ],
)
def test_factories_must_make_a_model(model: str, sentence: str) -> None:
    from inductorscope.capturing.inside.loading import load
    from inductorscope.capturing.permission import permit

    spec = CaptureSpec(model=str(Path(__file__).parent / model))
    with pytest.raises(SpecError, match=sentence):
        load(spec, permit(spec, [], trusted=True))


def test_functions_that_a_file_imports_are_no_factories_from_the_web(tmp_path: Path) -> None:
    from inductorscope.capturing.inside.loading import find_factory
    from inductorscope.capturing.permission import NotAllowed, permit

    (tmp_path / "smuggled.py").write_text(
        "from os import system\nfrom subprocess import Popen, check_call\ndef make(): ...\n"
    )
    for reference in (f"{tmp_path}/smuggled.py", "smuggled"):
        own = CaptureSpec(model=f"{reference}:make")
        assert find_factory(own, permit(own, [tmp_path], trusted=False)).__name__ == "make"
        for name in ("system", "Popen", "check_call"):
            spec = CaptureSpec(model=f"{reference}:{name}", args=("touch X",))
            with pytest.raises(NotAllowed, match="comes from elsewhere than the worker's folders"):
                find_factory(spec, permit(spec, [tmp_path], trusted=False))
    trusting = CaptureSpec(model=f"{tmp_path}/smuggled.py:system")
    assert find_factory(trusting, permit(trusting, [], trusted=True)) is os.system


def test_an_installed_module_does_not_stand_in_for_the_folders_own(tmp_path: Path) -> None:
    from inductorscope.capturing.inside.loading import find_factory
    from inductorscope.capturing.permission import NotAllowed, permit

    (tmp_path / "os.py").write_text("")
    spec = CaptureSpec(model="os:popen", args=("touch X",))
    with pytest.raises(NotAllowed):
        find_factory(spec, permit(spec, [tmp_path], trusted=False))


def test_an_absent_module_is_named() -> None:
    from inductorscope.capturing.inside.loading import load
    from inductorscope.capturing.permission import Loading

    with pytest.raises(SpecError, match="The module absent does not exist"):
        load(CaptureSpec(model="absent.module:make"), Loading())


def test_another_torch_gets_no_record_and_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from inductorscope.capturing.record.install import install
    from inductorscope.formats.capture_facts import RecordFacts

    monkeypatch.setattr(torch, "__version__", "2.99.0")
    facts = install()
    assert isinstance(facts, RecordFacts)
    assert not facts.made
    assert "not 2.99.0" in facts.reason
