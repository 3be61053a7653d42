"""A worker process: takes jobs from the queue, and looks after those of workers that died."""

import argparse
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass

from dbos import DBOSClient
from dbos._error import DBOSException
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from inductorscope.disk import Disk
from inductorscope.jobs.errors import cause_of, without_password
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.bell import Bell, ring
from inductorscope.jobs.queue.engine import QUEUE, QUEUES, launch, make_client, prepare
from inductorscope.jobs.queue.health import DEAD_AFTER_SECONDS
from inductorscope.jobs.queue.heartbeat import Heartbeat
from inductorscope.jobs.queue.machines import this_machine
from inductorscope.jobs.queue.processes import end_processes, speak
from inductorscope.jobs.queue.pruning import prune
from inductorscope.jobs.queue.reaper import Reaper
from inductorscope.jobs.queue.relinking import Relinking
from inductorscope.jobs.queue.slots import Slot, SlotTakenError
from inductorscope.jobs.queue.workflow import Command, Work, child_command, set_work
from inductorscope.jobs.work import folders
from inductorscope.processes.tracing import send_traces
from inductorscope.settings import SettingError, Settings, load
from inductorscope.store.contents.objects import OutOfReachError
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.errors import UnusableError
from inductorscope.store.database.room import fill_reserve, give_back

INVALID_SETTINGS = 2
"""Exit code when the settings are invalid; the supervisor does not retry."""
REAP_SECONDS = 5.0
SETTLE_EVERY = 2
"""In rounds of reaping."""
SWEEP_EVERY = 24
ROOM_SECONDS = 2.0
ROOM_TO_START = 0.1
"""A worker starts when this share of the room that should stay free on the disk is free."""
SLOT_SECONDS = 10.0
"""How long to wait for a predecessor to end, or for a reaper to release the slot."""

log = logging.getLogger("inductorscope.jobs")


@dataclass(frozen=True)
class Options:
    """Options that tests change, and rarely an installation."""

    concurrency: int = 1
    dead_after: float = DEAD_AFTER_SECONDS
    command: Command = child_command


def run_worker(settings: Settings, executor_id: str, options: Options | None = None) -> None:
    """Works until SIGTERM or SIGINT. Runs in the main thread of a process of its own.

    Raises SlotTakenError when a living worker has this id.
    """
    slot = Slot(settings, executor_id)
    if not slot.take(SLOT_SECONDS):
        raise SlotTakenError(
            f"A worker called {executor_id} is running already on {settings.data}."
        )
    _wait_for_room(settings)
    prepare(settings)
    _Worker(settings, executor_id, options or Options()).run()


def _wait_for_room(settings: Settings) -> None:
    """Waits while the disk is too full for a worker to write its own row; if it ended, the
    supervisor would only start it again."""
    if not Disk.of(settings.data).lacks(part=ROOM_TO_START):
        return
    log.error("waiting: %s", Disk.of(settings.data).sentence())
    while Disk.of(settings.data).lacks(part=ROOM_TO_START):
        time.sleep(ROOM_SECONDS)
    log.info("there is room again")


class _Worker:
    """Everything that a worker process holds while it works."""

    def __init__(self, settings: Settings, executor_id: str, options: Options) -> None:
        self.settings = settings
        self.options = options
        self.engine: Engine = make_engine(settings)
        self.sessions = sessions(self.engine)
        self.client: DBOSClient = make_client(settings)
        self.work = Work(settings, self.sessions, executor_id, options.command, self._requeue)
        self.reaper = Reaper(
            settings,
            self.sessions,
            self.client,
            own_id=executor_id,
            dead_after=options.dead_after,
        )
        self.machine = this_machine(settings)
        self.heartbeat = Heartbeat(
            self.sessions,
            executor_id,
            self.machine,
            options.dead_after * 0.75,
            self._heartbeat_lost,
        )
        self.relinking = Relinking(settings, self.sessions)
        self.stop_asked = threading.Event()

    def run(self) -> None:
        for sign in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sign, lambda *_: self._ask_to_stop())
        self.heartbeat.start()
        self.reaper.take_back(self.work.executor_id)  # the jobs of our predecessor
        self._launch()
        log.info("%s is at work: %s", self.work.executor_id, self.machine.kind)
        rounds = 0
        while not self.stop_asked.is_set():
            self._look_after(rounds)
            rounds += 1
            if self.work.ended.wait(REAP_SECONDS):
                self.work.ended.clear()
                self.relinking.want()
        self._stop()

    def _requeue(self, job_id: str) -> None:
        self.client.resume_workflow(job_id, queue_name=QUEUE)
        ring(self.settings)

    def _ask_to_stop(self) -> None:
        self.stop_asked.set()
        self.work.ended.set()  # makes the loop check at once

    def _launch(self) -> None:
        set_work(self.work)
        name = self.work.executor_id
        bells = {queue: Bell(self.settings, f"{name}.{queue}") for queue in QUEUES}
        concurrency, meets = self.options.concurrency, self.machine.meets
        launch(self.settings, name, self.client, concurrency, bells, meets)

    def _look_after(self, rounds: int) -> None:
        try:
            self.reaper.reap()
            if rounds % SETTLE_EVERY == 0:
                self.reaper.settle()
                self.reaper.tidy()
                give_back(self.engine)
                fill_reserve(self.engine)
            if rounds % SWEEP_EVERY == 0:
                folders.sweep(self.settings, self.sessions)
                prune(self.sessions, self.client, transitions.now())
            # Aligns lines of what was read, and renews links of older versions, while jobs run.
            self.relinking.keep()
        except (SQLAlchemyError, DBOSException, OSError, OutOfReachError) as error:
            # The database or the object store may be out of reach for a moment; the next round
            # tries again.
            log.warning("looking after jobs failed: %s", without_password(str(error)))

    def _stop(self) -> None:
        """Stops in order: running jobs go back to the queue, and their attempts do not count."""
        self.work.stopping = True
        for job_id, attempt in list(self.work.running.items()):
            end_processes(job_id)
            why = "The worker is stopping; back to the queue."
            transitions.put_back(self.sessions, attempt, why)
        self.reaper.take_back(self.work.executor_id)
        self.heartbeat.stop()
        log.info("%s has stopped", self.work.executor_id)
        send_traces()
        _leave(0)

    def _heartbeat_lost(self) -> None:
        log.error("no heartbeat got through; others count us as dead, so this worker ends")
        for job_id in list(self.work.running):
            end_processes(job_id)
        _leave(1)


def _leave(status: int) -> None:
    """Ends the process at once: the engine's threads would otherwise note outcomes of the jobs
    given back."""
    logging.shutdown()
    os._exit(status)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.jobs.queue.worker")
    parser.add_argument("--executor-id", required=True)
    given = parser.parse_args(arguments)
    try:
        settings = load()
        speak(settings)
        run_worker(settings, given.executor_id)
    except (SlotTakenError, SettingError, UnusableError) as error:
        log.error("%s", error)
        return 1 if isinstance(error, SlotTakenError) else INVALID_SETTINGS
    except (SQLAlchemyError, OSError) as error:
        log.error("the database cannot be opened: %s", cause_of(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
