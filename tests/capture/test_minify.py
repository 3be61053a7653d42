# mypy: allow-subclassing-any
"""The smallest failing program, searched for with torch's minifier.

Torch is imported by the tests that need it, not when tests are collected.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inductorscope.capturing.inside.instructions import try_instructions
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.permission import permit
from inductorscope.capturing.spec import CaptureSpec

pytestmark = pytest.mark.torch

SUBJECTS = Path(__file__).with_name("numbers_subjects.py")


class StoppedError(Exception):
    """A search was stopped before it runs the smallest program on its own."""


class Kept(Reporter):
    """Keeps what a search tells on its way."""

    def __init__(self, *, proves: bool) -> None:
        super().__init__(None)
        self.partials: list[dict[str, Any]] = []
        self.steps: list[str] = []
        self.lines: list[str] = []
        self.proves = proves

    def progress(self, step: str, *rest: Any) -> None:
        self.steps.append(step)
        if step == "Running the program on its own" and not self.proves:
            raise StoppedError

    def log(self, line: str) -> None:
        self.lines.append(line)

    def partial(self, result: dict[str, Any]) -> None:
        self.partials.append(msgspec.json.decode(msgspec.json.encode(result)))


def search(
    model: str, folder: Path, after: str = "aot", earlier: dict[str, Any] | None = None
) -> tuple[dict[str, Any], Kept]:
    """In this process, so that torch is imported and warm once for all of them. What it found, at
    last and on its way."""
    from inductorscope.capturing.inside.diagnose.minify.asked import Asked, Journal
    from inductorscope.capturing.inside.diagnose.minify.minify import minify
    from inductorscope.capturing.inside.diagnose.minify.search import Search

    spec = CaptureSpec(model=f"{SUBJECTS}:{model}")
    report = Kept(proves=earlier is None)
    asked = msgspec.convert(earlier["checkpoint"], Asked) if earlier else Asked()
    doing = Search(after, Journal(asked, folder / "asked.json"), 0.0)
    try:
        found = minify(spec, permit(spec, [], trusted=True), doing, folder, report)
    except StoppedError:
        found = doing.result()
    return found, report


@pytest.fixture(autouse=True)
def settings_of_torch_come_back(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A search sets options of its own process, which is not this one as a rule."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    try_instructions("cpu")
    torch._dynamo.reset()
    with torch._inductor.config.patch({}), torch._functorch.config.patch({}):
        yield


@pytest.fixture(scope="module")
def lowering(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Kept]:
    """Of 6 operations one has no lowering."""
    return search("without_lowering", tmp_path_factory.mktemp("lowering"))


def test_a_crash_ends_in_the_one_operation_to_blame(
    lowering: tuple[dict[str, Any], Kept],
) -> None:
    found, report = lowering
    kept = report.partials
    assert found["summary"]["names"] == ["_foobar"]
    assert found["summary"]["operations_before"] == 6
    assert found["failure"]["type"] == "LoweringException"
    went = [step["summary"]["operations"] for step in kept]
    assert went == sorted(went, reverse=True)
    assert (went[0], went[-1]) == (6, 1)
    assert kept[1]["summary"]["verdict"].endswith("so far.")
    assert len(kept) == found["queries"] + 1
    assert found["inputs"][0]["kept"]
    states = {line["name"]: line["state"] for line in found["original"]}
    assert states["_foobar"] == "kept"
    assert states["tanh"] == "removed"
    assert states["add"] == "made an input"
    assert found["repro"]["fails"], found["repro"]["output"]
    assert found["repro"]["status"] == 1
    assert "target: aten._foobar.default" in found["repro"]["output"]


def test_each_step_is_told_while_it_runs(lowering: tuple[dict[str, Any], Kept]) -> None:
    _, report = lowering
    assert report.lines[0] == "Went from 8 to 6 nodes, truncate suffix."
    assert report.lines[-1] == "Went from 4 to 3 nodes, delta debugging."
    assert len(set(report.lines)) == len(report.lines) < len(report.partials)
    assert "Started with 8 nodes; trying truncate suffix" in report.steps
    assert "Went from 8 to 6 nodes, truncate suffix; trying delta debugging" in report.steps


def test_a_stopped_search_goes_on_from_where_it_was(
    lowering: tuple[dict[str, Any], Kept], tmp_path: Path
) -> None:
    whole, report = lowering
    stopped = next(step for step in report.partials if step["summary"]["operations"] <= 2)
    found, again = search("without_lowering", tmp_path, earlier=stopped)
    assert found["summary"]["names"] == ["_foobar"]
    assert found["notes"] == []
    assert found["checkpoint"] == whole["checkpoint"]
    assert again.lines == report.lines[1:]  # the last step, and what follows
    assert again.partials[0]["queries"] == stopped["queries"]
    assert 0 < stopped["queries"] < found["queries"] == whole["queries"]
    assert {line["name"]: line["state"] for line in found["original"]}["tanh"] == "removed"


def test_a_search_of_another_graph_begins_anew(
    lowering: tuple[dict[str, Any], Kept], tmp_path: Path
) -> None:
    _, report = lowering
    found, _ = search("cat_and_index", tmp_path, earlier=report.partials[-1])
    (note,) = found["notes"]
    assert "began anew" in note
    assert "does not fail" in found["summary"]["verdict"]


def test_its_page_shows_the_smallest_program(
    lowering: tuple[dict[str, Any], Kept], tmp_path: Path
) -> None:
    from tests.support.diagnosed import shown

    found, _ = lowering
    compile(found["repro"]["text"], "repro.py", "exec")  # the search has run it
    page, failures = shown("minify", found, tmp_path)
    assert "fails by itself" in page
    assert "reduced to 1 operation (_foobar)" in page
    smallest = page.partition('data-testid="minify-smallest"')[2].partition("</ol>")[0]
    assert smallest.count("<li") == 3
    assert "aten._foobar.default(" in smallest
    assert 'data-testid="minify-download"' in page
    assert "reduced to 1 operation (_foobar)" in failures


def test_there_is_nothing_to_minify_where_nothing_fails(tmp_path: Path) -> None:
    found, _ = search("cat_and_index", tmp_path, after="dynamo")
    assert found["summary"]["verdict"] == (
        "The program does not fail: its only graph compiles, runs, and gives the same numbers as "
        "eager. There is nothing to minify."
    )
    assert found["repro"] is None


CPP = """C++ compile error

Command:
g++ /tmp/a/b.main.cpp -o c

Output:
/tmp/a/b.main.cpp:24:58: error: no matching function for call to ‘max_propagate_nan(int&)’
"""


def test_failures_are_alike_when_only_names_and_numbers_differ() -> None:
    from inductorscope.capturing.inside.diagnose.minify import failure as failures
    from inductorscope.capturing.inside.diagnose.minify.program import Ran

    class CppCompileError(Exception):
        pass

    first = failures.of_exception(CppCompileError(CPP))
    other = failures.of_exception(
        CppCompileError(CPP.replace("24:58", "9:1").replace("max_prop", "min_prop"))
    )
    assert first.like(other)
    assert not first.like(failures.of_exception(CppCompileError(CPP.replace("matching", "such"))))
    assert not first.like(None)
    assert failures.in_words(first).startswith("CppCompileError: error: no matching function")
    assert msgspec.convert(msgspec.to_builtins(first), failures.Failure) == first
    assert first.shown_by(Ran(1, f"CppCompileError: {CPP}", 1.0))
    assert not first.shown_by(Ran(1, "CppCompileError: out of memory", 1.0))
    assert not first.shown_by(Ran(0, CPP, 1.0))
    assert not first.shown_by(Ran(-11, CPP, 1.0))
    killed = failures.of_end(-11)
    assert failures.in_words(killed) == "The process was ended by SIGSEGV."
    assert not killed.like(failures.of_end(3))
    assert killed.shown_by(Ran(-11, "", 1.0))
    assert not killed.shown_by(Ran(1, CPP, 1.0))
    assert not failures.of_end(-9).shown_by(Ran(-9, "", 300.0, hung=True))
