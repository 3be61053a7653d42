"""Secrets in what is uploaded are not stored, and the run says so."""

import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from inductorscope.answers.runs.read import read_page
from inductorscope.reading.redacting import Redactor, write_redacted
from inductorscope.reading.run import read_run
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.runs.runs import report_secrets
from inductorscope.store.tables.all import TABLES
from inductorscope.store.tables.models import Artifact, Run
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from tests.conftest import ON_SQLITE
from tests.formats.secret_forms import FORMS, pieces_of

TOKEN = "hidden-t0ken-of-a-server"
PASSWORD = "hidden-passw0rd"
HUB = "hf_" + "Zq8wRt5yUi3oPa7sDf1gHj9kLx2cVb4nMe"
ENVIRON = (
    f"os.environ['INDUCTORSCOPE_TOKEN'] = '{TOKEN}'\n"
    f"os.environ['INDUCTORSCOPE_DATABASE_URL'] = 'postgresql://me:{PASSWORD}@db/runs'\n"
)
GRAPH = """class Repro(torch.nn.Module):
    def forward(self, arg0_1):
        neg = torch.ops.aten.neg.default(arg0_1)
        return (neg,)
"""


@pytest.fixture
def factory(engine: Engine) -> Sessions:
    return sessions(engine)


@pytest.fixture
def planted(fixtures: Path, tmp_path: Path) -> Path:
    """A debug folder, a log, a source and a packed trace, each with a secret."""
    root = tmp_path / "planted"
    shutil.copytree(fixtures / "cuda-foo1", root)
    (runnable,) = list(root.rglob("fx_graph_runnable.py")) or [root / "fx_graph_runnable.py"]
    runnable.write_text(ENVIRON + (runnable.read_text() if runnable.exists() else ""))
    payload = f"import os\n{ENVIRON}import torch\n{GRAPH}"
    head = {
        "artifact": {"name": "fx_graph_runnable", "encoding": "string"},
        "frame_id": 7, "frame_compile_id": 0, "attempt": 0,
        "has_payload": hashlib.md5(payload[:-1].encode()).hexdigest(),
    }  # fmt: skip
    frame = {"line": 1, "name": "f", "filename": 0, "loc": f"login('{HUB}')"}
    start = {
        "dynamo_start": {"stack": [frame]}, "frame_id": 7, "frame_compile_id": 0, "attempt": 0,
    }  # fmt: skip
    prefix = "V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] "
    body = "".join(f"\t{line}\n" for line in payload[:-1].split("\n"))
    record = f"{prefix}{json.dumps(head)}\n{body}"
    (root / "dedicated_log_torch_trace_x.log").write_text(
        f"{prefix}{json.dumps(start)}\n{record}{record}"
    )
    (root / "train.py").write_text(f"import hub\nhub.login('{HUB}')\n")
    events = {"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": f"load {HUB}", "ts": 1, "dur": 2, "pid": 1, "tid": 1},
    ]}  # fmt: skip
    (root / "another.json.gz").write_bytes(gzip.compress(json.dumps(events).encode()))
    return root


def everything(session: Session) -> bytes:
    """All that the database holds, unpacked where it is packed."""
    held = []
    for digest in session.scalars(select(Artifact.digest).distinct()):
        plain = read_blob(session, digest) or b""
        held.append(gzip.decompress(plain) if plain[:2] == b"\x1f\x8b" else plain)
    for name, table in TABLES.tables.items():
        if name != "blobs":
            held += [unpacked(value) for row in session.execute(select(table)) for value in row]
    return b"\n".join(held)


def unpacked(value: Any) -> bytes:  # any column
    if isinstance(value, bytes):
        import zstandard

        try:
            return zstandard.ZstdDecompressor().decompressobj().decompress(value)
        except zstandard.ZstdError:
            return value
    return str(value).encode()


@pytest.mark.parametrize("helpers", [0, 1])
@ON_SQLITE
def test_nothing_of_them_is_stored(factory: Sessions, planted: Path, helpers: int) -> None:
    result = read_run(planted, session_factory=factory, origin="upload", workers=helpers)
    with factory() as session:
        held = everything(session)
        for secret in (TOKEN, PASSWORD, HUB):
            assert secret.encode() not in held
        assert b"INDUCTORSCOPE_TOKEN'] = '<secret removed>'" in held
        page = read_page(session, result.run_id)
        assert page is not None
        assert not page.dropped
        told = {(item.file.rpartition("/")[2], item.reason): item.count for item in page.secrets}
        run = session.get_one(Run, result.run_id)
        assert run.dropped_count == 0
    own = "setting of Inductorscope"
    assert told == {
        ("fx_graph_runnable.py", own): 2,
        ("dedicated_log_torch_trace_x.log", own): 4,
        ("dedicated_log_torch_trace_x.log", "Hugging Face token"): 1,
        ("train.py", "Hugging Face token"): 1,
        ("another.json.gz", "Hugging Face token"): 1,
    }
    with factory.begin() as session:
        assert (report_secrets(session) or "").startswith(
            f"1 stored run held an access token or a database address of Inductorscope ({run.id};"
        )
        assert report_secrets(session) is None


@ON_SQLITE
def test_the_run_is_known_by_what_was_sent(factory: Sessions, planted: Path) -> None:
    first = read_run(planted, session_factory=factory, origin="upload")
    again = read_run(planted, session_factory=factory, origin="upload")
    assert (again.run_id, again.duplicate) == (first.run_id, True)


@ON_SQLITE
def test_the_upload_itself_is_left_as_it_is(factory: Sessions, planted: Path) -> None:
    before = {path: path.read_bytes() for path in planted.rglob("*") if path.is_file()}
    read_run(planted, session_factory=factory, origin="upload")
    assert before == {path: path.read_bytes() for path in planted.rglob("*") if path.is_file()}


def test_the_log_reads_back_but_for_the_secrets(factory: Sessions, planted: Path) -> None:
    log = planted / "dedicated_log_torch_trace_x.log"
    read_run(log, session_factory=factory, origin="upload")
    with factory() as session:
        stored = session.scalars(select(Artifact).where(Artifact.role == "trace_log")).one()
        kept = read_blob(session, stored.digest) or b""
    expected = log.read_bytes()
    for secret in (TOKEN, f"postgresql://me:{PASSWORD}@db/runs", HUB):
        expected = expected.replace(secret.encode(), b"<secret removed>")
    assert kept == expected
    assert stored.size == len(expected)


@ON_SQLITE
def test_no_form_stays_in_what_is_stored_or_redacted(factory: Sessions, tmp_path: Path) -> None:
    """As console output, in a source, in both orders of two bytes, and in a log's payload."""
    root, plain = tmp_path / "run", "".join(f"{text}\n" for _, text, _ in FORMS)
    root.mkdir()
    text = f"import torch\n{plain}"
    (root / "train.py").write_text(text)
    (root / "console.txt").write_text(plain)
    (root / "little.txt").write_text(plain, "utf-16-le")
    (root / "big.txt").write_text(plain, "utf-16-be")
    head = {
        "artifact": {"name": "environment", "encoding": "string"}, "frame_id": 7,
        "frame_compile_id": 0, "attempt": 0, "has_payload": hashlib.md5(text.encode()).hexdigest(),
    }  # fmt: skip
    body = "".join(f"\t{line}\n" for line in text.split("\n"))
    prefix = "V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] "
    (root / "dedicated_log_torch_trace_x.log").write_text(f"{prefix}{json.dumps(head)}\n{body}")
    result = read_run(root, session_factory=factory, origin="upload")
    with factory() as session:
        run = session.get_one(Run, result.run_id)
        write_redacted(session, {tmp_path / "redacted": run}, Redactor(keep=["train.py"]))
        stored = everything(session)
    redacted = b"\n".join(file.read_bytes() for file in (tmp_path / "redacted").rglob("*.*"))
    assert all("wandb login".encode(wide) in stored for wide in ("utf-16-le", "utf-16-be"))
    for held in (stored, stored.replace(b"\0", b""), redacted):
        assert b"wandb login" in held
        pieces = {piece: name for name, _, secrets in FORMS for piece in pieces_of(*secrets)}
        assert {name for piece, name in pieces.items() if piece.encode() in held} == set()
