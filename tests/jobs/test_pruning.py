"""What is kept for a time only."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from dbos import DBOSClient
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import TooManyError, TooManyRunsError
from inductorscope.jobs.queue import pruning
from inductorscope.jobs.queue.engine import make_client
from inductorscope.jobs.queue.pruning import ENGINE_ROWS_KEPT, JOBS_KEPT, prune
from inductorscope.jobs.queue.transitions import Attempt, add_event, claim, now
from inductorscope.jobs.work import progress
from inductorscope.jobs.work.folders import ABANDONED_AFTER, clear, make_scratch_folder
from inductorscope.jobs.work.progress import Report
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.people import AccountError, add_person, who_is
from inductorscope.store.projects import add_project, place_run
from inductorscope.store.runs.rules import TRIES_KEPT, add_rule
from inductorscope.store.tables.diagnoses import Diagnosis
from inductorscope.store.tables.models import (
    KEPT,
    TRY,
    Artifact,
    Base,
    Blob,
    Job,
    JobEvent,
    Run,
    Upload,
    Worker,
)
from inductorscope.store.tables.people import EACH, Rule
from inductorscope.store.trash import KEPT_IN_TRASH
from inductorscope.store.who import VIEWER
from sqlalchemy import Engine, delete, func, select, update

from tests.support.sending import append

DAY = timedelta(days=1)
FIVE = timedelta(minutes=5)


@pytest.fixture
def queue(settings: Settings, client: JobsClient) -> Iterator[DBOSClient]:
    made = make_client(settings)  # `client` made the tables
    yield made
    made.destroy()


@pytest.fixture
def factory(engine: Engine) -> Sessions:
    return sessions(engine)


def count(factory: Sessions, model: type[Base]) -> int:
    with factory() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def a_run(name: str, **values: object) -> Run:
    return Run(
        id=name, content_digest=name, name=name, graph_count=0, kernel_count=0, timings={},
        environment={}, report={}, bytes_in=0, bytes_stored=0, state="complete", **values,
    )  # fmt: skip


def ended(client: JobsClient, factory: Sessions, at: datetime) -> str:
    """A job of an upload that ended then."""
    upload = client.uploads.create("x", [], [("a", 1)])
    append(client.uploads, upload.id, 0, 0, b"1")
    job = client.uploads.finish(upload.id)
    client.cancel(job)
    with factory.begin() as session:
        ended_then = {"ended_at": at, "created_at": at}
        session.execute(update(Job).where(Job.id == job).values(ended_then))
        add_event(session, job, "info", "a line")
    return job


def test_old_jobs_go_with_their_logs_uploads_and_rows_of_the_engine(
    client: JobsClient, queue: DBOSClient, factory: Sessions
) -> None:
    old = ended(client, factory, now() - JOBS_KEPT - DAY)
    fresh = ended(client, factory, now() - JOBS_KEPT / 2)
    waiting = client.programs.capture({"model": "neg-maximum-cat"})
    assert prune(factory, queue, now()) == 2  # a job and its upload
    assert {job.id for job in client.jobs()} == {fresh, waiting}
    assert not client.events(old)
    assert client.events(fresh)
    assert count(factory, Upload) == 1
    assert len(queue.list_workflows()) == 3
    assert prune(factory, queue, now() + ENGINE_ROWS_KEPT + timedelta(minutes=1)) == 2
    assert [row.workflow_id for row in queue.list_workflows()] == [waiting]
    assert client.cancel(waiting)


def test_only_so_many_jobs_are_kept(
    client: JobsClient, queue: DBOSClient, factory: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "MOST_JOBS", 2)
    jobs = [ended(client, factory, now() - minutes * timedelta(minutes=1)) for minutes in range(5)]
    prune(factory, queue, now())
    assert {job.id for job in client.jobs()} == set(jobs[:2])


def test_jobs_whose_results_a_run_shows_stay(
    client: JobsClient, queue: DBOSClient, factory: Sessions
) -> None:
    job = ended(client, factory, now() - 10 * JOBS_KEPT)
    with factory.begin() as session:
        session.add(a_run("0" * 16, origin="capture", tags=[], created_at=now()))
        session.flush()
        session.add(
            Diagnosis(
                run_id="0" * 16, kind="numbers", job_id=job, created_at=now(), complete=True,
                summary={}, payload=b"",
            )
        )  # fmt: skip
    prune(factory, queue, now())
    assert client.job(job).id == job
    assert count(factory, JobEvent) > 0


def test_old_tries_and_runs_of_rules_go_to_the_trash_unless_they_are_kept(
    client: JobsClient, queue: DBOSClient, factory: Sessions
) -> None:
    old = now() - TRIES_KEPT - DAY
    rows = [
        ("old", TRY, [], old), ("new", TRY, [], now()), ("kept", TRY, [KEPT], old),
        ("nightly-1", "upload", ["ci"], old), ("nightly-2", "upload", ["ci", KEPT], old),
        ("nightly-3", "upload", [], old), ("other", "upload", ["ci"], old),
        ("c_i", "upload", ["my ci"], old), ("placed", "upload", [], old),
    ]  # fmt: skip
    with factory.begin() as session:
        for name, origin, tags, at in rows:
            session.add(a_run(name, origin=origin, tags=tags, created_at=at))
        session.add(Rule(tag="ci", name="nightly*", days=30))
        session.add(Rule(tag="ci", days=60))
        session.add(Rule(project="team", days=30))
        place_run(session, "placed", None, add_project(session, "team", now()).id)
        session.add(Rule(tag="ci", days=10**9))
    seen = sessions(factory.kw["bind"], read_only=True)
    assert prune(factory, queue, now()) == 0
    with seen() as session:
        kept = set(session.scalars(select(Run.name)))
    assert kept == {name for name, *_ in rows} - {"old", "nightly-1", "placed"}
    assert {run.name for run in client.trash().runs} == {"old", "nightly-1", "placed"}
    client.restore_run("old")
    assert prune(factory, queue, now() + KEPT_IN_TRASH / 2) == 0
    assert prune(factory, queue, now() + KEPT_IN_TRASH + DAY) == 2  # nightly-1 and placed
    with factory() as session:
        assert session.get(Run, "nightly-1") is None
        assert session.get(Run, "old") is not None


def test_a_rule_refuses_one_run_too_many(client: JobsClient, factory: Sessions) -> None:
    with factory.begin() as session:
        session.add(Rule(tag="ci", most_runs=2))
        for name in ("a", "b"):
            session.add(a_run(name, origin="upload", tags=["ci"], created_at=now()))
    with pytest.raises(TooManyRunsError, match="ci: at most 2\\. There are 2 runs"):
        client.uploads.create("c", ["ci"], [("a", 1)])
    client.uploads.create("c", [], [("a", 1)])
    with factory.begin() as session:
        session.add(Rule(project="team", most_runs=1))
        place_run(session, "b", None, add_project(session, "team", now()).id)
    with pytest.raises(TooManyRunsError, match="in the project team: at most 1\\. There is 1 run"):
        client.uploads.create("c", [], [("a", 1)], "team")
    with factory.begin() as session:
        session.execute(delete(Rule).where(Rule.project == "team"))
    assert client.trash_run("a")
    client.uploads.create("c", ["ci"], [("a", 1)])
    with factory.begin() as session:
        session.execute(update(Rule).values(most_runs=None, most_bytes=1))
        add_blobs(session, [content_of_bytes(b"four")])
        digest = session.scalars(select(Blob.digest)).one()
        for run in ("a", "b"):
            session.add(Artifact(run_id=run, role="other", path="x", digest=digest, size=4))
    with pytest.raises(TooManyRunsError, match="There is 1 run of 4\u202fB already"):
        client.programs.capture({"model": "neg-maximum-cat"}, ["ci"])
    assert client.trash().runs[0].own == client.trash().own == 0  # b uses it too
    assert client.trash_run("b")
    assert client.trash().own == 4
    assert client.empty_trash() == 4


def test_a_rule_refuses_a_persons_run_or_job_too_many(
    client: JobsClient, factory: Sessions
) -> None:
    with factory.begin() as session:
        people = [add_person(session, name, "author", now()) for name in ("ada", "grace")]
        ada, grace = (who_is(person) for person in people)
        add_rule(session, Rule(person=EACH, most_runs=1))
        add_rule(session, Rule(person="ada", most_jobs=1, most_minutes=5))
        for wrong in (Rule(person="eve", days=1), Rule(tag="ci", most_jobs=1), Rule(person="ada")):
            with pytest.raises(AccountError):
                add_rule(session, wrong)
        session.add(a_run("a", origin="upload", tags=[], created_at=now()))
        session.flush()
        place_run(session, "a", grace.person, None)
    VIEWER.set(grace)
    with pytest.raises(TooManyRunsError, match=r"of each person: at most 1\. There is 1 run"):
        client.uploads.create("b", [], [("a", 1)])
    VIEWER.set(ada)
    upload = client.uploads.create("b", [], [("a", 1)]).id
    append(client.uploads, upload, 0, 0, b"x")
    first = client.programs.capture({"model": "neg-maximum-cat"})
    with pytest.raises(TooManyError, match=r"Jobs of ada: at most 1 .+ 1 waits or runs"):
        client.programs.capture({"model": "neg-maximum-cat"})
    client.uploads.finish(upload)  # it runs no code
    with factory.begin() as session:
        ran = {"state": "done", "started_at": now() - 2 * DAY, "ended_at": now() - DAY + FIVE / 2}
        session.execute(update(Job).where(Job.id == first).values(ran))
    client.uploads.create("b", [], [("a", 1)])  # almost all of it is longer ago
    with factory.begin() as session:
        session.execute(update(Job).where(Job.id == first).values(ended_at=None, state="running"))
    with pytest.raises(TooManyError, match="They took 1\u202f440 minutes"):
        client.uploads.create("b", [], [("a", 1)])
    VIEWER.set(None)
    client.uploads.create("b", [], [("a", 1)])


def test_uploads_that_nobody_finished_and_silent_workers_go(
    client: JobsClient, queue: DBOSClient, factory: Sessions
) -> None:
    left, under_way = (client.uploads.create("x", [], [("a", 1)]).id for _ in range(2))
    with factory.begin() as session:
        long_ago = now() - ABANDONED_AFTER - DAY
        session.execute(update(Upload).where(Upload.id == left).values(created_at=long_ago))
        for name, beat in (("silent", long_ago), ("alive", now())):
            session.add(Worker(id=name, host="h", pid=1, started_at=long_ago, beat_at=beat))
    assert prune(factory, queue, now()) == 2
    assert client.uploads.get(under_way).id == under_way
    assert [worker.id for worker in client.workers()] == ["alive"]


def test_a_log_does_not_grow_without_end(
    client: JobsClient, factory: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "MOST_LINES", 100)
    job = client.programs.capture({"model": "neg-maximum-cat"})
    attempt = claim(factory, job, "a test")
    assert isinstance(attempt, Attempt)
    report = Report(factory, attempt, overtaken=lambda: None)
    for number in range(1000):
        report.line(f"line {number}")
    report.close()
    lines = [line.text for line in client.events(job)]
    assert len(lines) == 100
    assert lines[-1] == "The log keeps 100 lines; the rest is left out."


def test_scratch_folders_cannot_be_foreseen_and_are_cleared(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    job = "ingest-0123456789abcdef"
    first, second = make_scratch_folder(job), make_scratch_folder(job)
    assert first != second
    assert {folder.stat().st_mode & 0o777 for folder in (first, second)} == {0o700}
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    first.rmdir()
    first.symlink_to(outside)
    other = make_scratch_folder("ingest-fedcba9876543210")
    clear(settings, job)
    assert not second.exists()
    assert other.exists()
    assert (outside / "kept").exists()
