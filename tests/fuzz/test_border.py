"""Figures that are not finite or absurd, and texts that no encoding can store, in every field of
every format: none of them gets past the readers."""

import gzip
import io
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.formats.border import ABSURD, is_within, read_json
from inductorscope.formats.capture_facts import parse_facts
from inductorscope.formats.graph.provenance import parse_provenance
from inductorscope.formats.log.trace_log import TraceLog
from inductorscope.formats.machine.metadata import read_best, read_metadata
from inductorscope.formats.printed.benchmark_log import parse_benchmark_log
from inductorscope.formats.printed.key_averages import parse_key_averages
from inductorscope.formats.trace.event_columns import Events
from inductorscope.formats.trace.kineto import read_chrome_stream

from tests.fuzz.parsers import CAPTURE, CAPTURE_ROWS, files, text
from tests.support.benchmark_texts import BANDWIDTH, CONFIGS, KERNELS, PROFILE

EXAMPLES = max(60, int(os.environ.get("INDUCTORSCOPE_FUZZ_CASES", "0")) // 20)
FIGURES = (
    "1e308", "-1e308", "1e999", "NaN", "Infinity", "-Infinity", "9" * 30, "-" + "9" * 30, "9" * 400,
    "9007199254740993e3", "31622401000001", "-1",
)  # fmt: skip
TEXTS = (r"\ud800", r"a\udfffb", r"\udc00\ud800")
_FIGURE = re.compile(r'(?<![\w."-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w"])')
_TEXT = re.compile(r'(?<=": "|", "|: \[")[^"\\]*(?=")')
_FIELD = re.compile(r"([A-Za-z_][\w %#]*)[^A-Za-z_]*$")


def log(data: bytes) -> object:
    read, story = TraceLog(io.BytesIO(data)), StoryGatherer()
    gatherer = story.log("a.log", None)
    records = []
    for record in read:
        gatherer.add(record)
        records.append((record.metadata, record.rank))
    gatherer.finish(read.strings)
    return records, story.finish(), read.strings


def metadata(data: bytes) -> object:
    return read_metadata(text(data), Counter()), read_best(text(data), Counter())


@dataclass(frozen=True)
class Format:
    name: str
    read: Callable[[bytes], object]
    seeds: list[bytes]


FORMATS = [
    Format(
        "trace", lambda data: read_chrome_stream(io.BytesIO(data)),
        [gzip.decompress(data)[:60_000] for data in files("*.trace.json.gz")[:4]],
    ),
    Format("log", log, [data[:60_000] for data in files("*torch_trace*.log")[:4]]),
    Format("table", parse_key_averages, files("*.table.txt")[:2]),
    Format("rows", parse_key_averages, [CAPTURE_ROWS]),
    Format(
        "benchmark log", lambda data: parse_benchmark_log(text(data)),
        [printed.encode() for printed in (PROFILE, KERNELS, CONFIGS, BANDWIDTH)],
    ),
    Format("capture", parse_facts, [CAPTURE, *files("capture.json")[:2]]),
    Format("provenance", parse_provenance, files("inductor_provenance*.json")[:2]),
    Format("metadata", metadata, files("triton*.json")),
]  # fmt: skip


def fields_of(seed: str) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """The fields of a text: their kind and name → their places."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for kind, pattern in (("figure", _FIGURE), ("text", _TEXT)):
        for match in pattern.finditer(seed):
            named = _FIELD.search(seed[max(0, match.start() - 40) : match.start()])
            name = named.group(1) if named else ""
            found.setdefault((kind, name), []).append(match.span())
    return found


@st.composite
def hostile(draw: st.DrawFn, seeds: list[str]) -> bytes:
    """A file with a hostile value in one field, everywhere or once."""
    seed = draw(st.sampled_from(seeds))
    found = fields_of(seed)
    kind, name = draw(st.sampled_from(sorted(found)))
    value = draw(st.sampled_from(FIGURES if kind == "figure" else TEXTS))
    places = found[kind, name]
    if draw(st.booleans()):
        places = [draw(st.sampled_from(places))]
    for start, end in reversed(places):
        seed = seed[:start] + value + seed[end:]
    return seed.encode()


def is_absurd(value: Any, name: str) -> bool:
    """Whether a text or a figure should not have passed the border."""
    if isinstance(value, str):
        return not value.isascii() and value != value.encode("utf-8", "replace").decode()
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and not bool(np.isfinite(value).all())
    is_figure = isinstance(value, int | float) and not isinstance(value, bool)
    return is_figure and not is_within(name, value)


def members(value: Any, name: str) -> Iterator[tuple[Any, str]]:
    """The values in a value, with their names; those of a list have the list's."""
    if callable(value):
        return
    if isinstance(value, list | tuple | set | frozenset):
        yield from ((item, name) for item in value)
    elif isinstance(value, dict):
        yield from ((key, "") for key in value)
        yield from ((item, str(key)) for key, item in value.items())
    else:
        names: Iterable[str] = ()
        if isinstance(value, Events):
            names = ("ts", "us", "end")
        elif isinstance(value, msgspec.Struct):
            names = value.__struct_fields__
        elif is_dataclass(value):
            names = (own.name for own in fields(value))
        yield from ((getattr(value, own), own) for own in names)


def passed(value: Any, name: str = "") -> Iterator[str]:
    """What should not have passed the border."""
    if is_absurd(value, name):
        yield f"{name}: {value!r}"
    for member, its_name in members(value, name):
        yield from passed(member, its_name)


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_nothing_absurd_passes(kind: Format) -> None:
    seeds = [text(seed) for seed in kind.seeds]

    @settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    @given(hostile(seeds))
    def one_case(data: bytes) -> None:
        assert not list(passed(kind.read(data)))

    one_case()


def test_identifiers_clocks_and_bounds_keep_their_values() -> None:
    kept = (
        '{"External id": 9223372036854775807, "ptr": 140735340871680123, "baseTime_ns": '
        '1790000000000000001, "hint": 9223372036854775807, "ts": 1790000000000000.5, '
        '"size": [9223372036854775807, 3], "dur_us": 5.5, "bytes_per_s": 3.9e12}'
    )
    left_out: Counter[str] = Counter()
    assert msgspec.json.encode(read_json(kept, left_out)) == msgspec.json.encode(
        msgspec.json.decode(kept)
    )
    assert not left_out
    absurd = '{"a_ms": 1e12, "calls": 9007199254740993, "seconds": NaN, "n": [1, Infinity], "b": 1}'
    assert read_json(absurd, left_out) == {"n": [1, None], "b": 1}
    assert left_out == {ABSURD: 4}
    assert math.isfinite(read_json('{"b": 1e15}', left_out)["b"])
