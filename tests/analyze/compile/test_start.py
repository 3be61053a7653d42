"""What a start consists of, and what is predicted of it, from a real log and from figures."""

import tarfile
from pathlib import Path

import pytest
from inductorscope.analyze.compile.model import CacheEvent, Compile, KernelCompiled, LogFacts, Story
from inductorscope.analyze.compile.start import PACKAGED, WARM, predictions, start_of
from inductorscope.capturing.measure.profile import story_of
from inductorscope.contract.lock import Program
from inductorscope.contract.project import add_warm
from inductorscope.formats.capture_facts import ScriptStart

SECOND = 1e6


def story(*, refused: bool = False) -> Story:
    """A compile of 10 s, 4 of which it waited for workers, and a later one that is no start."""
    compiles = [
        Compile(
            number, 0, None, f"{number}/0", 0, line=1, start_us=at * SECOND,
            end_us=(at + 10) * SECOND, waited_us=4 * SECOND, loading_us=0.5 * SECOND,
            phases={"dynamo": 2 * SECOND, "lowering": 3 * SECOND, "cpp": 9 * SECOND,
                    "caches": SECOND},
            beside={"cpp": 5 * SECOND},
        )
        for number, at in enumerate((100, 900))
    ]  # fmt: skip
    return Story(
        logs=[
            LogFacts("log", None, 7, 1, None, start_us=100 * SECOND, end_us=910 * SECOND,
                     outside={"tuning": 3 * SECOND}),
            LogFacts("short", None, 8, 1, None, start_us=100 * SECOND, end_us=101 * SECOND),
        ],
        compiles=compiles,
        kernels=[KernelCompiled(0, "triton_one", 1.5 * SECOND)],
        caches=[CacheEvent("FX graph", "bypass" if refused else "miss", compile=0, log=0, line=1)],
    )  # fmt: skip


def test_the_parts_of_a_script_add_up_to_its_first_step() -> None:
    script = ScriptStart(5.0, compile_s=8.0, step_s=24.0)
    start = start_of(story(), script, 7)
    assert start.parts == {
        "imports": 5 * SECOND, "program": 3 * SECOND, "dynamo": 2 * SECOND,
        "lowering": 3 * SECOND, "tuning": 3 * SECOND, "caches": SECOND, "waiting": 4 * SECOND,
        "rest": 3 * SECOND,
    }  # fmt: skip
    assert sum(start.parts.values()) == 24 * SECOND
    assert start.beside == {"cpp": 5 * SECOND, "triton": 1.5 * SECOND}
    assert [compile_.number for compile_ in start.compiles] == [0]
    found = {row.title: row.predicted_s for row in predictions(story(), start, SECOND)}
    assert found == {
        WARM: 24 - 6.5, PACKAGED: 24 - 2.5, "no autotuning": 21,
        "twice as many compile workers": 22, "equal graphs compiled once": 23,
    }  # fmt: skip


def test_without_a_script_a_start_is_from_the_first_event_to_the_last() -> None:
    start = start_of(story())
    assert sum(start.parts.values()) == 810 * SECOND
    assert start.parts["waiting"] == 8 * SECOND
    assert len(start.compiles) == 2
    empty = start_of(Story())
    assert (empty.parts, predictions(Story(), empty)) == ({}, [])


def test_a_cache_that_refuses_a_compile_saves_nothing_of_it() -> None:
    script = ScriptStart(5.0, compile_s=8.0, step_s=24.0)
    refused = story(refused=True)
    assert WARM not in {row.title for row in predictions(refused, start_of(refused, script, 7))}


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Path:
    folder = tmp_path_factory.mktemp("starts")
    with tarfile.open(fixtures / "startup.tar.xz") as files:
        files.extractall(folder, filter="data")
    for name in ("first", "unchanged", "config"):
        (folder / name).mkdir()
        (folder / "startup" / name).rename(folder / name / "torch_trace")
    return folder


def test_a_prediction_from_a_cold_start_is_near_the_warm_one(starts: Path) -> None:
    cold, warm = (start_of(story_of(starts / name)) for name in ("first", "unchanged"))
    predicted = {row.title: row for row in predictions(story_of(starts / "first"), cold)}
    whole = sum(cold.parts.values()) / SECOND
    took = sum(warm.parts.values()) / SECOND  # on a busier machine
    assert 0.6 < predicted[WARM].predicted_s / took < 1.15
    assert predicted[WARM].predicted_s + predicted[WARM].saved_s == pytest.approx(whole)
    assert WARM not in {row.title for row in predictions(story_of(starts / "unchanged"), warm)}


def test_a_lock_counts_what_a_warm_start_does_again(starts: Path) -> None:
    warm, missed = Program("m"), Program("m")
    add_warm(warm, story_of(starts / "unchanged"))
    assert set(warm.counts.values()) == {0}
    assert warm.warm
    assert not warm.details
    add_warm(missed, story_of(starts / "config"))
    assert missed.counts == {
        "warm_misses": 4, "warm_bypasses": 0, "warm_graphs": 2, "warm_tunings": 0,
    }  # fmt: skip
    assert missed.details["warm_misses"][0] == "AOTAutograd of `f`: miss"
