"""Of every log at least what tlparse 0.4.3 shows for it; of broken ones, all around the bad line.

What tlparse shows was written down once, by `bench/peer_expectations.py`.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inductorscope.reading.run import ReadResult
from inductorscope.store.tables.models import LogEntry

from tests.support.readings import Database, SharedRuns

EXPECTED = Path(__file__).parent.parent / "fixtures" / "tlparse"
OF_SHARED = sorted(path.stem for path in EXPECTED.glob("*.json") if path.stem != "cuda-foo1")
HEAD = re.compile(rb"^V\d{4} [^\]\n]*\] (\{.*)$")
FOO1_RECORDS = 133
FIRST_DIFFERENCE = 19
"""Line of simple.log that simple_corrupted_json.log lacks."""

Artifact = tuple[str, str, str, str | None]
"""Compile id, name, form, digest."""


def expected(name: str) -> tuple[Counter[Artifact], int]:
    data = json.loads((EXPECTED / f"{name}.json").read_text())
    artifacts = Counter(
        (compile_id, *artifact)
        for compile_id, found in data["compiles"].items()
        for artifact in found
    )
    return artifacts, data["records"]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def as_json(content: bytes) -> str:
    plain = json.dumps(json.loads(content), sort_keys=True, separators=(",", ":"))
    return digest(plain.encode())


def record_of(log: list[bytes], entry: LogEntry) -> dict[str, Any]:
    """A record's own line, from the log as it is kept."""
    found = HEAD.match(log[entry.line - 1])
    assert found is not None
    record: dict[str, Any] = json.loads(found[1])
    return record


class Shown:
    """What we have of one log, in the forms of tlparse."""

    def __init__(self, db: Database, result: ReadResult) -> None:
        self._db = db
        self._result = result
        (kept,) = db.artifacts(result, "trace_log")
        self.log = db.content(kept.digest)
        self._lines = self.log.split(b"\n")
        self._contents = {item.id: item.digest for item in db.artifacts(result)}

    def has(self, wanted: Counter[Artifact]) -> Counter[Artifact]:
        """Those of `wanted` that are here."""
        forms = {(compile_id, name, form) for compile_id, name, form, _ in wanted}
        return Counter(found for found in self._all(forms))

    def _all(self, forms: set[tuple[str, str, str]]) -> Iterator[Artifact]:
        for entry in self._db.entries(self._result):
            compile_id = entry.compile_id or "-/-"
            named = entry.name if entry.kind in {"artifact", "graph_dump"} else entry.kind
            if entry.kind == "link":
                link = record_of(self._lines, entry)["link"]
                yield compile_id, link["name"], "link", digest(link["url"].encode())
            elif (compile_id, named, "page") in forms:
                assert record_of(self._lines, entry)[entry.kind] is not None
                yield compile_id, str(named), "page", None
            elif entry.artifact_id is not None:
                content = self._db.content(self._contents[entry.artifact_id])
                if (compile_id, named, "json") in forms:
                    yield compile_id, str(named), "json", as_json(content)
                else:
                    yield compile_id, str(named), "text", digest(content)


def assert_shows_all(db: Database, result: ReadResult, log: Path, name: str) -> Shown:
    wanted, records = expected(name)
    shown = Shown(db, result)
    assert wanted - shown.has(wanted) == Counter()
    (told,) = db.run(result).report.logs
    assert told.records >= records
    assert shown.log == log.read_bytes()
    return shown


def fixture_log(fixtures: Path) -> Path:
    (log,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return log


def shared_log(shared: Path, name: str) -> Path:
    folder = shared / "traces" / "logs"
    for path in folder.rglob("*"):
        if path.relative_to(folder).as_posix().replace("/", "-") == name:
            return path
    raise AssertionError(f"{name} is not among the shared logs")


def test_at_least_what_tlparse_shows(fixtures: Path, db: Database) -> None:
    wanted, _ = expected("cuda-foo1")
    assert len(wanted) > 10
    log = fixture_log(fixtures)
    assert_shows_all(db, db.read(log), log, "cuda-foo1")


@pytest.mark.parametrize("name", OF_SHARED)
def test_at_least_what_tlparse_shows_of_shared_logs(
    shared: Path, shared_runs: SharedRuns, name: str
) -> None:
    log = shared_log(shared, name)
    assert_shows_all(shared_runs.db, shared_runs.of(log), log, name)


def test_expectations_are_there_for_every_shared_log(shared: Path) -> None:
    folder = shared / "traces" / "logs"
    logs = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix().replace("/", "-") for path in logs}
    assert names == set(OF_SHARED)


def test_more_than_tlparse_of_a_damaged_payload(shared: Path, shared_runs: SharedRuns) -> None:
    """One line of one payload is gone: the payload is kept and told about, all else is as ever."""
    db = shared_runs.db
    sound = shared_runs.of(shared_log(shared, "simple.log"))
    damaged = shared_runs.of(shared_log(shared, "simple_corrupted_json.log"))
    whole, broken = db.entries(sound), db.entries(damaged)
    assert [(entry.kind, entry.name) for entry in whole] == [
        (entry.kind, entry.name) for entry in broken
    ]
    assert_same_texts(db, sound, damaged)
    (note,) = db.run(damaged).report.dropped
    assert (note.kind, note.count) == ("repaired", 1)
    assert note.reason == "a payload that is damaged (its MD5 differs; kept)"
    lines = shared_log(shared, "simple_corrupted_json.log").read_text().splitlines()
    assert "has_payload" in lines[(note.line or 0) - 1]
    assert note.line is not None
    assert note.line < FIRST_DIFFERENCE


def test_more_than_tlparse_of_an_export(shared: Path, shared_runs: SharedRuns) -> None:
    """tlparse lists nothing of it."""
    wanted, _ = expected("export.log")
    assert not wanted
    db, result = shared_runs.db, shared_runs.of(shared_log(shared, "export.log"))
    kinds = Counter(entry.kind for entry in db.entries(result))
    assert kinds == {
        "create_unbacked_symbol": 1,
        "exported_program": 1,
        "guard_added": 7,
        "propagate_real_tensors_provenance": 1,
    }
    (program,) = (entry for entry in db.entries(result) if entry.kind == "exported_program")
    (artifact,) = (item for item in db.artifacts(result) if item.id == program.artifact_id)
    assert b"class GraphModule(torch.nn.Module):" in db.content(artifact.digest)


def assert_same_texts(db: Database, one: ReadResult, other: ReadResult) -> None:
    graphs = [(db.graphs(result), result) for result in (one, other)]
    texts = [[db.texts(graph) for graph in found] for found, _ in graphs]
    assert texts[0] == texts[1]
    assert texts[0]


BAD_LINES = {
    "no record": b"Traceback (most recent call last): this was printed in between\n",
    "cut JSON": b'V1121 01:25:56.000000 420 torch/_dynamo/utils.py:1] {"artifact": {"name": "x"\n',
    "no JSON": b"V1121 01:25:56.000000 420 torch/_dynamo/utils.py:1] nothing of the kind\n",
    "invalid UTF-8": b'V1121 01:25:56.000000 420 torch/a.py:1] {"artifact": {"name": "\xff\xfe"\n',
    "not a number": b'V1121 01:25:56.000000 420 torch/a.py:1] {"str": ["a", NaN]}\n',
    "an empty line": b"\n",
    "zeros": bytes(300) + b"\n",
}


@pytest.mark.parametrize("where", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("bad", sorted(BAD_LINES))
def test_everything_around_a_bad_line(
    fixtures: Path, db: Database, tmp_path: Path, bad: str, where: float
) -> None:
    whole = fixture_log(fixtures).read_bytes()
    heads = [found.start() for found in re.finditer(rb"^V\d{4} ", whole, re.M)]
    assert len(heads) == FOO1_RECORDS
    at = heads[int(len(heads) * where)]
    broken = tmp_path / "broken.log"
    broken.write_bytes(whole[:at] + BAD_LINES[bad] + whole[at:])
    wanted, records = expected("cuda-foo1")
    result = db.read(broken)
    shown = Shown(db, result)
    assert wanted - shown.has(wanted) == Counter()
    assert shown.log == broken.read_bytes()
    assert result.graphs == 1
    (told,) = db.run(result).report.logs
    assert told.records >= records
    lost = {"an empty line": 0, "not a number": 2}.get(bad, 1)  # the number, then the record
    assert sum(item.count for item in result.dropped) == lost
