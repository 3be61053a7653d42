"""Real worker processes whose jobs stand in: ends of every kind, deaths of every kind."""

import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.kinds import KINDS
from inductorscope.jobs.queue.processes import processes_of
from inductorscope.jobs.queue.slots import executor_id
from inductorscope.jobs.queue.transitions import MOST_ATTEMPTS, claim
from inductorscope.jobs.sender import HERE, SENDER
from inductorscope.settings import Settings
from inductorscope.store.database.engine import sessions
from inductorscope.store.tables.models import Worker
from sqlalchemy import Engine, update

from tests.conftest import ON_SQLITE
from tests.jobs.conftest import Crew, crewed
from tests.support.new_database import NAME, new_database

pytestmark = pytest.mark.slow


TURN = 6.0
"""Seconds after which a small upload gives way."""


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """A worker for the tests that leave it alive, on SQLite."""
    folder = tmp_path_factory.mktemp("working")
    new_database(folder)
    with crewed(Settings(data=folder / "data", database_url=f"sqlite:///{folder / NAME}")) as made:
        made.start(turn=TURN)
        yield made


@ON_SQLITE
def test_what_takes_too_long_is_ended(crew: Crew) -> None:
    crew.start(1, capture_seconds=1, ingest_seconds=1)
    late = crew.wait(crew.ask("nothing 90"), 60)
    assert "time limit of 2 s" in (late.message or "")
    assert "INDUCTORSCOPE_CAPTURE_SECONDS" in (late.message or "")


def test_ends_of_every_kind(working: Crew) -> None:
    before = working.runs()
    names = ("temporary", "sleep 0.5", "exit 4", "die", "spawn 60")
    jobs = {name: working.ask(name) for name in names}
    ends = {name: working.wait(job, 60) for name, job in jobs.items()}
    done = ends["sleep 0.5"]
    assert (done.state, done.run_id, done.attempts) == ("done", done.id[-16:], 1)
    assert done.message == "Read no graph, log or profile, 0 files."
    assert None not in (done.started_at, done.ended_at, done.worker)
    assert ends["exit 4"].state == "failed"
    assert "status 4" in (ends["exit 4"].message or "")
    assert "the last words" in working.log(jobs["exit 4"])
    assert "SIGKILL" in (ends["die"].message or "")
    assert ends["spawn 60"].state == "done"
    assert ends["temporary"].state == "done"
    assert ends["temporary"].attempts == 3
    working.until(lambda: not processes_of(jobs["spawn 60"]), 30, "left-over processes to end")
    assert working.runs() - before == {
        jobs[name][-16:] for name in ("sleep 0.5", "spawn 60", "temporary")
    }


def test_a_killed_reader_is_tried_once_more(working: Crew) -> None:
    once, twice = working.send("die-once"), working.send("die")
    end = working.wait(once, 60)
    assert (end.state, end.attempts) == ("done", 2), end.message
    assert "SIGKILL. Perhaps the machine ran out of memory. Trying once more." in working.log(once)
    end = working.wait(twice, 60)
    assert (end.state, end.attempts) == ("failed", 2)
    assert (end.message or "").endswith("out of memory. This was the second time.")


@ON_SQLITE
def test_the_time_to_read_an_upload_grows_with_its_size(settings: Settings) -> None:
    seconds = KINDS["ingest"].seconds
    assert seconds(settings, 1000) == 300
    assert seconds(settings, 50_000_000) == 800
    assert seconds(settings, 10**10) == seconds(settings) == settings.ingest_seconds
    assert seconds(replace(settings, ingest_seconds=30), 1000) == 30


def test_a_small_upload_passes_long_jobs_and_gives_way_to_others(working: Crew) -> None:
    long = working.ask("sleep 60")
    working.wait_running(long)  # holds the queue of long jobs
    slow = working.send("sleep 90")
    working.wait_running(slow)
    quick = working.send("sleep 0")
    assert working.wait(quick, 60).state == "done"
    waiting = working.client.job(slow)
    assert (waiting.state, waiting.attempts) == ("queued", 0)
    assert "starts again among the long jobs" in working.log(slow)
    assert working.client.cancel(slow)
    assert working.client.cancel(long)


def test_many_uploads_of_one_sender_do_not_hold_up_another_one(working: Crew) -> None:
    working.wait_running(working.send("sleep 2"))
    SENDER.set("many")
    many = [working.send(f"sleep {0.1 + number / 1000}") for number in range(4)]
    large = working.send("sleep 0.1", size=1000)
    SENDER.set("other")
    other = working.send("sleep 0.1", size=1000)
    assert working.wait(other, 60).state == "done"
    SENDER.set("many")
    assert working.wait(working.send("sleep 0.1", size=0), 60).state == "done"
    assert working.client.job(large).state == "queued"
    ended = [working.client.job(job).state for job in many]
    assert ended.count("done") <= 3, ended
    SENDER.set(HERE)
    assert {working.wait(job, 60).state for job in [*many, large]} == {"done"}


def test_deleting_a_run_that_is_being_read_cancels_its_job(working: Crew) -> None:
    before = working.runs()
    job = working.send("begin 60")
    working.wait_running(job)
    (run,) = working.until(lambda: working.runs() - before, 30, "the run to begin")
    working.client.delete_run(run)
    end = working.client.job(job)
    assert end.state == "cancelled"
    assert end.message == "Cancelled: its run was deleted while it was being read."
    working.until(lambda: not processes_of(job), 30, "its processes to end")
    assert working.runs() == before


def test_cancel_ends_processes_and_frees_the_worker(working: Crew) -> None:
    before = working.runs()
    long, next_one = working.ask("sleep 60"), working.ask("sleep 0")
    never = working.ask("sleep 0")
    assert working.client.cancel(never)
    working.wait_running(long)
    assert working.client.cancel(long)
    assert not working.client.cancel(long)
    assert working.client.job(long).state == "cancelled"
    working.until(lambda: not processes_of(long), 30, "its processes to end")
    assert working.wait(next_one).state == "done"
    assert working.client.job(never).state == "cancelled"
    assert working.client.job(never).attempts == 0
    assert working.runs() == before | {next_one[-16:]}


@ON_SQLITE
def test_a_worker_killed_and_started_again_finishes_once_and_one_that_stops_gives_its_job_back(
    crew: Crew,
) -> None:
    worker = crew.start()
    job = crew.ask("sleep 2")
    crew.wait_running(job)
    worker.kill()
    worker.wait()
    crew.until(lambda: not processes_of(job), 30, "the child to die with its worker")
    assert crew.client.job(job).state == "running"
    again = crew.start()
    end = crew.wait(job)
    assert (end.state, end.attempts) == ("done", 2)
    assert crew.runs() == {job[-16:]}
    assert "died" in crew.log(job)

    job = crew.ask("sleep 2")
    crew.wait_running(job)
    again.send_signal(signal.SIGTERM)
    assert again.wait(10) == 0
    status = crew.client.job(job)
    assert (status.state, status.attempts) == ("queued", 0)
    assert not processes_of(job)
    assert crew.client.workers() == []
    crew.start(2)
    end = crew.wait(job)
    assert (end.state, end.attempts) == ("done", 1)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_living_worker_takes_over_from_a_dead_one_and_from_one_elsewhere_that_is_silent(
    crew: Crew,
) -> None:
    doomed = crew.start(1)
    a_job_cancelled_while_its_run_is_written_leaves_none(crew)
    job = crew.ask("sleep 2")
    crew.wait_running(job)
    silent = crew.start(2)
    doomed.kill()
    doomed.wait()
    end = crew.wait(job)
    assert (end.state, end.attempts) == ("done", 2)
    assert end.worker == executor_id(crew.settings, 2)
    assert crew.runs() == {job[-16:]}

    job = crew.ask("sleep 2")
    crew.wait_running(job)
    silent.kill()
    silent.wait()
    with crew.sessions.begin() as session:
        session.execute(update(Worker).values(host="elsewhere"))
    crew.start(3, dead_after=4.0)
    started = time.monotonic()
    end = crew.wait(job)
    assert end.state == "done"
    assert time.monotonic() - started > 4.0
    with crew.sessions() as session:
        assert session.get(Worker, executor_id(crew.settings, 2)) is None


def a_job_cancelled_while_its_run_is_written_leaves_none(crew: Crew) -> None:
    """On SQLite the writer holds the only write lock, so there the cancel always comes after."""
    job = crew.ask("slow-commit 3")
    crew.until(lambda: crew.client.job(job).state == "running", 60, "the job to run")
    time.sleep(1.5)
    assert crew.client.cancel(job)
    crew.until(lambda: not processes_of(job), 30, "its processes to end")
    assert crew.runs() == set()


@ON_SQLITE
def test_what_never_reaches_the_database_is_not_called_a_death(
    client: JobsClient, engine: Engine
) -> None:
    """Each attempt ends with TRY_AGAIN, which leaves the job as it is."""
    job = client.programs.capture({"model": "neg-maximum-cat"})
    for _ in range(MOST_ATTEMPTS):
        assert claim(sessions(engine), job, "a worker") is not None
    assert claim(sessions(engine), job, "a worker") is None
    message = client.job(job).message or ""
    assert message.startswith(f"This was tried {MOST_ATTEMPTS} times without coming to an end;")
    assert "died" not in message


def test_two_workers_cannot_have_one_name(working: Crew) -> None:
    working.until(working.client.workers, 60, "the first worker")
    second = working.start(1)
    assert second.wait(30) == 1


def test_workers_are_listed_with_signs_of_life(working: Crew) -> None:
    (worker,) = working.until(working.client.workers, 60, "the worker")
    assert worker.alive
    assert worker.pid == working.living[0].pid
    with working.sessions.begin() as session:
        long_ago = datetime(2020, 1, 1, tzinfo=UTC)
        session.add(Worker(id="old", host="h", pid=1, started_at=long_ago, beat_at=long_ago))
    assert [worker.alive for worker in working.client.workers() if worker.id == "old"] == [False]
