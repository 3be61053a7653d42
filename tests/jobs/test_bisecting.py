"""A search finds the settings or the version that make the difference; kernels that fit swap."""

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from inductorscope.analyze.benchmark.case import KernelCase, Operand
from inductorscope.analyze.benchmark.subgraph import Subgraph
from inductorscope.analyze.bytes.graph import CallWork
from inductorscope.analyze.bytes.moved import CallBytes
from inductorscope.analyze.measure.result import Try
from inductorscope.answers.compare.measured import search_in_words, try_in_words
from inductorscope.answers.compare.page import GroupRow, KernelCalls
from inductorscope.capturing.measure.processes import Arm, Once, as_it_was
from inductorscope.capturing.measure.profile import Profiled
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.cli.app import app
from inductorscope.cli.commands import bisect
from inductorscope.formats.code.layouts import Layout
from inductorscope.jobs.work.bisecting import ByCount, ByTime, search_settings, search_versions
from inductorscope.jobs.work.pair import NoSwap, changed_sources, groups_of, swaps_of
from inductorscope.jobs.work.settings import Version, revisions_between, settings_between
from inductorscope.jobs.work.task import WorkRefused
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.tables.models import Artifact, Run
from msgspec.structs import replace
from typer.testing import CliRunner

from tests.support.captured import captured_run

assert bisect  # importing it registers the command

SPEC = CaptureSpec(model="neg-maximum-cat")
A = Arm("A", SPEC, environment={"TORCH_X": None})
KEYS = {f"key_{number}": "1" for number in range(9)}
B = Arm("B", CaptureSpec(model=SPEC.model, mode="max-autotune", config=KEYS),
        environment={"TORCH_X": "1"})  # fmt: skip


class Needs:
    """Says that an arm is like B if it has all of these keys, or cannot tell."""

    by = "time"

    def __init__(self, *keys: str, unknown: int = -1, over_after: int = 99) -> None:
        self.keys, self.unknown, self.over_after, self.asked = keys, unknown, over_after, 0

    def is_over(self) -> bool:
        self.asked += 1
        return self.asked > self.over_after

    def __call__(self, arm: Arm, name: str) -> Try:
        self.asked += 1
        like_b = all(key in {*arm.spec.config, *filter(None, [arm.spec.mode])} for key in self.keys)
        return Try(name, "" if self.asked == self.unknown else "B" if like_b else "A")


@pytest.mark.parametrize(
    "needed", [("key_0",), ("key_8",), ("max-autotune",), ("key_2", "key_7"), tuple(KEYS)]
)
def test_few_settings_that_make_the_difference_together_are_found(needed: Sequence[str]) -> None:
    settings = settings_between(A, B)
    assert [setting.name for setting in settings] == ["mode", *KEYS, "TORCH_X"]
    kept: list[int] = []
    found = search_settings(A, settings, Needs(*needed), lambda so_far: kept.append(1))
    assert set(found.found) == {"mode" if name == "max-autotune" else name for name in needed}
    assert len(kept) == len(found.tries) <= 5 * len(needed)
    assert "make" in search_in_words(found)
    unknown = search_settings(A, settings, Needs(*needed, unknown=2), lambda _: None)
    assert not unknown.complete
    assert "Nobody can tell" in search_in_words(unknown)


@pytest.mark.parametrize(("first", "broken", "after"), [(5, set(), 4), (1, {4}, 0), (5, {3, 4}, 2)])
def test_the_first_version_is_found_past_those_that_do_not_run(
    first: int, broken: set[int], after: int
) -> None:
    class Judge(Needs):
        def __call__(self, arm: Arm, name: str) -> Try:
            if int(name) in broken:
                raise CaptureFailed("It does not run.")
            return Try(name, "B" if int(arm.python) >= first else "A")

    versions = [Version("Python", str(number)) for number in range(8)]
    out_of_time = search_versions(A, versions, Judge(over_after=1), lambda _: None)
    assert (len(out_of_time.tries), out_of_time.complete) == (1, False)
    found = search_versions(A, versions, Judge(), lambda _: None)
    assert (found.found, found.after) == ([str(first)], str(after))
    assert found.complete == (after == first - 1)
    assert f"`{after}`" in search_in_words(found)


def test_what_no_settings_explain_is_said(tmp_path: Path) -> None:
    """A has not B's file, and cannot have its mode."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text("now")
    one, other = (
        Arm(label, CaptureSpec(model=f"{tmp_path}/{name}/model.py:{name}", backend=backend,
                               mode=mode),
            {f"{tmp_path}/{name}/model.py": b"then"})
        for label, name, backend, mode in (("A", "one", "eager", None),
                                           ("B", "other", "inductor", "max-autotune"))
    )  # fmt: skip
    settings = settings_between(one, other)
    assert [setting.name for setting in settings] == ["backend", "mode", "source"]
    spec, _ = as_it_was(settings[-1].given(one), tmp_path / "copy")
    assert Path(spec.model.partition(":")[0]).read_text() == "now"
    found = search_settings(one, settings[1:], Needs("none"), lambda _: None)
    assert "belongs to inductor" in found.why_not
    found = search_settings(A, settings_between(A, B), Needs("none"), lambda _: None)
    assert "do not make A like B" in found.why_not


def test_kernels_of_one_name_are_told_apart() -> None:
    def row(a: str, b: str) -> GroupRow:
        one, other = ([KernelCalls("g", name, 0, "triton", 1, "pointwise", None, None)
                       for name in names.split()] for names in (a, b))  # fmt: skip
        return GroupRow(one, other, "same code", "name", "", False, 0, None, None, None, {})

    found = groups_of([row("", "x"), row("x", "y"), row("p q", "r"), row("q", "s")])
    assert {name: (setting.a, setting.b) for name, setting in found.items()} == {
        "x": ({"x"}, {"y"}), "x of B": (set(), {"x"}), "p": ({"p", "q"}, {"r", "s"}),
    }  # fmt: skip


def test_times_and_counts_tell_programs_apart() -> None:
    pytest.importorskip("scipy")
    ms = {"A": 10.0, "B": 12.0, "near A": 10.2, "near B": 11.9, "between": 11.0}
    ran: list[str] = []

    def once(arm: Arm) -> Once:
        ran.append(arm.label)
        noise = 1 + len(ran) * 7 % 11 / 1000
        return Once(arm.label, ms[arm.label] * noise, Profiled(), "", 0.0, None, 0.0, None, [])

    judge = ByTime(A, B, once, 60.0, silent)
    judge.check()
    for name, like in (("near A", "A"), ("near B", "B"), ("between", "")):
        assert judge(replace(A, label=name), name).like == like
    ms["B"] = 10.0
    with pytest.raises(WorkRefused, match="nothing to search for"):
        ByTime(A, B, once, 60.0, silent).check()

    kernels = {"A": 4, "B": 9, "C": 8}
    counted = ByCount(A, B, lambda arm: {"kernels": kernels[arm.label]}, "kernels")
    tried = counted(replace(A, label="C"), "C")
    assert try_in_words(tried, "kernels") == "C: like B, 8 kernels"
    with pytest.raises(WorkRefused, match="both have 4 kernels"):
        ByCount(A, A, lambda arm: {"kernels": 4}, "kernels")


def test_revisions_are_listed_and_nothing_is_written(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *names, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    heads = []
    for number in range(3):
        (tmp_path / "model.py").write_text(f"{number}")
        git("add", ".")
        git("commit", "-qm", "x")
        heads.append(git("rev-parse", "HEAD"))
    arm = Arm("A", CaptureSpec(model=f"{tmp_path}/model.py:small"))
    found = revisions_between(arm.spec, heads[0], "HEAD")
    assert [revision.value for revision in found] == heads
    assert found[0].of(arm).sources == {f"{tmp_path}/model.py": b"0"}
    assert found[0].of(arm).root == tmp_path
    assert git("status", "--porcelain") == ""


def test_a_secret_that_is_not_stored_is_no_change(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    migrate(settings)
    main, other = tmp_path / "train.py", tmp_path / "model.py"
    main.write_text("login(password='sesame'); width = 1\n")
    other.write_text("width = 1\n")
    run = Run(
        id="a", content_digest="a", name="a", origin="capture", created_at=datetime.now(UTC),
        graph_count=0, kernel_count=0, timings={}, environment={}, report={}, tags=[],
        bytes_in=0, bytes_stored=0, state="complete",
    )  # fmt: skip
    with engine_of(settings) as engine, sessions(engine).begin() as session:
        session.add(run)
        for path, text in (
            (main, b"login(password='<secret removed>'); width = 1\n"),
            (other, b"width = 2\n"),
        ):
            content = content_of_bytes(text)
            add_blobs(session, [content])
            session.add(
                Artifact(
                    run_id="a", role="source", path=str(path), digest=content.digest, size=len(text)
                )
            )
        session.flush()
        found = changed_sources(session, run, CaptureSpec(model=str(main)), [])
    assert found == {str(other): b"width = 2\n"}


def _case(kernel: str, names: str, call: str = "{0}({1}, 8)", **changed: Any) -> KernelCase:
    layout = Layout(("8", "4"), ("4", "1"), "float32", "cpu")
    one, other = names.split()
    case = KernelCase(
        kernel, 0, "cpp", "cpu", [f"{kernel} = async_compile.cpp_pybinding([], '''", "''')"],
        call.format(kernel, f"{one}, {other}"), [],
        [Operand(one, layout, ["in_ptr0"], "random"),
         Operand(other, layout, ["out_ptr0"], "nothing", written=True)],
        {}, Subgraph(), CallWork(kernel, 0, 1, CallBytes()),
    )  # fmt: skip
    return replace(case, **changed)


def test_kernels_swap_where_their_calls_fit() -> None:
    a, b = _case("cpp_fused_a_0", "x buf0"), _case("cpp_fused_b_3", "arg buf7")
    in_a, in_b = swaps_of(a, b, {}, {})
    assert in_a.own == "\n".join(a.definition)
    assert in_a.other == in_a.own
    assert in_b.other == in_b.own != in_a.own
    in_a, _ = swaps_of(a, b, {}, {"cpp.simdlen": "1"})
    assert in_a.other.startswith("with torch._inductor.config.patch({'cpp.simdlen': 1}):\n    cpp_")
    layout = replace(a.operands[0].layout, stride=("1", "8"))
    other = [replace(a.operands[0], layout=layout), a.operands[1]]
    for misfit, why in (
        ({"definition": []}, "library"),
        ({"kind": "triton"}, "C\\+\\+"),
        ({"operands": other}, "`x` of one kernel and `x` of the other differ in shape"),
        ({"operands": a.operands[:1]}, "other buffers"),
        ({"call": "cpp_fused_a_0(x, buf0, 16)"}, "other numbers"),
    ):
        with pytest.raises(NoSwap, match=why):
            swaps_of(a, replace(a, **misfit), {}, {})


@pytest.mark.torch
def test_the_command_searches_pythons(
    tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)  # which counting does without
    settings = Settings(data=tmp_path / "data", database_url="")
    migrate(settings)
    run = captured_run(settings, fixtures / "neg-does-not-compile", tmp_path, SPEC.model)
    asked = ["bisect", run, "--data", str(settings.data), "--by", "kernels"]
    assert CliRunner().invoke(app, asked).exit_code == 2
    for name, variable in (("old", "X=1"), ("new", "TORCHDYNAMO_DISABLE=1")):
        python = tmp_path / name
        python.write_text(f'#!/bin/sh\n{variable} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        asked += ["--python", str(python)]
    timed = CliRunner().invoke(app, [*asked, "--by", "time"])
    assert timed.exit_code == 1
    assert "Measuring needs scipy" in timed.output
    printed = CliRunner().invoke(app, asked)
    assert printed.exit_code == 0, printed.output
    said = f"Python `{tmp_path}/new` is the first like B, after `{tmp_path}/old`"
    assert said in printed.stdout
