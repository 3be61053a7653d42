"""Stored texts give back every byte and every line, however they were cut into frames."""

import hashlib
import io
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inductorscope.reading.run import ReadResult
from inductorscope.store.contents import frames as frames_module
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import Content, content_of_bytes
from inductorscope.store.contents.frames import FrameWriter, frames_of
from inductorscope.store.contents.texts import StoredText, stored_text
from sqlalchemy.orm import Session

from tests.support.readings import Database, SharedRuns, payload, segments, with_payload

many = settings(
    max_examples=50,
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)


@pytest.fixture
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few lines make many frames, and one line several."""
    monkeypatch.setattr(frames_module, "FRAME", 16)
    monkeypatch.setattr(frames_module, "LONGEST", 48)


def plain_lines(content: bytes) -> list[bytes]:
    """Lines end with a line feed and nothing else."""
    ended = [line + b"\n" for line in content.split(b"\n")]
    last = ended.pop()[:-1]
    return [*ended, last] if last else ended


def assert_reads_back(text: StoredText, content: bytes, first: int, last: int | None) -> None:
    assert text.read() == content
    assert text.size == len(content)
    lines = plain_lines(content)
    assert list(text.lines(1, None)) == lines
    assert list(text.lines(first, last)) == lines[first - 1 : last]


def stored(session: Session, content: Content) -> StoredText:
    add_blobs(session, [content])
    found = stored_text(session, content.digest)
    assert found is not None
    return found


pieces = st.sampled_from([
    b"\n", b"\r\n", b"\r", b"\n\n\n", b"a", b"\t", b"\x0b\x0c\x1c", b"\xe2\x80\xa8", b"\x00",
    b"\xff\xfe", b"0123456789abcdef", b"x" * 47, b"y" * 48, b"z" * 200, b"line\n",
    b"w" * 15 + b"\n",
])  # fmt: skip
contents = st.lists(pieces, max_size=60).map(b"".join)
firsts = st.integers(1, 80)
lasts = st.none() | st.integers(0, 90)


def cut(content: bytes, places: list[int]) -> Iterator[bytes]:
    """The content in pieces that end anywhere."""
    bounds = sorted({0, len(content), *(place % (len(content) + 1) for place in places)})
    for start, end in pairwise(bounds):
        yield content[start:end]


@many
@given(contents, st.lists(st.integers(0, 5000), max_size=12), firsts, lasts)
@pytest.mark.usefixtures("small_frames")
def test_lines_of_a_text(
    db: Database, content: bytes, places: list[int], first: int, last: int | None
) -> None:
    target = io.BytesIO()
    writer = FrameWriter(target, 3)
    for piece in cut(content, places):
        writer.write(piece)
    index = writer.finish()
    digest = hashlib.sha256(content).hexdigest()
    kept = Content(digest, index.size, index.stored, "zstd", target.getvalue(), index)
    assert index.lines == content.count(b"\n")
    with db.sessions() as session:
        assert_reads_back(stored(session, kept), content, first, last)


@many
@given(contents, st.booleans())
@pytest.mark.usefixtures("small_frames")
def test_frames_begin_where_they_say(content: bytes, whole: bool) -> None:
    """Whether a text comes whole or byte by byte."""
    target = io.BytesIO()
    if whole:
        index = frames_of(content, 3, target)
    else:
        writer = FrameWriter(target, 3)
        for number in range(len(content)):
            writer.write(content[number : number + 1])
        index = writer.finish()
    bounds = [frame.offset for frame in index.frames] + [len(content)]
    for start, end in pairwise(bounds):
        assert start < end <= start + frames_module.LONGEST
        if end < len(content):
            assert end - start >= 16
    for frame in index.frames:
        assert frame.line == content[: frame.offset].count(b"\n")
        assert frame.inside == (
            frame.offset > 0 and content[frame.offset - 1 : frame.offset] != b"\n"
        )


own = st.lists(st.sampled_from([b"head\n", b"long " * 9 + b"\n", b"\n", b"\ttab\n", b"a\rb\n"]))
parts = st.sampled_from([
    b"", b"one", b"two\nlines", b"\n", b"\n\n", b"ends\n", b"cr\r\nlf\r", b"long " * 30,
    b"\t", b"\x00\xff",
])  # fmt: skip


@many
@given(
    st.lists(st.tuples(own.map(b"".join), parts), max_size=14),
    st.sampled_from([b"", b"rest", b"rest\n", b"r" * 70]),
    firsts,
    lasts,
)
@pytest.mark.usefixtures("small_frames")
def test_lines_of_a_log_with_payloads_kept_apart(
    db: Database, told: list[tuple[bytes, bytes]], rest: bytes, first: int, last: int | None
) -> None:
    target = io.BytesIO()
    writer = FrameWriter(target, 3)
    plain = b""
    apart = []
    for head, part in told:
        writer.write(head)
        as_lines = b"\t" + part.replace(b"\n", b"\n\t") + b"\n"
        apart.append(content_of_bytes(part))
        writer.write_part(apart[-1].digest, len(as_lines), as_lines.count(b"\n"))
        plain += head + as_lines
    writer.write(rest)
    plain += rest
    index = writer.finish()
    digest = hashlib.sha256(plain).hexdigest()
    kept = Content(digest, index.size, index.stored, "parts", target.getvalue(), index)
    with db.sessions() as session:
        add_blobs(session, apart)
        assert_reads_back(stored(session, kept), plain, first, last)


# --- logs, through everything ---


def assert_kept(db: Database, result: ReadResult, log: Path) -> None:
    """The log reads back byte by byte, and line by line."""
    raw = log.read_bytes()
    (artifact,) = db.artifacts(result, "trace_log")
    assert artifact.digest == hashlib.sha256(raw).hexdigest()
    lines = plain_lines(raw)
    with db.sessions() as session:
        text = stored_text(session, artifact.digest)
        assert text is not None
        assert list(text.lines(1, None)) == lines
        for first in range(1, len(lines), max(1, len(lines) // 8)):
            assert list(text.lines(first, first + 2)) == lines[first - 1 : first + 2]
    for item in db.artifacts(result):
        assert hashlib.sha256(db.content(item.digest)).hexdigest() == item.digest


def log_of(fixtures: Path) -> Path:
    (log,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return log


def test_a_log_reads_back(fixtures: Path, db: Database) -> None:
    log = log_of(fixtures)
    assert_kept(db, db.read(log), log)


@pytest.mark.slow
def test_every_shared_log_reads_back(shared: Path, shared_runs: SharedRuns) -> None:
    folder = shared / "traces" / "logs"
    logs = {path: path for path in folder.rglob("*") if path.is_file()}
    logs |= {path: path.parents[1] for path in shared.glob("traces/*/torch_trace/*.log")}
    assert len(logs) == 20
    for log, run in sorted(logs.items()):
        assert_kept(shared_runs.db, shared_runs.of(run), log)


@pytest.mark.slow
def test_a_large_log_reads_back(shared_runs: SharedRuns, mixnet: Path) -> None:
    (log,) = mixnet.rglob("torch_trace/*.log")
    assert_kept(shared_runs.db, shared_runs.of(mixnet), log)


def without_final_newline(log: bytes) -> bytes:
    """A log that ends with a payload."""
    records = segments(log)
    last_payload = max(n for n, record in enumerate(records) if b"\n\t" in record)
    return b"".join(records[: last_payload + 1]).removesuffix(b"\n")


def with_payloads_cut_off(log: bytes) -> bytes:
    heads_and_payloads = (record.partition(b"\n") for record in segments(log))
    return b"".join(head + end + part[:-7] for head, end, part in heads_and_payloads)


LOG_CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda log: log.replace(b"\n", b"\r\n"),
    "no final newline": without_final_newline,
    "empty lines in payloads": lambda log: log.replace(b"\n\t", b"\n\n\t", 50),
    "payloads cut off": with_payloads_cut_off,
    "invalid UTF-8": lambda log: log.replace(b"torch.", b"t\xff\xc3(rch."),
    "zeros": lambda log: log + bytes(100_000) + log,
    "tabs": lambda log: log + b"\t" * 200_000,
    "a long line": lambda log: log + b"x" * 3_000_000 + b"\n" + log,
}
PAYLOAD_CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a long payload line": lambda content: content + b"\n# " + b"y" * 3_000_000,
    "an empty payload": lambda content: b"",
    "a payload of line feeds": lambda content: b"\n" * 10_000,
    "carriage returns in a payload": lambda content: content.replace(b"    ", b"\r   "),
}
TEN_TIMES = "the same payload ten times"


def changed(log: bytes, how: str) -> bytes:
    if how in LOG_CHANGES:
        return LOG_CHANGES[how](log)
    records = segments(log)
    code = next(
        n for n, record in enumerate(records)
        if b'{"inductor_output_code"' in record.partition(b"\n")[0]
    )  # fmt: skip
    if how == TEN_TIMES:
        records[code] *= 10
    else:
        records[code] = with_payload(records[code], PAYLOAD_CHANGES[how](payload(records[code])))
    return b"".join(records)


@pytest.mark.parametrize("how", [*LOG_CHANGES, *PAYLOAD_CHANGES, TEN_TIMES])
def test_a_hostile_log_reads_back(fixtures: Path, db: Database, tmp_path: Path, how: str) -> None:
    raw = log_of(fixtures).read_bytes()
    hostile = tmp_path / "hostile.log"
    hostile.write_bytes(changed(raw, how))
    assert hostile.read_bytes() != raw
    assert_kept(db, db.read(hostile), hostile)


cases = st.lists(
    st.tuples(st.sampled_from([b"\n", b"\t", b"\r", b"\x00", b"\xff", b"V1121 ", b"\n\n\t", b""]),
              st.floats(0, 1), st.integers(0, 40)),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(many, max_examples=3)
@given(cases)
def test_a_log_damaged_anywhere_reads_back(
    fixtures: Path,
    db: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: list[tuple[bytes, float, int]],
) -> None:
    """In frames of a few lines, most of which hold a part of a payload."""
    monkeypatch.setattr(frames_module, "FRAME", 512)
    monkeypatch.setattr(frames_module, "LONGEST", 1536)
    raw = log_of(fixtures).read_bytes()
    for put, where, taken in damage:
        at = 5000 + int(where * (len(raw) - 5000))  # its first bytes tell what it is
        raw = raw[:at] + put + raw[at + taken :]
    log = tmp_path / "damaged.log"
    log.write_bytes(raw)
    assert_kept(db, db.read(log), log)
