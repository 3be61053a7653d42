"""What an earlier version stored loses its secrets when the database is brought up to date."""

from __future__ import annotations

import gzip
import hashlib
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inductorscope.answers.runs.read import read_page
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import Content, content_of_bytes
from inductorscope.store.contents.frames import FrameWriter
from inductorscope.store.contents.fulltext import having_words, words_of
from inductorscope.store.contents.packing import CODE
from inductorscope.store.contents.scrub_stored import scrub_stored
from inductorscope.store.contents.texts import read_blob, stored_text
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.runs.compile_story import insert_story
from inductorscope.store.runs.draft import ArtifactDraft, RunDraft, artifact_of
from inductorscope.store.runs.secrets import report_secrets
from inductorscope.store.tables.models import Artifact, Run, TextFrame
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from tests.support.whole_runs import insert_run

TOKEN = "hiddent0kenofaserver"
HUB = "hf_" + "Zq8wRt5yUi3oPa7sDf1gHj9kLx2cVb4nMe"
OWN = f"os.environ['INDUCTORSCOPE_TOKEN'] = '{TOKEN}'\n"
PAYLOAD = f"import os\n{OWN}import torch".encode()
SOURCE = f"import hub\nhub.login('{HUB}')\nhub.load('somewhere')\n".encode()
LONG = b"a line of a long text, of which there are many\n" * 30_000 + OWN.encode()
HEAD = f'V1121 01:24:58.555000 8487 a.py:1] {{"stack": "{HUB}"}}\n'.encode()
BETWEEN = b'V1121 01:24:58.555000 8487 a.py:1] {"artifact": {"name": "x"}, "has_payload": "0"}\n'
LOG = HEAD + 2 * (BETWEEN + b"\t" + PAYLOAD.replace(b"\n", b"\n\t") + b"\n") + HEAD


LATER_TABLES = (
    "found_secrets", "logins", "call_times", "timeline_chunks", "timelines", "rules", "shares",
    "places", "tokens", "members", "projects", "people", "audit",
)  # fmt: skip
LATER_COLUMNS = (
    ("uploads", "sender"), ("uploads", "size"), ("uploads", "person_id"),
    ("uploads", "project_id"), ("jobs", "sender"), ("jobs", "queue"), ("jobs", "person_id"),
    ("jobs", "project_id"), ("runs", "trashed_at"), ("kernels", "digest"),
    ("worker_processes", "device"), ("worker_processes", "torch"),
)  # fmt: skip
"""What later revisions add."""
WITHOUT_NUMBERS = (
    "DROP TABLE run_search",
    "DROP TABLE IF EXISTS run_index",
    "CREATE TABLE run_search (run_id VARCHAR(16) NOT NULL CONSTRAINT pk_run_search PRIMARY KEY,"
    " text TEXT NOT NULL)",
    "INSERT INTO run_search SELECT id, lower(name) FROM runs",
)


def log_content() -> Content:
    """As the reader stores it: the payload by itself, the rest around references to it."""
    target = io.BytesIO()
    writer = FrameWriter(target, CODE)
    part = b"\t" + PAYLOAD.replace(b"\n", b"\n\t") + b"\n"
    writer.write(HEAD)
    for _ in range(2):
        writer.write(BETWEEN)
        writer.write_part(hashlib.sha256(PAYLOAD).hexdigest(), len(part), 3)
    writer.write(HEAD)
    index = writer.finish()
    digest = hashlib.sha256(LOG).hexdigest()
    return Content(digest, index.size, index.stored, "parts", target.getvalue(), index)


def drafts() -> list[ArtifactDraft]:
    def draft(role: str, path: str, plain: bytes, lines: int | None) -> ArtifactDraft:
        return artifact_of(role, path, content_of_bytes(plain), lines)

    return [
        draft("log_artifact", "a.log/0_0/fx_graph_runnable_0.py", PAYLOAD, 3),
        artifact_of("trace_log", "a.log", log_content(), LOG.count(b"\n")),
        draft("source", "train.py", SOURCE, 3),
        draft("other", "long.txt", LONG, LONG.count(b"\n")),
        draft("chrome_trace", "t.json.gz", gzip.compress(f'{{"name": "{HUB}"}}'.encode()), None),
        draft("intermediate_values", "v.pt", b"PK\0" + HUB.encode(), None),
    ]


@pytest.fixture
def old(database_url: str, tmp_path: Path) -> Settings:
    """A database of the revision before, with a run that holds secrets."""
    settings = Settings(data=tmp_path / "data", database_url=database_url)
    engine = make_engine(settings)
    run = RunDraft("d" * 64, "old", [], "capture", datetime.now(UTC), 100, artifacts=drafts())
    run.environment = {"config": {"url": f"postgresql://me:{TOKEN}@db/runs"}}
    run.report = {"files": [{"path": "train.py", "role": "source", "size": 1, "became": "x"}]}
    with sessions(engine).begin() as session:
        add_blobs(session, [content_of_bytes(PAYLOAD)])  # ahead of the log that refers to it
        insert_run(session, run)
        import zstandard

        story = zstandard.ZstdCompressor().compress(f'{{"loc": "{HUB}"}}'.encode())
        insert_story(session, run.id, {"timeline": (1, story)})
        for table in LATER_TABLES:
            session.execute(text(f"DROP TABLE {table}"))
        for statement in WITHOUT_NUMBERS:
            session.execute(text(statement))
        for table, column in LATER_COLUMNS:
            session.execute(text(f"DROP INDEX IF EXISTS ix_{table}_{column}"))
            session.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        session.execute(text("UPDATE alembic_version SET version_num = '0005'"))
    engine.dispose()
    return settings


def artifacts(session: Session) -> dict[str, bytes]:
    return {
        item.path: read_blob(session, item.digest) or b""
        for item in session.scalars(select(Artifact))
    }


def found(session: Session, query: str) -> list[int]:
    matching, _ = having_words(session, words_of(query))
    return list(session.scalars(select(TextFrame.id).where(matching)))


def test_contents_lose_them_under_their_digests(old: Settings) -> None:
    engine = make_engine(old)
    factory: Sessions = sessions(engine)
    with factory() as session:
        before = {item.path: (item.id, item.digest) for item in session.scalars(select(Artifact))}
        assert found(session, HUB.replace("_", " "))
    migrate(old)
    with factory() as session:
        kept = artifacts(session)
        after = {item.path: (item.id, item.digest) for item in session.scalars(select(Artifact))}
        sizes = {item.path: item.size for item in session.scalars(select(Artifact))}
        log = stored_text(session, after["a.log"][1])
        assert log is not None
        assert list(log.lines(5, 6)) == clean(LOG).splitlines(keepends=True)[4:6]
        assert not found(session, HUB.replace("_", " "))
        assert found(session, "hub load somewhere")
    assert after == before
    assert kept["a.log/0_0/fx_graph_runnable_0.py"] == clean(PAYLOAD)
    assert kept["a.log"] == clean(LOG)
    assert kept["train.py"] == clean(SOURCE)
    assert kept["long.txt"] == clean(LONG)
    assert gzip.decompress(kept["t.json.gz"]) == b'{"name": "<secret removed>"}'
    assert kept["v.pt"] == b"PK\0" + HUB.encode()  # no text: it stays as it is
    assert sizes == {path: len(plain) for path, plain in kept.items()}
    engine.dispose()


def clean(plain: bytes) -> bytes:
    for secret in (TOKEN, HUB):
        plain = plain.replace(secret.encode(), b"<secret removed>")
    return plain


def test_rows_lose_them_and_the_run_tells(old: Settings) -> None:
    migrate(old)
    engine = make_engine(old)
    with sessions(engine)() as session:
        run = session.scalars(select(Run)).one()
        assert run.environment == {"config": {"url": "postgresql://me:<secret removed>@db/runs"}}
        page = read_page(session, run.id)
        assert page is not None
        told = {(item.file, item.reason): item.count for item in page.secrets}
    assert told == {
        ("", "Hugging Face token"): 1,
        ("", "password in an address"): 1,
        ("a.log", "Hugging Face token"): 2,
        ("a.log/0_0/fx_graph_runnable_0.py", "setting of Inductorscope"): 1,
        ("long.txt", "setting of Inductorscope"): 1,
        ("t.json.gz", "Hugging Face token"): 1,
        ("train.py", "Hugging Face token"): 1,
    }
    with sessions(engine).begin() as session:
        assert (report_secrets(session) or "").startswith("1 stored run held an access token")
        assert report_secrets(session) is None
    engine.dispose()


def test_a_second_time_nothing_is_found(old: Settings) -> None:
    migrate(old)
    engine = make_engine(old)
    with engine.begin() as connection:
        scrub_stored(connection)
        count = text("SELECT count(*) FROM found_secrets")
        assert connection.scalar(count) == 3
    engine.dispose()
