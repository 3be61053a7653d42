"""Settings come from the environment, and the documentation names every one."""

from dataclasses import fields
from pathlib import Path

import pytest
from inductorscope.settings import PREFIX, SettingError, Settings, load

DOCS = Path(__file__).resolve().parent.parent / "docs" / "settings.md"


def test_the_documentation_names_every_setting() -> None:
    text = DOCS.read_text()
    for field in fields(Settings):
        assert f"`{PREFIX}{field.name.upper()}`" in text


def test_the_documentation_names_no_setting_that_is_not_there() -> None:
    rows = [line.split("`")[1] for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"{PREFIX}{field.name.upper()}" for field in fields(Settings)]


def test_a_number_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_PORT", "eighty")
    with pytest.raises(SettingError, match=r"INDUCTORSCOPE_PORT is 'eighty'"):
        load()


@pytest.mark.parametrize(("name", "value"), [("port", 65_536), ("port", -1), ("workers", -1)])
def test_options_are_checked_like_variables(tmp_path: Path, name: str, value: int) -> None:
    with pytest.raises(SettingError, match=str(value)):
        load(data=tmp_path, **{name: value})


def test_options_win_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_PORT", "1")
    monkeypatch.setenv("INDUCTORSCOPE_TOKEN_TO_READ", "yes")
    settings = load(port=2, data=tmp_path)
    assert (settings.port, settings.token_to_read, settings.data) == (2, True, tmp_path)
    assert settings.url == f"sqlite:///{tmp_path / 'inductorscope.db'}"
