"""Running a model is running its code: whose may be run."""

import os
from pathlib import Path

import pytest
from inductorscope.capturing.permission import NotAllowed, model_folders, permit
from inductorscope.capturing.spec import CaptureSpec, SpecError, from_builtins


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    (folder / "package").mkdir(parents=True)
    (folder / "model.py").write_text("")
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "inner.py").write_text("")
    (tmp_path / "outside.py").write_text("")
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    return folder


def test_built_in_models_are_always_allowed() -> None:
    assert permit(CaptureSpec(model="gpt-small"), [], trusted=False).file is None


@pytest.mark.parametrize("reference", ["model.py", "model.py:make", "package/inner.py:make"])
def test_files_in_a_configured_folder(allowed: Path, reference: str) -> None:
    name = reference.partition(":")[0]
    found = permit(CaptureSpec(model=reference), [allowed], trusted=False)
    assert found.file == str(allowed / name)
    absolute = permit(CaptureSpec(model=f"{allowed}/{reference}"), [allowed], trusted=False)
    assert absolute.file == found.file


@pytest.mark.parametrize("module", ["model", "package", "package.inner"])
def test_modules_in_a_configured_folder(allowed: Path, module: str) -> None:
    found = permit(CaptureSpec(model=f"{module}:make"), [allowed], trusted=False)
    assert found.paths == (str(allowed),)


@pytest.mark.parametrize(
    "model",
    ["../outside.py", "link.py", "absent.py:make", "os:getcwd", "package.absent:make", "/etc/x.py"],
)
def test_everything_else_is_refused(allowed: Path, model: str) -> None:
    with pytest.raises(NotAllowed, match="none of the folders"):
        permit(CaptureSpec(model=model), [allowed], trusted=False)


def test_without_folders_the_refusal_says_what_its_owner_can_do(allowed: Path) -> None:
    with pytest.raises(NotAllowed, match="INDUCTORSCOPE_MODEL_FOLDERS"):
        permit(CaptureSpec(model=f"{allowed}/model.py"), [], trusted=False)


def test_a_trusted_person_may_run_anything_that_exists(allowed: Path) -> None:
    outside = allowed.parent / "outside.py"
    assert permit(CaptureSpec(model=str(outside)), [], trusted=True).file == str(outside)
    with pytest.raises(SpecError, match="does not exist"):
        permit(CaptureSpec(model="/absent/model.py"), [], trusted=True)


def test_trust_is_what_the_caller_says_and_no_spec_can_say_it(allowed: Path) -> None:
    for model in ("gpt-small", "model.py", "model.py:make", "package.inner:make"):
        assert not permit(CaptureSpec(model=model), [allowed], trusted=False).trusted
        path = model if model == "gpt-small" else model.replace("model.py", f"{allowed}/model.py")
        assert permit(CaptureSpec(model=path), [], trusted=True).trusted
    with pytest.raises(SpecError, match="unknown field"):
        from_builtins({"model": "gpt-small", "trusted": True})
    with pytest.raises(SpecError, match="unknown field"):
        from_builtins({"model": "gpt-small", "loading": {"trusted": True}})


def test_the_setting_lists_folders_like_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    setting = os.pathsep.join([str(tmp_path / "link"), "", "/nowhere"])
    assert model_folders(setting) == [tmp_path / "real", Path("/nowhere")]
