"""Changes that are applied to a program while it runs, and what is said of them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from inductorscope.analyze.trial.catalogue import Entry, Known, catalogue, that_apply
from inductorscope.analyze.trial.numerics import Numerics
from inductorscope.analyze.trial.result import Structure, Trial
from inductorscope.capturing.measure import processes
from inductorscope.capturing.measure.processes import Arm, Looked, Once, Runner, Store
from inductorscope.capturing.measure.profile import Profiled
from inductorscope.capturing.measure.turns import Budget
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.trial.improving import NO_TIME, Search
from inductorscope.capturing.trial.trying import SAME_CODE, TOO_LONG, Trier, try_change
from inductorscope.capturing.watch import CaptureFailed, CaptureInterrupted
from inductorscope.formats.change import Change, Mark
from inductorscope.formats.results import Results, Sample
from inductorscope.progress import silent
from inductorscope.settings import Settings
from msgspec.structs import replace

SCRIPT = """
import logging
import os
import time
from pathlib import Path
import torch

HERE = os.getpid()
log = logging.getLogger("train")


def scaled(x, factor):
    y = torch.sin(x) * factor
    log.warning("step")
    return y


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        Path(__file__).with_name("in the program" if os.getpid() == HERE else "in a worker").touch()
        return torch.ones(8 + index % 2, 16)


compiled = torch.compile(scaled)
for step, x in enumerate(torch.utils.data.DataLoader(Rows(), batch_size=None)):
    compiled(x, 0.5)
    time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def trier(tmp_path_factory: pytest.TempPathFactory) -> Trier:
    folder = tmp_path_factory.mktemp("trials")
    script = folder / "train.py"
    script.write_text(SCRIPT)
    settings = Settings(folder / "data", "")
    runner = Runner(folder / "work", settings, trusted=True, alike=True)
    return Trier(Arm("A", CaptureSpec(model=str(script))), runner, silent)


@pytest.mark.torch
def test_a_change_acts_on_the_running_script(trier: Trier) -> None:
    marks = (Mark("scaled", "x", 0),)
    change = Change(ignored=("logging.Logger.warning",), dynamic=True, marks=marks, workers=1)
    assert trier.base
    folder = Path(trier.arm.spec.model).parent
    assert not (folder / "in a worker").exists()
    (folder / "in the program").unlink()
    trial = trier.look("the change", change)
    assert (folder / "in a worker").exists()
    assert not (folder / "in the program").exists()
    assert trial.before is not None
    assert trial.after is not None
    assert trial.numerics is not None
    assert trial.before.breaks > 0
    assert trial.before.recompiles > 0
    assert trial.numerics.answer in ("equal", "within bounds"), trial.numerics
    assert trial.answer == "running"
    assert trial.after.breaks == 0
    assert trial.after.recompiles < trial.before.recompiles


BASE = Results([Sample("f, call 1, tensor 0", "float32", (1,), b"\0" * 8)])


class Pretended:
    """A runner of programs whose times are given by their changes."""

    def __init__(self, times: Callable[[Change], float], changed: Results = BASE) -> None:
        self.times = times
        self.changed = changed
        self.processes = 0

    def look(self, arm: Arm, store: Store | None = None, **how: Any) -> Looked:
        change = arm.spec.change or Change()
        if change.threads == 3:
            raise CaptureFailed("It does not run.")
        code = "the same" if change == Change(dynamic=False) else change.text
        code = "the same" if change == Change() else code
        results = BASE if change == Change() else self.changed
        return Looked(Structure(graphs=1, codes=(code,), compile_s=1.0), results, BASE)

    def once(self, arm: Arm, seconds: float, *, only_timed: bool) -> Once:
        self.processes += 1
        noise = 1 + 0.001 * (self.processes * 7 % 11)
        ms = self.times(arm.spec.change or Change()) * noise
        return Once(arm.label, ms, Profiled(), "", 0.0, None, 0.0, None, [])


def entry(title: str, change: Change) -> Entry:
    return Entry(title, lambda known: True, change)


CHANGES = {
    "dynamic": Change(dynamic=True),
    "nothing": Change(dynamic=False),
    "optimizer": Change(optimizer=True),
    "last": Change(channels_last=True),
    "broken": Change(threads=3),
}


def trier_with(runner: Pretended) -> Trier:
    """A search is tested with times that are known, so its processes are pretended."""
    return Trier(Arm("A", CaptureSpec(model="neg-maximum-cat")), cast("Runner", runner), silent)


def improved(times: Callable[[Change], float]) -> Search:
    runner = Pretended(times)
    trier = trier_with(runner)
    search = Search(trier, 600.0, lambda found: None)
    search.run(that_apply(Known(), [entry(*change) for change in CHANGES.items()]))
    return search


@pytest.mark.torch
def test_a_change_wins_over_what_the_program_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from inductorscope.capturing.inside.options import set_everywhere
    from inductorscope.capturing.trial.inside.changing import install
    from torch._inductor import config

    monkeypatch.setattr(torch, "compile", torch.compile)
    usual = config.shape_padding
    try:
        install(Change(inductor={"shape_padding": str(not usual)}), None, trusted=True)
        config.shape_padding = usual
        torch.compile(torch.sin)
        assert config.shape_padding is not usual
    finally:
        set_everywhere(config, "shape_padding", usual)


def test_ctrl_c_ends_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise CaptureInterrupted("")

    monkeypatch.setattr(processes, "run_capture", interrupted)
    (tmp_path / "train.py").write_text("")
    arm = Arm("A", CaptureSpec(model=str(tmp_path / "train.py")))
    runner = Runner(tmp_path / "work", Settings(tmp_path / "data", ""), trusted=True)
    with pytest.raises(KeyboardInterrupt):
        Trier(arm, runner, silent).look("a change", Change(no_grad=True))


def test_changes_that_help_are_joined_and_measured_again() -> None:
    def times(change: Change) -> float:
        return 10.0 * (0.7 if change.optimizer else 1.0) * (0.9 if change.dynamic else 1.0)

    found = improved(times).found
    assert found.kept == ["optimizer", "dynamic"]
    assert found.change == Change(optimizer=True, dynamic=True)
    assert found.gain == pytest.approx(1 / 0.63, rel=0.01)
    answers = {trial.title: trial.answer for trial in found.trials}
    assert answers["nothing"] == "no effect"
    assert {trial.why for trial in found.trials if trial.title == "nothing"} == {SAME_CODE}
    assert answers["broken"] == "failed"
    assert {trial.why for trial in found.trials if trial.title == "broken"} == {"It does not run."}
    assert found.complete


def test_nothing_is_called_faster_that_is_not() -> None:
    found = improved(lambda change: 10.0).found
    assert (found.kept, found.gain, found.change) == ([], 1.0, None)


def test_what_seems_to_win_nothing_leaves_its_time_to_the_next_change() -> None:
    class Slow(Pretended):
        def once(self, arm: Arm, seconds: float, *, only_timed: bool) -> Once:
            return replace(super().once(arm, seconds, only_timed=only_timed), seconds=5.0)

    runner = Slow(lambda change: 10.0 * (0.5 if change.optimizer else 1.0))
    search = Search(trier_with(runner), 60.0, lambda found: None)
    found = search.run([(title, CHANGES[title]) for title in ("dynamic", "optimizer", "last")])
    tried = [(trial.title, trial.judged and trial.judged.processes) for trial in found.trials]
    assert tried == [("dynamic", 3), ("optimizer", 6)]
    assert (found.kept, found.complete) == (["optimizer"], False)
    runner.processes = 0
    again = Search(trier_with(runner), 60.0, lambda found: None, found)
    again.run([(title, CHANGES[title]) for title in ("dynamic", "last")])
    assert [trial.title for trial in again.found.trials] == ["last", "dynamic"]


def test_a_little_that_others_do_not_win_is_measured_in_the_end() -> None:
    class Slow(Pretended):
        def once(self, arm: Arm, seconds: float, *, only_timed: bool) -> Once:
            return replace(super().once(arm, seconds, only_timed=only_timed), seconds=5.0)

    runner = Slow(lambda change: 10.0 * (0.96 if change.dynamic else 1.0))
    found = Search(trier_with(runner), 60.0, lambda found: None).run(
        [(title, CHANGES[title]) for title in ("dynamic", "optimizer")]
    )
    assert [trial.title for trial in found.trials] == ["dynamic", "optimizer"]
    assert (found.kept, found.complete) == (["dynamic"], True)


def test_a_change_that_was_lucky_gives_way_to_the_next_best() -> None:
    class Lucky(Pretended):
        """The first four processes of a change run on a faster machine."""

        seen = 0

        def once(self, arm: Arm, seconds: float, *, only_timed: bool) -> Once:
            self.seen += arm.label == "lucky"
            run = super().once(arm, seconds, only_timed=only_timed)
            return replace(run, ms=run.ms * (0.6 if arm.label == "lucky" and self.seen <= 4 else 1))

    lucky, better = Change(mode="max-autotune"), Change(mode="reduce-overhead")
    runner = Lucky(lambda change: 10.0 * (0.8 if change == better else 0.95))
    found = Search(trier_with(runner), 600.0, lambda found: None).run(
        [("lucky", lucky), ("better", better)]
    )
    assert found.kept == ["better"]


def test_a_search_ends_in_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    class Long(Pretended):
        """A program that runs for 20 s, and compiles in 60, of one change in 600."""

        def look(self, arm: Arm, store: Store | None = None, **how: Any) -> Looked:
            nonlocal now
            slow = arm.spec.change is not None and arm.spec.change.optimizer
            takes = 600.0 if slow else 60.0
            now += min(takes, how["longest"])
            if takes > how["longest"]:
                raise CaptureFailed("It took too long.")
            return super().look(arm, store, **how)

        def once(self, arm: Arm, seconds: float, *, only_timed: bool) -> Once:
            nonlocal now
            now += 20.0
            return replace(super().once(arm, seconds, only_timed=only_timed), seconds=20.0)

    same = [(title, CHANGES[title]) for title in ("dynamic", "last")]
    found = Search(trier_with(Long(lambda _: 10.0)), 420.0, lambda _: None).run(same)
    assert found.stopped == f"{NO_TIME} One change takes some 5 min."
    assert found.seconds <= 420.0

    # What compiles for too long is left for what does not.
    now, slow = 0.0, ("optimizer", CHANGES["optimizer"])
    runner = Long(lambda change: 5.0 if change.dynamic else 10.0)
    found = Search(trier_with(runner), 900.0, lambda _: None).run([slow, *same])
    assert (found.trials[0].answer, found.trials[0].why) == ("cannot tell", TOO_LONG)
    assert (found.kept, found.seconds <= 900.0) == (["dynamic"], True)


def test_cuda_graphs_are_not_timed_where_the_only_graph_is_replayed() -> None:
    class Replayed(Pretended):
        graphs = 1

        def look(self, arm: Arm, store: Store | None = None, **how: Any) -> Looked:
            found = super().look(arm, store, **how)
            same = Structure(graphs=self.graphs, codes=("the same",), cuda_graphs=True)
            return replace(found, structure=same)

    change = Change(inductor={"triton.cudagraphs": "True"})
    runner = Replayed(lambda change: 10.0)
    trial = trier_with(runner).look("CUDA graphs", change)
    assert (trial.answer, trial.why) == ("no effect", SAME_CODE)
    runner.graphs = 2
    assert trier_with(runner).look("CUDA graphs", change).answer == "running"


def test_a_change_that_slows_down_is_left_after_three_processes() -> None:
    runner = Pretended(lambda change: 20.0 if change.optimizer else 10.0)
    search = Search(trier_with(runner), 600.0, lambda found: None)
    slower = Trial(title="slower", change=CHANGES["optimizer"])
    search._measure(slower, others=True)
    assert slower.judged is not None
    assert (slower.judged.processes, search.found.gain) == (3, 1.0)
    assert slower.judged.shift > 0.3


def test_a_single_change_is_measured_at_once() -> None:
    runner = Pretended(lambda change: 10.0 * (0.5 if change.dynamic else 1.0))
    trier = trier_with(runner)
    search = Search(trier, 600.0, lambda found: None)
    found = search.run([("dynamic", CHANGES["dynamic"]), ("nothing", CHANGES["nothing"])])
    assert (found.kept, runner.processes) == (["dynamic"], 13)


def test_without_time_to_choose_the_first_change_is_measured() -> None:
    def times(change: Change) -> float:
        return 10.0 * (0.5 if change.optimizer else 1.0) * (0.9 if change.dynamic else 1.0)

    trier = trier_with(Pretended(times))
    search = Search(trier, 0.2, lambda found: None)
    trials = [Trial(title=title, change=CHANGES[title]) for title in ("optimizer", "dynamic")]
    trier.process_s = 1.0
    assert [trial.title for trial in search._choose(trials)] == ["optimizer"]
    assert trials[1].answer == "cannot tell"


def test_a_search_goes_on_where_it_was_stopped() -> None:
    first = improved(lambda change: 10.0)
    looked: list[Arm] = []

    class Counting(Pretended):
        def look(self, arm: Arm, store: Store | None = None, **how: Any) -> Looked:
            looked.append(arm)
            return super().look(arm, store, **how)

    trier = trier_with(Counting(lambda _: 10.0))
    Search(trier, 600.0, lambda found: None, first.found).run(
        that_apply(Known(), [entry(*change) for change in CHANGES.items()])
    )
    assert [arm.spec.change for arm in looked] == [None, Change(threads=3)]


def test_results_outside_of_their_bounds_are_refused_before_anything_is_timed() -> None:
    one = Sample("f, call 1, tensor 0", "float32", (1,), b"\0" * 6 + b"\xf0\x3f")
    runner = Pretended(lambda change: 10.0, Results([one]))
    trier = trier_with(runner)
    trial = try_change(trier, "zeros", Change(dynamic=True), 60.0, lambda _: None)
    assert isinstance(trial.numerics, Numerics)
    assert (trial.answer, runner.processes) == ("refused", 0)
    trier.time([trial], Budget(60.0, 2, ()), lambda _: None)
    assert runner.processes == 4


def test_the_catalogue_names_each_entry_once() -> None:
    entries = catalogue()
    assert len({entry.title for entry in entries}) == len(entries)
    every = Known(
        cuda=True, trains=False, optimizer=True, breaks=1, recompiles=1, threads=4,
        operations=frozenset(("mm", "convolution")), dtypes=frozenset(("float32",)),
        marks=(Mark("f", "x", 0),), ignored=("print",),
    )  # fmt: skip
    for _, change in that_apply(every, entries):
        assert change != Change()
        assert not change.problem()


@pytest.mark.torch
def test_fixes_that_the_causes_name_are_tried_first() -> None:
    loader = Known(named=(Change(workers=4),))
    assert that_apply(loader, catalogue())[0] == ("workers of data loaders", Change(workers=4))
    known = Known(cuda=True, optimizer=True, named=(Change(optimizer=True),))
    titles = [title for title, _ in that_apply(known, catalogue())]
    assert titles[:2] == ["compiled optimizer", "CUDA graphs"]
    assert "padded products" not in titles


def test_every_setting_of_the_catalogue_is_one_that_torch_has(tmp_path: Path) -> None:
    from torch._dynamo import config as dynamo
    from torch._inductor import config as inductor

    known = Known(cuda=True, optimizer=True, breaks=1, recompiles=1, threads=4)
    for cuda in (True, False):
        known.cuda = cuda
        for _, change in that_apply(known, catalogue()):
            assert set(change.inductor) <= set(inductor.get_config_copy())
            assert set(change.dynamo) <= set(dynamo.get_config_copy())
