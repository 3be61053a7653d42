"""The story told from real logs, in words and in figures."""

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.phases import Chunk
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.analyze.compile.words import graph_count, overview, saved_seconds, work
from inductorscope.analyze.trial.facts import functions_that_log, sizes_that_differ
from inductorscope.formats.change import Mark
from inductorscope.formats.log.trace_log import read_trace_log
from inductorscope.units import THIN
from msgspec.structs import replace

BREAKS = "4 graph breaks at 2 places: `print` at {0}:{1}, data-dependent branching at {0}:{2}."
RECOMPILES = (
    "Recompiled 3 times: `f` because `x.size(0)` changed 4 → 9, then became dynamic; `f` after line"
    " {1} because `y.size(0)` changed 4 → 9, then became dynamic; `f` after line {2} because"
    " `y.size(0)` changed 4 → 9, then became dynamic; `flag` changed 1 → 0, then became dynamic."
)
GRAPHS = "6 graphs from 1 function (`f`), which graph breaks cut into 3 pieces."


@contextmanager
def plain(path: Path) -> Iterator[BinaryIO]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        yield stream  # type: ignore[misc]  # GzipFile reads like one


def tell(paths: Sequence[Path]) -> tuple[Story, list[Chunk]]:
    gatherer = StoryGatherer()
    for path in paths:
        one = gatherer.log(path.name, None)
        with plain(path) as stream:
            log = read_trace_log(stream)
            for record in log:
                one.add(record)
        one.finish(log.strings)
    return gatherer.finish()


def said(story: Story) -> list[str]:
    return [sentence.text.replace(THIN, " ") for sentence in overview(story)]


@pytest.fixture(scope="module")
def dynamic(fixtures: Path) -> tuple[Story, list[Chunk]]:
    return tell(list((fixtures / "dynamic" / "torch_trace").iterdir()))


def test_the_dynamic_program_is_told_in_words(dynamic: tuple[Story, list[Chunk]]) -> None:
    place = ("models.py", 113, 114)
    assert said(dynamic[0]) == [
        BREAKS.format(*place),
        RECOMPILES.format(*place),
        "2.43 s, 23.2 % of the work in code generation; the longest compile, 0/0, took 1.45 s.",
        "Caches were off, so each compile did all of its work.",
        GRAPHS,
    ]


def test_it_says_what_may_help(dynamic: tuple[Story, list[Chunk]]) -> None:
    assert functions_that_log(dynamic[0]) == ("print",)
    assert sizes_that_differ(dynamic[0]) == (Mark("f", "x", 0),)


def test_breaks_know_what_they_split_and_what_helps(dynamic: tuple[Story, list[Chunk]]) -> None:
    story, _ = dynamic
    printed, branched = break_places(story)
    ids = [compile_.id for compile_ in story.compiles]
    assert [ids[number] for number in printed.compiles] == ["0/0", "0/1"]
    assert [ids[number] for number in printed.resumed] == ["1/0", "1/1"]
    assert [ids[number] for number in branched.resumed] == ["2/0", "2/1"]
    assert printed.code == 'print("graph break")'
    assert "reorderable_logging_functions" in printed.advice
    assert "torch.cond" in branched.advice


def test_the_call_that_breaks_is_named_and_not_another_one_of_its_line(
    dynamic: tuple[Story, list[Chunk]],
) -> None:
    story, _ = dynamic
    frame = replace(story.frames[-1], code="torch.mm(hidden, weight[0:9].to(kind).t(), out=tile)")
    mm = replace(
        story.breaks[0],
        title="Attempted to call op with non-contiguous `out=` tensor",
        explanation="Dynamo does not support this.",
        hints=[],
        context="self.value=<built-in method mm of type object at 0x7f>, kwargs={'out': Tensor()}",
        stack=[len(story.frames)],
    )
    (place,) = break_places(replace(story, breaks=[mm], frames=[*story.frames, frame]))
    assert place.short == "`torch.mm`"
    assert "contiguous tensor" in place.advice


def test_histories_tell_values_and_what_became_dynamic(dynamic: tuple[Story, list[Chunk]]) -> None:
    told = histories(dynamic[0])
    assert [(row.function, row.resumed_at, row.recompiles) for row in told] == [
        ("f", None, 1), ("f", 113, 1), ("f", 114, 1),
    ]  # fmt: skip
    last = told[-1]
    assert [(change.subject, change.values) for change in last.changes] == [
        ("y.size(0)", ["4", "9"]), ("flag", ["1", "0"]),
    ]  # fmt: skip
    assert all(change.became_dynamic for change in last.changes)


def test_phases_add_up(dynamic: tuple[Story, list[Chunk]]) -> None:
    story, chunks = dynamic
    spans = [span for chunk in chunks[:-1] for span in chunk]
    whole = sum(span.duration_us for span in spans if span.depth == 0)
    assert sum(work(story).values()) == pytest.approx(whole, rel=1e-6)
    assert sum(row.self_us for row in story.phases) == pytest.approx(whole, rel=1e-6)
    for compile_ in story.compiles:
        chunk, first, count = compile_.spans
        own = chunks[chunk][first : first + count]
        assert {span.owner for span in own} == {compile_.number}
        assert sum(compile_.phases.values()) == pytest.approx(sum(span.self_us for span in own))
        assert compile_.seconds is not None
        assert own[0].duration_us / 1e6 == pytest.approx(compile_.seconds, rel=0.05)


def test_a_compile_under_way_took_what_its_ended_phases_took(
    fixtures: Path, tmp_path: Path
) -> None:
    (packed,) = (fixtures / "dynamic" / "torch_trace").iterdir()
    log = gzip.decompress(packed.read_bytes())
    record = log.rindex(b"\nV", 0, log.index(b'{"inductor_output_code"'))
    half = tmp_path / "half.log"
    half.write_bytes(log[: record + 1])
    story, chunks = tell([half])
    (under_way,) = story.compiles
    assert under_way.seconds_from == "phases"
    assert under_way.seconds == pytest.approx(sum(span.self_us for span in chunks[0]) / 1e6)
    assert under_way.seconds is not None
    assert 0.1 < under_way.seconds < 1.45


def test_symbols_know_the_line_that_made_them(dynamic: tuple[Story, list[Chunk]]) -> None:
    story, _ = dynamic
    told = [
        (story.compiles[symbol.compile].id, symbol.name, symbol.subject, symbol.value,
         story.frames[symbol.frame].line if symbol.frame is not None else None)
        for symbol in story.symbols
    ]  # fmt: skip
    assert told == [
        ("0/1", "s77", "x.size(0)", "9", 112), ("1/1", "s17", "y.size(0)", "9", 114),
        ("2/1", "s17", "y.size(0)", "9", 115), ("2/1", "s32", "flag", "0", 116),
    ]  # fmt: skip


def test_resumed_functions_are_the_users() -> None:
    assert resumed("f") == ("f", None)
    assert resumed("torch_dynamo_resume_in_f_at_113") == ("f", 113)
    nested = "torch_dynamo_resume_in_torch_dynamo_resume_in_f_at_3_at_9"
    assert resumed(nested) == ("f", 9)


def test_failures_caches_and_exports_of_other_peoples_logs(shared: Path) -> None:
    logs = shared / "traces" / "logs"
    failed, _ = tell([logs / "comp_failure.log"])
    assert (
        said(failed)[0] == "1 compile failed: BackendCompilerFailed: RuntimeError: broken backend."
    )
    assert graph_count(failed) == 0
    cached, _ = tell([logs / "cache_hit_miss.log"])
    assert [(cache.cache, cache.outcome) for cache in cached.caches] == [
        ("FX graph", "miss"), ("AOTAutograd", "bypass"), ("FX graph", "hit"),
        ("AOTAutograd", "bypass"), ("FX graph", "miss"), ("AOTAutograd", "bypass"),
    ]  # fmt: skip
    assert saved_seconds(cached) == pytest.approx(4.009, abs=0.001)
    assert [done.occurrence for done in cached.compiles if done.id == "1/0"] == [0, 1, 2]
    exported, _ = tell([logs / "export.log"])
    assert said(exported)[0].startswith("1 exported program with 1 failure")
    (real,) = [guard for guard in exported.symbol_guards if guard.kind == "real tensors"]
    assert real.value == "False"
    assert real.frame is not None
    assert exported.frames[real.frame].code == "return z[:a]"
    aot, _ = tell([logs / "inductor_provenance_aot_cuda_log.txt"])
    assert "81.6 % of the work in C++ compilation" in said(aot)[0]
    (only,) = aot.compiles
    assert only.seconds is not None
    assert sum(only.phases.values()) / 1e6 == pytest.approx(only.seconds, rel=1e-3)


def test_autotuning_tells_the_fastest(shared: Path) -> None:
    story, _ = tell(list((shared / "traces" / "cuda-gpt-max-autotune" / "torch_trace").iterdir()))
    assert len(story.tunings) == 18
    slowest = max(story.tunings, key=lambda tuning: tuning.us or 0)
    assert (slowest.what, slowest.count) == ("mm", 21)
    library = next(tuning for tuning in story.tunings if tuning.choices[0].name == "bias_addmm")
    assert [choice.name for choice in library.choices] == ["bias_addmm", "triton_mm_64"]
    assert slowest.choices[0].us == pytest.approx(5.95, abs=0.01)
    assert len(story.kernels) == 58
