"""TORCH_TRACE logs: whole, old, damaged, and arbitrary bytes."""

import gzip
import hashlib
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.model import Frame
from inductorscope.formats.border import ABSURD
from inductorscope.formats.log import summary as trace_summary
from inductorscope.formats.log.summary import LogSummary, Summariser
from inductorscope.formats.log.trace_log import (
    EMPTY_LINE,
    Limits,
    LogRecord,
    TraceLog,
    read_trace_log,
)

PREFIX = "V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] "


def record(kind: str, body: str = "{}", payload: str | None = None, more: str = "") -> str:
    if payload is None:
        return f'{PREFIX}{{"{kind}": {body}{more}}}\n'
    digest = hashlib.md5(payload.encode()).hexdigest()
    lines = "".join(f"\t{line}\n" for line in payload.split("\n"))
    return f'{PREFIX}{{"{kind}": {body}{more}, "has_payload": "{digest}"}}\n{lines}'


def read(text: str | bytes) -> tuple[list[LogRecord], TraceLog]:
    log = read_trace_log(io.BytesIO(text.encode() if isinstance(text, str) else text))
    return list(log), log


def frames_of(*logs: tuple[list[LogRecord], TraceLog]) -> list[Frame]:
    """The frames of all stacks, with the names of files that any of the logs interned."""
    story = StoryGatherer()
    for number, (records, log) in enumerate(logs):
        gatherer = story.log(f"{number}.log", None)
        for record in records:
            gatherer.add(record)
        gatherer.finish(log.strings)
    return story.finish()[0].frames


def summary_of(data: bytes) -> LogSummary:
    summariser = Summariser()
    log = read_trace_log(io.BytesIO(data))
    for record in log:
        summariser.add(record)
    return summariser.finish(log)


@pytest.fixture
def foo_log(fixtures: Path) -> bytes:
    (path,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return path.read_bytes()


def test_prefix_and_context() -> None:
    context = ', "rank": 3, "frame_id": 0, "frame_compile_id": 1, "attempt": 2'
    (only,), log = read(record("artifact", '{"name": "x", "encoding": "json"}', "{}", context))
    assert (only.kind, only.name, only.payload, only.payload_sound) == (
        "artifact",
        "x",
        b"{}",
        True,
    )
    assert (only.pid, only.line) == (419, 1)
    assert (only.rank, only.compile_id, only.attempt) == (3, "0/1", 2)
    assert not log.dropped


def test_compile_id_under_compiled_autograd() -> None:
    context = ', "compiled_autograd_id": 2, "frame_id": 0, "frame_compile_id": 1'
    (first, second), _ = read(
        record("dynamo_start", more=context) + record("x", more=', "compiled_autograd_id": 0')
    )
    assert (first.compile_id, second.compile_id) == ("!2/0/1", "!0")


@pytest.mark.parametrize(
    "payload",
    ["", "one", "a\n\nb", "\n", "tab\tin\n\t\tfront", "form\x0cfeed\r and \u2028", "end\n"],
)
def test_payloads_come_back_byte_for_byte(payload: str) -> None:
    (first, second), log = read(record("a", payload=payload) + record("b"))
    if payload == "":
        assert first.payload in {b"", None}
    else:
        assert first.payload == payload.encode()
        assert first.payload_sound
    assert second.payload is None
    assert not log.dropped


def test_crlf_file() -> None:
    text = record("a", payload="x\ny") + record("b")
    (first, second), log = read(text.replace("\n", "\r\n"))
    assert (first.payload, first.payload_sound, second.kind) == (b"x\ny", True, "b")
    (mended,) = log.dropped.values()
    assert (mended.kind, mended.count) == ("repaired", 1)


def test_an_empty_line_does_not_end_a_payload() -> None:
    text = record("a", payload="x\ny").replace("\ty", "\n\ty")
    (first,), log = read(text)
    assert first.payload_sound
    assert [dropped.reason for dropped in log.dropped.values()] == [EMPTY_LINE]


def test_nan_and_infinity() -> None:
    (first,), log = read(record("compilation_metrics", '{"a": NaN, "b": -Infinity, "c": 1}'))
    assert first.body == {"c": 1}
    assert {dropped.reason: dropped.count for dropped in log.dropped.values()} == {ABSURD: 2}


def test_a_bad_record_costs_itself_only() -> None:
    bad = f'{PREFIX}{{"artifact": {{"name": }}, "has_payload": "00"}}\n\tits payload\n'
    records, log = read(record("a") + bad + "a print of the program\n" + record("b"))
    assert [entry.kind for entry in records] == ["a", "b"]
    found = {dropped.reason: (dropped.count, dropped.line) for dropped in log.dropped.values()}
    assert found == {
        "a record whose metadata is not a JSON object": (1, 2),
        "a payload whose record could not be read": (1, 3),
        "a line that is not a record": (1, 4),
    }


def test_a_damaged_payload_is_kept_and_counted() -> None:
    (first,), log = read(record("a", payload="whole").replace("whole", "whale"))
    assert (first.payload, first.payload_sound) == (b"whale", False)
    (dropped,) = log.dropped.values()
    assert "MD5" in dropped.reason
    assert dropped.kind == "repaired"
    assert dropped.example == "whale"


def test_interned_strings_and_stacks() -> None:
    stack = (
        '[{"filename": 0, "line": 9, "name": "f", "loc": "x"}, {"filename": 7, "line": 1,'
        ' "name": "g"}, {"filename": -1, "line": 2, "name": "h"}]'
    )
    records, log = read(
        record("str", '["/home/u/m.py", 0]') + record("dynamo_start", f'{{"stack": {stack}}}')
    )
    frames = frames_of((records, log))
    assert [frame.file for frame in frames] == ["/home/u/m.py", "(unknown)", "(unknown)"]
    assert (frames[0].line, frames[0].function, frames[0].code) == (9, "f", "x")


def test_frames_of_a_forked_child() -> None:
    """Its log lacks what its parent interned."""
    parent = read(record("str", '["/home/u/m.py", 0]') + record("str", '["/home/u/n.py", 1]'))
    stack = '{"stack": [{"filename": 0}, {"filename": 1}, {"filename": 2}, {"filename": true}]}'
    child = read(record("str", '["/home/u/own.py", 0]') + record("dynamo_start", stack))
    files = [frame.file for frame in frames_of(parent, child)]
    assert files == ["/home/u/own.py", "/home/u/n.py", "(unknown)", "(unknown)"]


def test_metadata_and_lines() -> None:
    (first, second), _ = read(record("a", payload="x\ny\n", more=', "rank": 2') + record("b"))
    assert set(first.metadata) == {"a", "rank", "has_payload"}
    assert (first.line, first.lines, second.line, second.lines) == (1, 4, 5, 1)


def test_a_record_of_several_kinds_is_guessed() -> None:
    (first,), log = read(record("artifact", more=', "other": 1'))
    assert (first.kind, first.metadata["other"]) == ("artifact", 1)
    assert [dropped.kind for dropped in log.dropped.values()] == ["guessed"]


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank0]:V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] ",
        "[default0]:V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] ",
        "[default0]: [rank0]:V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] ",
        "V20241121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] ",
        "I1121 01:25:55.678000   419 torch/_dynamo/utils.py:2126] ",
        "1121 01:25:55 419 torch/_dynamo/utils.py:2126] ",
        "V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] [0/0] [__trace] ",
        "V1121 01:25:55.678000 419 C:\\Lib\\site packages\\torch\\_dynamo\\utils.py:2126] ",
        "\ufeffV1121 01:25:55.678000 139733182882816 /a:b/utils.py:2126] ",
    ],
)
def test_prefixes_of_other_generations(prefix: str) -> None:
    text = record("a", payload="x", more=', "rank": 1').replace(PREFIX, prefix)
    (first,), log = read(text)
    assert (first.kind, first.payload, first.rank) == ("a", b"x", 1)
    assert first.pid in (419, 139733182882816)
    assert not log.dropped


def test_metadata_that_msgspec_refuses() -> None:
    body = '{"nan": NaN, "big": 1e999, "long": %s, "half": "\\ud800", "tab": "\t"}' % ("9" * 5000)
    (first,), _ = read(record("a", body, more=', "rank": 3'))
    assert (first.rank, first.body) == (3, {"half": "\ufffd", "tab": "\t"})
    (second,), log = read(record("a", '{"x": "caf\xe9"}').encode("latin-1"))
    assert second.body == {"x": "caf\ufffd"}
    assert [dropped.kind for dropped in log.dropped.values()] == ["repaired"]


def test_numbers_that_only_the_values_show_to_be_too_large() -> None:
    (first,), _ = read(record("a", '{"big": 1e999, "long": %s}' % ("9" * 5000)))
    assert first.body == {}


def test_numbers_that_no_database_holds() -> None:
    huge = "9" * 30
    stack = f'{{"stack": [{{"filename": {huge}, "line": {huge}, "name": "f"}}]}}'
    records, log = read(
        record("str", f'["/a.py", {huge}]')
        + record("dynamo_start", stack, more=f', "rank": {huge}')
    )
    assert records[1].rank is None
    assert [(frame.file, frame.line) for frame in frames_of((records, log))] == [("(unknown)", 0)]
    assert [dropped.reason for dropped in log.dropped.values()] == [
        ABSURD, "an interned string of another form",
    ]  # fmt: skip
    assert not read(record("a").replace(" 419 ", f" {huge} "))[0]


def test_unknown_kinds_are_kept() -> None:
    records, _ = read(record("brand_new_kind", '{"x": 1}') + record("artifact", "[]"))
    assert [entry.kind for entry in records] == ["brand_new_kind", "artifact"]
    assert records[1].name is None


def test_rank_prefix_of_torchrun() -> None:
    records, _ = read(f"[rank1]:{record('a')}")
    assert [entry.kind for entry in records] == ["a"]


def test_lists_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_summary, "MOST_LISTED", 3)
    context = ', "frame_id": 0, "frame_compile_id": %d'
    text = "".join(record("artifact", '{"name": "a"}', "", context % at) for at in range(5))
    text += "".join(record(f"kind{at}") for at in range(5))
    summary = summary_of(text.encode())
    assert len(summary.compile_ids) == 3
    assert sum(summary.counts.values()) == 10 + 5
    assert len(summary.counts) == 4
    assert {dropped.reason: dropped.count for dropped in summary.dropped} == {
        "compile ids beyond the first 3: counted only": 2,
    }


def test_long_texts_among_the_metrics_are_cut() -> None:
    body = '{"fail_type": "Error", "fail_reason": "%s"}' % ("x" * 100_000)
    failure = summary_of(record("compilation_metrics", body).encode()).failure
    assert failure == f"Compile (unnamed) failed: Error: {'x' * 4000}"


def test_our_own_capture(foo_log: bytes) -> None:
    summary = summary_of(foo_log)
    assert summary.torch_version == "2.11.0+cu130"
    assert summary.torch_git == "70d99e998b4955e0049d13a98d77ae1b14db1f45"
    assert summary.device_name == "NVIDIA H200"
    assert summary.compile_ids == ["0/0"]
    assert (summary.failure, summary.dropped) == (None, [])
    packed = summary_of(gzip.compress(foo_log))
    assert packed.counts == summary.counts


def test_every_payload_of_our_own_capture_is_sound(foo_log: bytes) -> None:
    records, _ = read(foo_log)
    assert {entry.payload_sound for entry in records if entry.digest} == {True}
    assert sum(1 for entry in records if entry.digest) == foo_log.count(b'"has_payload"')


def grepped(data: bytes) -> dict[str, int]:
    """Counts of kinds by a plain search for the key that begins the metadata."""
    found: dict[str, int] = {}
    pattern = rb'^[A-Z]\d{4} \S+ \d+ [^\n]*?:\d+\] \{"(?:rank": \d+, ")?(\w+)"'
    for match in re.finditer(pattern, data, re.M):
        kind = match.group(1).decode()
        found[kind] = found.get(kind, 0) + 1
    return found


def test_counts_agree_with_a_plain_search(shared: Path) -> None:
    logs = sorted((shared / "traces").glob("c*/torch_trace/*.log"))
    logs += [path for path in (shared / "traces" / "logs").rglob("*") if path.is_file()]
    assert len(logs) > 15
    for path in logs:
        data = path.read_bytes()
        summary = summary_of(data)
        kinds = {kind: count for kind, count in summary.counts.items() if ":" not in kind}
        plain = grepped(data)
        assert kinds == {**plain, **{kind: kinds[kind] for kind in kinds.keys() & {"stack"}}}, path
        for name in ("recompile_reasons", "dynamo_graph_break_reason", "fx_graph_runnable"):
            assert summary.counts[f"artifact:{name}"] == data.count(
                b'{"artifact": {"name": "%s"' % name.encode()
            ), path


def test_a_failed_compile(shared: Path) -> None:
    data = (shared / "traces" / "logs" / "comp_failure.log").read_bytes()
    assert (summary_of(data).failure or "").startswith("Compile 0/0 failed: ")


def test_corrupted_logs_say_what_was_lost(shared: Path) -> None:
    data = (shared / "traces" / "logs" / "simple_corrupted_json.log").read_bytes()
    (dropped,) = summary_of(data).dropped
    assert (dropped.count, "MD5" in dropped.reason) == (1, True)


@given(st.binary(max_size=2000))
def test_arbitrary_bytes(data: bytes) -> None:
    summary_of(data)


@given(st.data())
@settings(max_examples=60)
def test_truncated_and_mutated_logs(fixtures: Path, data: st.DataObject) -> None:
    (path,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    content = bytearray(path.read_bytes())
    before = sum(summary_of(bytes(content)).counts.values())
    del content[data.draw(st.integers(0, len(content))) :]
    for at in data.draw(st.lists(st.integers(0, max(0, len(content) - 1)), max_size=8)):
        if content:
            content[at] = data.draw(st.integers(0, 255))
    summary = summary_of(bytes(content))
    assert sum(summary.counts.values()) <= before + 16


@given(st.data())
@settings(max_examples=25)
def test_mutated_gzip(fixtures: Path, data: st.DataObject) -> None:
    (path,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    content = bytearray(gzip.compress(path.read_bytes()))
    del content[data.draw(st.integers(20, len(content))) :]
    content[data.draw(st.integers(10, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    assert summary_of(bytes(content)).dropped


class Trickle(io.BytesIO):
    """Gives few bytes at a time, as a stream that is unpacked may."""

    def __init__(self, data: bytes, counts: list[int]) -> None:
        super().__init__(data)
        self.counts = counts

    def read1(self, size: int | None = -1, /) -> bytes:
        self.counts.append(count := self.counts.pop(0))
        return super().read(min(count, size or 0))


@given(st.data())
@settings(max_examples=60)
def test_a_log_in_small_pieces_is_read_the_same(fixtures: Path, data: st.DataObject) -> None:
    """However its bytes come; also one that is damaged, and what is too large to be held."""
    (path,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    content = bytearray(path.read_bytes()[: data.draw(st.integers(0, 20_000))])
    for at in data.draw(st.lists(st.integers(0, max(0, len(content) - 1)), max_size=8)):
        if content:
            content[at] = data.draw(st.sampled_from(b"\t\n\r{\0V"))
    counts = data.draw(st.lists(st.integers(1, 5000), min_size=1, max_size=9))
    limits = Limits(line=3000, payload=4000, part=1000, block=data.draw(st.integers(1, 2000)))
    told = []
    for stream in (io.BytesIO(content), Trickle(bytes(content), counts)):
        log = read_trace_log(stream, limits=limits)
        pieces = list(log.pieces())
        assert b"".join(piece.raw for piece in pieces) == content
        records = [piece.record for piece in pieces if piece.record is not None]
        told.append((
            [(entry.line, entry.kind, entry.payload, entry.payload_sound) for entry in records],
            log.strings, log.number,
            {reason: (lost.count, lost.line) for reason, lost in log.dropped.items()},
        ))  # fmt: skip
    assert told[0] == told[1]
