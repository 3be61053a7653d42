"""The process that does a job's work, run for one attempt as a worker runs it."""

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inductorscope.cli.client import files_of
from inductorscope.cli.local import read_paths
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import without_password
from inductorscope.jobs.queue.processes import environment
from inductorscope.jobs.queue.transitions import MOST_REFUSALS, TRY_AGAIN, Attempt, claim
from inductorscope.jobs.queue.workflow import child_command
from inductorscope.jobs.records import JobStatus
from inductorscope.settings import Settings
from inductorscope.store.database.engine import sessions
from inductorscope.store.people import add_person, who_is
from inductorscope.store.tables.models import Job, JobEvent
from inductorscope.store.tables.people import Place
from inductorscope.store.who import VIEWER, belongs_to
from sqlalchemy import Engine, select, text, update

from tests.conftest import ON_SQLITE
from tests.support.sending import append

GRAPH = "torch_compile_debug"


@pytest.fixture
def parts(tmp_path: Path, fixtures: Path) -> list[Path]:
    """A zip of a debug folder, and a log."""
    top = fixtures / "cuda-foo1"
    archive = tmp_path / "debug.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted((top / GRAPH).rglob("*")):
            packed.write(file, file.relative_to(top))
        packed.writestr("inner.zip", b"PK\x05\x06" + bytes(18))
    return [archive, next((top / "torch_trace").iterdir())]


def ingested(
    settings: Settings, engine: Engine, client: JobsClient, paths: list[Path], before: int = 0
) -> JobStatus:
    """Sends paths as `push` does and does the job, after so many attempts."""
    files = files_of(paths)
    upload = client.uploads.create("sent", [], [(file.name, file.size) for file in files])
    for index, file in enumerate(files):
        append(client.uploads, upload.id, index, 0, file.path.read_bytes())
    job = client.uploads.finish(upload.id)
    with engine.begin() as connection:
        connection.execute(update(Job).where(Job.id == job).values(attempts=before))
    attempt = claim(sessions(engine), job, "a test")
    assert attempt is not None
    command = child_command(attempt)
    assert command[-1] == str(os.getpid())
    done = subprocess.run(
        command, env=environment(settings), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return client.job(job)


@ON_SQLITE
def test_a_zip_and_a_log_are_the_same_run_sent_or_ingested(
    settings: Settings, engine: Engine, client: JobsClient, parts: list[Path]
) -> None:
    sent = ingested(settings, engine, client, parts)
    assert sent.state == "done", sent.message
    assert sent.message == "Read 1 graph with 1 generated kernel, 1 log with 133 records."
    read = read_paths(
        settings, parts, name=None, tags=[], origin="ingest", progress=lambda *_: None
    )
    assert (read.duplicate, read.run_id) == (True, sent.run_id)


@ON_SQLITE
def test_a_lone_folder_stays_as_it_is(
    settings: Settings, engine: Engine, client: JobsClient, parts: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "together"
    folder.mkdir()
    for part in parts:
        (folder / part.name).write_bytes(part.read_bytes())
    sent = ingested(settings, engine, client, [folder])
    assert sent.message == "Read 1 graph with 1 generated kernel, 1 log with 133 records."
    lines = [line.text for line in client.events(sent.id)]
    assert any("debug.zip: an archive inside the upload is not unpacked" in line for line in lines)


@ON_SQLITE
def test_what_was_left_out_is_said_before_the_end(
    settings: Settings, engine: Engine, client: JobsClient, parts: list[Path]
) -> None:
    """Who follows a job stops reading once it is done. The run lies with all who sent it."""
    for name in ("ada", "grace"):  # as a new run, and as one that was here already
        with sessions(engine).begin() as session:
            who = who_is(add_person(session, name, "contributor", datetime.now(UTC)))
        before = VIEWER.set(who)
        sent = ingested(settings, engine, client, parts)
        VIEWER.reset(before)
        with sessions(engine)() as session:
            mine = select(Place.id).where(Place.run_id == sent.run_id, belongs_to(who, Place))
            assert len(session.scalars(mine).all()) == 1
            events = session.scalars(
                select(JobEvent).where(JobEvent.job_id == sent.id).order_by(JobEvent.id)
            ).all()
        assert events[-1].text == sent.message
        (left_out,) = [event for event in events if event.text.startswith("Left out")]
        assert left_out.level == "warning"
        assert "inner.zip" in left_out.text
        assert left_out.id < events[-1].id


CAPTURING = """
import resource
from inductorscope.capturing import run
from inductorscope.jobs.work import reading
from inductorscope.settings import load

from tests.support.sending import append


def limit():
    return resource.getrlimit(resource.RLIMIT_AS)[0]

class Task:
    folder, settings, report = None, load(), type("Report", (), {"line": None})
    spec = {"capture": {"model": "neg-maximum-cat"}}

before = limit()
run.run_capture = lambda *_, **__: print("running", limit() == before)
reading._read = lambda *_: print("reading", limit())
reading.capture(Task)
"""


@ON_SQLITE
def test_reading_a_capture_has_a_memory_limit_and_torch_has_its_own(settings: Settings) -> None:
    limited = environment(settings) | {"INDUCTORSCOPE_CAPTURE_BYTES": str(3 * 1024**3)}
    done = subprocess.run(
        [sys.executable, "-c", CAPTURING], env=limited, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["running True", f"reading {3 * 1024**3}"], done.stderr


@pytest.mark.parametrize("password", ["secret", "p@ss", "p@ss@h", "a:b@c/d", "@", ""])
def test_nothing_of_a_password_is_told(password: str) -> None:
    told = without_password(f"no answer from postgresql://me:{password}@db:5432/runs (at all)")
    assert told == "no answer from postgresql://me:…@db:5432/runs (at all)"
    assert without_password("http://localhost:80/ and a@b") == "http://localhost:80/ and a@b"


@ON_SQLITE
def test_a_database_that_is_away_is_no_end(settings: Settings) -> None:
    away = replace(settings, database_url="postgresql://nobody@127.0.0.1:1/none")
    command = child_command(Attempt("ingest-0123456789abcdef", "ingest", 1))
    done = subprocess.run(command, env=environment(away), capture_output=True, check=False)
    assert done.returncode == TRY_AGAIN, done.stderr


REFUSE = """
CREATE TRIGGER refuse BEFORE INSERT ON artifacts BEGIN SELECT no_such_function(); END
"""


@ON_SQLITE
def test_a_statement_that_is_always_refused_ends_the_job(
    settings: Settings, engine: Engine, client: JobsClient, parts: list[Path]
) -> None:
    with engine.begin() as connection:
        connection.execute(text(REFUSE))
    sent = ingested(settings, engine, client, parts, before=MOST_REFUSALS - 1)
    assert sent.state == "failed"
    assert "no such function: no_such_function" in (sent.message or "")
