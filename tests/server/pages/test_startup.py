"""Why a start compiled again: logs of one program, started again with one change at a time."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from inductorscope.analyze.compile.reuse import differences, nearest
from inductorscope.answers.compile.startup import StartupPage, startup_page
from inductorscope.cli.local import read_paths
from inductorscope.formats.log.cache_keys import Component, read_components
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions

Beside = Callable[[str], StartupPage]


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Beside:
    """The page of a start, beside the first one, which filled the cache."""
    folder = tmp_path_factory.mktemp("starts")
    with tarfile.open(fixtures / "startup.tar.xz") as files:
        files.extractall(folder, filter="data")
    settings = Settings(data=folder / "data", database_url="")

    def read(start: str) -> str:
        return read_paths(
            settings, [folder / "startup" / start], name=start, tags=[], origin="ingest",
            progress=lambda *_: None,
        ).run_id  # fmt: skip

    first = read("first")

    def page(start: str) -> StartupPage:
        run, engine = read(start), make_engine(settings)
        with sessions(engine)() as session:
            found = startup_page(session, run, "" if start == "first" else first)
        engine.dispose()
        return found

    return page


def test_an_unchanged_start_misses_nothing(beside: Beside) -> None:
    page = beside("unchanged")
    assert page.rows == []
    assert page.said == "Every compile was taken from a cache."
    assert {(count.cache, count.hits, count.misses) for count in page.counts} == {
        ("AOTAutograd", 2, 0), ("FX graph", 2, 0),
    }  # fmt: skip


def test_an_option_is_named_with_both_values(beside: Beside) -> None:
    page = beside("config")
    [row] = page.rows
    assert (row.cause, row.here, row.there) == ("inductor_config[max_fusion_size]", "3", "64")
    assert (row.count, row.code) == (4, "the same in 1 of 2 compiles")
    assert [ref.id for ref in row.compiles] == ["0/0", "1/0"]
    assert row.seconds == pytest.approx(page.seconds)
    assert "4 of 4 lookups missed because `inductor_config[max_fusion_size]` differs." in page.said


def test_a_shape_is_named_and_other_compiles_are_not(beside: Beside) -> None:
    [row] = beside("shape").rows
    assert (row.cause, row.here, row.there) == (
        "example_inputs[0]", "shape=torch.Size([65, 32])", "shape=torch.Size([64, 32])",
    )  # fmt: skip
    assert row.code == "other code"


def test_a_reason_of_torch_is_shown(beside: Beside) -> None:
    [row] = beside("pass-without-id").rows
    assert row.cause == "Unsupported post grad custom pass"
    assert "bypass" in row.what


def test_without_another_run_nothing_is_blamed(beside: Beside) -> None:
    page = beside("first")
    assert page.other is None
    assert [row.cause for row in page.rows] == [""]


def test_of_several_differences_the_cause_leads() -> None:
    graph, option = Component("a" * 30, "x = y + 1\nz"), Component("b" * 30, "True")
    other = {"gm": Component("c" * 30, "z"), "inductor_config[dce]": Component("d" * 30, "False")}
    found = differences({"gm": graph, "inductor_config[dce]": option}, other)
    assert [difference.name for difference in found] == ["inductor_config[dce]", "gm"]
    assert found[1].here == "x = y + 1"
    assert nearest({"gm": graph}, [other, {"gm": graph}]) == {"gm": graph}
    assert nearest({"gm": graph}, []) is None


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b'{"components": 3}', b'{"components": [1, "x", "[a] b: c"]}', b"\xff"]
)
def test_a_damaged_record_has_no_components(payload: bytes) -> None:
    assert read_components(payload) == {}
