"""No file from outside makes a reader raise, or do more than its size is worth.

`INDUCTORSCOPE_FUZZ_CASES=100000 pytest -s tests/fuzz` runs that many new cases over all readers and
prints each one's slowest; without it some hundreds run, always the same.
"""

import json
import os
import sys
import time
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.texts import GraphTexts

from tests.fuzz.mutations import hostile
from tests.fuzz.parsers import PARSERS, TEXTS_OF_A_GRAPH, Parser, text
from tests.fuzz.work import calls

ASKED = int(os.environ.get("INDUCTORSCOPE_FUZZ_CASES", "0"))
CASES = ASKED or 1000
GRAPH_SHARE = 4
SHARES = sum(parser.share for parser in PARSERS) + GRAPH_SHARE
ALWAYS_ALLOWED = 4000
"""Calls that any case may make, however short it is."""

RECORD = json.dumps({
    "schema": 1,
    "calls": [
        {"kernel": "triton_poi_fused_maximum_neg_0", "nth": 1,
         "lines": {str(line): [["arg0_1", "op0", "neg", "buf0"], ["x", "op1", None, None]]
                   for line in range(20, 70)}},
    ],
}).encode()  # fmt: skip


def budget(share: int) -> settings:
    return settings(
        max_examples=max(10, CASES * share // SHARES),
        derandomize=not ASKED,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )


@dataclass
class Slowest:
    """The case that took longest, for people to look at; no test depends on it."""

    name: str
    cases: int = 0
    seconds: float = 0.0
    example: bytes = b""
    most_calls: float = 0.0
    """For each byte, of cases longer than 1000 bytes."""
    sizes: list[int] = field(default_factory=list)

    def add(self, data: bytes, seconds: float, called: int) -> None:
        self.cases += 1
        if len(data) > 1000:
            self.most_calls = max(self.most_calls, called / len(data))
        if seconds > self.seconds:
            self.seconds, self.example = seconds, data

    def tell(self) -> None:
        if ASKED:
            sys.stderr.write(
                f"\n{self.name}: {self.cases} cases, at most {self.most_calls:.1f} calls a byte; "
                f"the slowest took {self.seconds:.3f} s: {len(self.example)} bytes, "
                f"{self.example[:300]!r}\n"
            )


@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_any_bytes_are_read(parser: Parser) -> None:
    slowest = Slowest(parser.name)
    for seed in parser.seeds:
        parser.read(seed)  # what libraries do once only is no work of a case

    @budget(parser.share)
    @given(hostile(parser.seeds))
    def one_case(data: bytes) -> None:
        most = ALWAYS_ALLOWED + int(parser.calls_per_byte * len(data))
        note(f"{parser.name}: {data!r}")
        start = time.process_time()
        called = calls(lambda: parser.read(data), most)
        slowest.add(data, time.process_time() - start, called)

    one_case()
    slowest.tell()


def graph_texts() -> st.SearchStrategy[dict[str, bytes]]:
    """Texts of a graph, some whole, some damaged, some missing."""
    strategies = {
        name: st.one_of(
            st.sampled_from(["" if len(seed) > 9000 else seed for seed in seeds]).map(str.encode),
            hostile([seed.encode() for seed in seeds]),
        )
        for name, seeds in TEXTS_OF_A_GRAPH.items()
    }
    return st.fixed_dictionaries(strategies, optional={"record": hostile([RECORD])})


@pytest.mark.timeout(6 * 3600)
def test_any_texts_are_linked() -> None:
    slowest = Slowest("graph links")

    @budget(GRAPH_SHARE)
    @given(graph_texts())
    def one_case(texts: dict[str, bytes]) -> None:
        try:
            record = msgspec.json.decode(
                texts.get("record", b"null"), type=dict[str, object] | None
            )
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            record = None
        given_texts = GraphTexts(
            post_grad=text(texts["post_grad"]),
            readable=text(texts["readable"]),
            ir_pre=text(texts["ir_pre"]),
            ir_post=text(texts["ir_post"]),
            code=text(texts["code"]),
            dynamo=text(texts["readable"]),
            provenance=texts["provenance"],
            line_record=record,
        )
        data = b"".join(texts.values())
        note(f"{given_texts!r}")
        start = time.process_time()
        called = calls(lambda: graph_links(given_texts), ALWAYS_ALLOWED + 40 * len(data))
        slowest.add(data, time.process_time() - start, called)

    one_case()
    slowest.tell()
