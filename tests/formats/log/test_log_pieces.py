"""Pieces of a log: every byte of it, whatever it holds and however it is cut into blocks."""

import gzip
import hashlib
import io
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.log.repeats import Repeats
from inductorscope.formats.log.segments import without_empty_lines
from inductorscope.formats.log.trace_log import (
    EMPTY_LINE,
    LIMITS,
    Limits,
    Piece,
    TraceLog,
    read_trace_log,
)

PREFIX = b"V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] "


def record(payload: bytes | None = None, kind: bytes = b"a") -> bytes:
    if payload is None:
        return PREFIX + b'{"%s": {}}\n' % kind
    digest = hashlib.md5(payload).hexdigest().encode()
    lines = b"".join(b"\t" + line + b"\n" for line in payload.split(b"\n"))
    return PREFIX + b'{"%s": {}, "has_payload": "%s"}\n' % (kind, digest) + lines


FRAGMENTS = st.sampled_from([
    record(), record(b""), record(b"x\ny"), record(b"tab\tin\n\t\nend\n"), record(b"cr\r\n\r"),
    record(b"crlf\nfile").replace(b"\n", b"\r\n"), record(b"cut")[:-1],
    record(b"bad").replace(b"bad", b"worse"),
    b"\n", b"\r\n", b"\r", b"\t", b"\tstray\n", b"\t\n", b"a print\n", b"\rprogress\n", b"no end",
    PREFIX + b"{\n", b"\xff\xfe\n", b"\0\n", b'{"x": 1}\n', PREFIX + b'{"str": ["f.py", 3]}\n',
])  # fmt: skip
LOGS = st.one_of(st.lists(FRAGMENTS, max_size=12).map(b"".join), st.binary(max_size=60))


def pieces_of(data: bytes, limits: Limits = LIMITS) -> tuple[list[Piece], TraceLog]:
    log = TraceLog(io.BytesIO(data), limits=limits)
    return list(log.pieces()), log


def unpacked(data: bytes) -> tuple[bytes, TraceLog]:
    log = read_trace_log(io.BytesIO(data))
    return b"".join(piece.raw for piece in log.pieces()), log


def told(log: TraceLog) -> list[tuple[str, int, int, str]]:
    return [(lost.reason, lost.count, lost.line, lost.kind) for lost in log.dropped.values()]


def facts(pieces: list[Piece]) -> list[tuple[object, ...]]:
    return [
        (part.record, part.payload_start, part.payload_exact, part.line, part.lines, part.offset)
        for part in pieces
        if part.record is not None
    ]


@given(LOGS)
def test_pieces_are_the_whole_log(data: bytes) -> None:
    pieces, log = pieces_of(data)
    assert b"".join(piece.raw for piece in pieces) == data
    offset, line = 0, 1
    for piece in pieces:
        assert piece.raw
        assert (piece.offset, piece.line) == (offset, line)
        offset += len(piece.raw)
        line += piece.lines
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    assert line - 1 == log.number == lines


@given(LOGS)
def test_a_reference_can_stand_for_a_payload(data: bytes) -> None:
    for piece in pieces_of(data)[0]:
        if piece.payload_exact:
            assert piece.record is not None
            assert piece.record.payload is not None
            lines = piece.record.payload.split(b"\n")
            assert piece.raw[piece.payload_start :] == b"".join(
                b"\t" + line + b"\n" for line in lines
            )


@given(LOGS, st.integers(1, 90))
def test_blocks_of_any_size_read_the_same(data: bytes, block: int) -> None:
    expected, log = pieces_of(data)
    pieces, cut = pieces_of(data, Limits(block=block))
    assert facts(pieces) == facts(expected)
    assert (cut.number, cut.strings) == (log.number, log.strings)
    assert b"".join(piece.raw for piece in pieces) == data
    if not data.startswith((b"\t", b"\n", b"\r")):  # lines before any record come block by block
        assert told(cut) == told(log)


@given(LOGS, st.integers(1, 40), st.integers(1, 200), st.integers(1, 60))
def test_what_is_too_large_is_given_in_parts(
    data: bytes, block: int, line: int, payload: int
) -> None:
    limits = Limits(line=line, payload=payload, part=16, block=block)
    pieces, log = pieces_of(data, limits)
    assert b"".join(piece.raw for piece in pieces) == data
    assert log.number == sum(piece.lines for piece in pieces)
    for piece in pieces:
        if piece.record is None:
            assert len(piece.raw) <= 16
        elif piece.payload_start is not None:
            assert len(piece.raw) - piece.payload_start <= payload


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"\ta\n", b"\ta\r\n", b"\r\r\n", b"\t\n"])))
def test_empty_lines_are_taken_out(lines: list[bytes]) -> None:
    kept = [line for line in lines if line not in {b"\n", b"\r\n"}]
    expected = (b"".join(kept), len(lines) - len(kept))
    assert without_empty_lines(b"".join(lines)) == expected
    assert without_empty_lines(b"".join(lines) + b"\r") == (expected[0], expected[1] + 1)


def test_millions_of_empty_lines_take_no_memory() -> None:
    data = record(b"x\ny").replace(b"\ty", b"\n" * 3_000_000 + b"\r\n" * 100_000 + b"\ty")
    tracemalloc.start()
    (piece,), log = pieces_of(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert piece.record is not None
    assert (piece.record.payload, piece.record.payload_sound) == (b"x\ny", True)
    assert told(log) == [(EMPTY_LINE, 3_100_000, 1, "repaired")]
    assert most < 8 * len(data)


def test_records_alone() -> None:
    data = record(b"x") + b"print\n" + record()
    assert [entry.payload for entry in read_trace_log(io.BytesIO(data))] == [b"x", None]


def test_pieces_of_our_own_capture(fixtures: Path) -> None:
    (path,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    data = path.read_bytes()
    pieces, log = pieces_of(data)
    assert not log.dropped
    assert all(piece.record is not None for piece in pieces)
    bearing = [piece for piece in pieces if piece.payload_start is not None]
    assert len(bearing) == data.count(b'"has_payload"')
    assert all(piece.payload_exact for piece in bearing)


def test_a_payload_over_the_limit_is_in_the_log_only() -> None:
    limits = Limits(payload=1000, part=256, block=64)
    long = record(b"0123456789\n" * 200, b"long")
    pieces, log = pieces_of(record(b"x") + long + record(b"y"), limits)
    records = [piece.record for piece in pieces if piece.record is not None]
    assert [(entry.kind, entry.payload) for entry in records] == [
        ("a", b"x"), ("long", None), ("a", b"y"),
    ]  # fmt: skip
    assert records[2].line == 3 + 1 + 201
    (dropped,) = log.dropped.values()
    assert dropped.reason == "a payload of more than 1000 bytes, kept in the log only"
    assert (dropped.count, dropped.line) == (1, 3)


def test_a_line_over_the_limit_costs_itself_only() -> None:
    limits = Limits(line=1000, part=256, block=64)
    data = record(b"x") + b"z" * 5000 + b"\n\tstray\n" + record(b"y")
    pieces, log = pieces_of(data, limits)
    assert [piece.record.payload for piece in pieces if piece.record] == [b"x", b"y"]
    assert told(log) == [("a line of more than 1000 bytes", 1, 3, "dropped")]


@pytest.mark.parametrize(
    ("data", "dropped"),
    [
        (b"\t" * 9000, [("a payload line before any record", 1, 1, "dropped")]),
        (b"\t\n" * 9000, [("a payload line before any record", 9000, 1, "dropped")]),
        (b"\n" * 9000, [(EMPTY_LINE, 9000, 1, "repaired")]),
        (b"\r\n" * 9000, [(EMPTY_LINE, 9000, 1, "repaired")]),
        (b"x" * 9000, [("a line of more than 1000 bytes", 1, 1, "dropped")]),
        (b"\0" * 9000, [("a line of more than 1000 bytes", 1, 1, "dropped")]),
        (b"\r" * 9000, [("a line of more than 1000 bytes", 1, 1, "dropped")]),
        (b"x\n" * 9000, [("a line that is not a record", 9000, 1, "dropped")]),
    ],
)
def test_logs_of_one_thing_only(data: bytes, dropped: list[tuple[str, int, int, str]]) -> None:
    pieces, log = pieces_of(data, Limits(line=1000, payload=1000, part=256, block=64))
    assert told(log) == dropped
    assert b"".join(piece.raw for piece in pieces) == data
    assert max(len(piece.raw) for piece in pieces) <= 256


def test_a_giant_line_takes_no_more_memory_than_its_limit() -> None:
    class Endless(io.RawIOBase):
        left = 400

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            return b"x" * 100_000 if self.left >= 0 else b""

    tracemalloc.start()
    log = TraceLog(Endless(), limits=Limits(line=1_000_000, part=100_000, block=100_000))
    total = sum(len(piece.raw) for piece in log.pieces())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == 40_000_000
    assert most < 5_000_000


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_metadata_nested_a_hundred_thousand_deep(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"1}"
    deep = PREFIX + b'{"artifact": ' + opening * 100_000 + closing * 100_000 + b"}\n"
    pieces, log = pieces_of(record() + deep + b"\tits payload\n" + record(b"y"))
    assert [piece.record.payload for piece in pieces if piece.record] == [None, b"y"]
    assert [dropped.line for dropped in log.dropped.values()] == [2, 3]


def test_interned_strings_are_bounded() -> None:
    lines = [PREFIX + b'{"str": ["file%d.py", %d]}\n' % (at, at) for at in range(30)]
    log = read_trace_log(io.BytesIO(b"".join(lines)), limits=Limits(strings=10))
    assert len(list(log)) == 30
    assert set(log.strings) == set(range(10))
    assert [dropped.count for dropped in log.dropped.values()] == [20]
    log = read_trace_log(io.BytesIO(b"".join(lines)), limits=Limits(string_bytes=50))
    assert sum(1 for _ in log) == 30
    assert sum(map(len, log.strings.values())) <= 50
    assert sum(dropped.count for dropped in log.dropped.values()) == 30 - len(log.strings)


def test_only_so_many_bytes_are_read() -> None:
    data = record(b"x") * 10
    log = read_trace_log(io.BytesIO(data), max_bytes=len(data) - 1)
    assert b"".join(piece.raw for piece in log.pieces()) == data[:-1]
    assert [lost.reason for lost in log.dropped.values()] == [
        f"only the first {len(data) - 1:,} bytes were read"
    ]
    assert not read_trace_log(io.BytesIO(data), max_bytes=len(data)).dropped


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "two gzip members": lambda data: gzip.compress(data[:70]) + gzip.compress(data[70:]),
    "padded gzip": lambda data: gzip.compress(data) + b"\0" * 600,
    "zstd": zstandard.compress,
    "two zstd frames": lambda data: zstandard.compress(data[:70]) + zstandard.compress(data[70:]),
}


@pytest.mark.parametrize("packer", PACKERS)
def test_compressed_logs(packer: str) -> None:
    data = b"".join(record(b"%d\n" % at * at) for at in range(300))
    plain, log = unpacked(PACKERS[packer](data))
    assert plain == data
    assert not log.dropped


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_cut_compressed_logs(packer: str) -> None:
    data = b"".join(record(b"%d\n" % (at * 7919 % 1000)) for at in range(3000))
    packed = PACKERS[packer](data)
    if packer == "gzip":
        readable = zlib.decompressobj(31).decompress(packed[:-100])
    else:
        readable = zstandard.ZstdDecompressor().decompressobj().decompress(packed[:-100])
    plain, log = unpacked(packed[:-100])
    assert plain == readable
    assert any(f"{len(readable):,} bytes" in reason for reason in log.dropped)


@given(st.binary(max_size=300), st.integers(0, 400))
def test_all_before_the_damage_is_read(noise: bytes, place: int) -> None:
    data = b"".join(record(b"%d\n" % (at * 7919 % 1000)) for at in range(200))
    packed = gzip.compress(data)
    damaged = packed[: 10 + place] + noise
    got, _ = unpacked(damaged)
    before = zlib.decompressobj(31).decompress(packed[: 10 + place])
    assert got.startswith(before[: len(got)])
    assert len(got) >= len(before)


@given(st.binary(max_size=200))
def test_damaged_streams_never_raise(data: bytes) -> None:
    unpacked(b"\x1f\x8b" + data)
    unpacked(b"\x28\xb5\x2f\xfd" + data)


REPEATED = st.lists(
    st.one_of(
        st.sampled_from([record(b"x\ny"), record(b"x\ny", b"b"), record(b"z" * 9)]), FRAGMENTS
    ),
    max_size=14,
).map(b"".join)


def same(pieces: list[Piece]) -> list[tuple[object, ...]]:
    return [
        (part.raw, part.line, part.lines, part.offset, part.payload_start, part.payload_exact)
        + (() if (one := part.record) is None else
           (one.kind, one.line, one.lines, one.payload, one.payload_sound, one.metadata))
        for part in pieces
    ]  # fmt: skip


@given(REPEATED, st.integers(1, 120))
def test_payloads_that_came_before_are_the_same_payloads(data: bytes, block: int) -> None:
    """However the log is cut, and whatever it claims."""
    limits = Limits(block=block)
    repeats = Repeats(lambda offset, size: data[offset : offset + size], least=1)
    log = TraceLog(io.BytesIO(data), limits=limits, repeats=repeats)
    found = list(log.pieces())
    plain, other = pieces_of(data, limits)
    assert same(found) == same(plain)
    assert told(log) == told(other)


def test_a_payload_is_known_again_in_a_file(tmp_path: Path) -> None:
    large = b"".join(b"line %d\n" % number for number in range(2000))
    lie = record(large).replace(b"line 7\n", b"line 8\n")
    longer = record(large) + b"\tone more\n"
    data = b"".join([record(large), record(large, b"b"), lie, longer, record(large)])
    path = tmp_path / "a.log"
    path.write_bytes(data)
    with path.open("rb") as file:
        log = read_trace_log(file)
        found = list(log.pieces())
    records = [piece.record for piece in found if piece.record is not None]
    assert [entry.repeated for entry in records] == [False, True, False, False, False]
    assert [entry.payload_sound for entry in records] == [True, True, False, False, True]
    assert records[1].payload == large
    assert b"".join(piece.raw for piece in found) == data
