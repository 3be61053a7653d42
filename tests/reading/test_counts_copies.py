"""The logs of the benchmark are sound copies of a real one, each with ids of its own."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.replicate import replicate
from tests.support.readings import Database, names, payload, payloads, segments

COPIES = 3


@pytest.fixture
def original(fixtures: Path) -> Path:
    (log,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return log


def head_of(record: bytes) -> Any:
    line = record.split(b"\n")[0]
    return json.loads(line[line.index(b"] {") + 2 :])


@pytest.mark.parametrize("own_codes", [False, True])
def test_copies_of_a_log(db: Database, original: Path, tmp_path: Path, own_codes: bool) -> None:
    size = original.stat().st_size
    log = tmp_path / "copies.log"
    made = replicate([original], log, COPIES * size - 1000, own_codes=own_codes)
    assert made == COPIES
    content = log.read_bytes()
    records = segments(content)
    assert len(records) == COPIES * len(segments(original.read_bytes()))
    for record in records:
        if "has_payload" in head_of(record):
            assert head_of(record)["has_payload"] == hashlib.md5(payload(record)).hexdigest()
    assert {names(record) for record in records} == {
        names(record) for record in segments(original.read_bytes())
    }
    frames = {head_of(record).get("frame_id") for record in records} - {None}
    assert frames == {0, 1, 2}
    assert len({record.split(b" ")[2] for record in records}) == COPIES
    told = re.findall(rb'\{"str": \[".*", (\d+)\]\}', content)
    assert len(set(told)) == len(told) == COPIES * 3
    assert set(re.findall(rb'"filename": (\d+)', content)) <= set(told)
    codes = payloads(content)["inductor_output_code"]
    assert len(set(codes)) == (COPIES if own_codes else 1)

    result = db.read(log)
    assert result.dropped == []
    assert db.run(result).report.dropped == []
    graphs = db.graphs(result)
    assert [graph.compile_id for graph in graphs] == ["0/0", "1/0", "2/0"]
    assert [graph.kernel_count for graph in graphs] == [1] * COPIES
    aot_ids = [f"{number if own_codes else 0}_inference" for number in range(COPIES)]
    assert [graph.aot_id for graph in graphs] == aot_ids
