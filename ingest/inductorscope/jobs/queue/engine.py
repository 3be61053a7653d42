"""Sets up the job engine, DBOS: two queues, one workflow, JSON, a pinned version.

Only `engine`, `workflow`, `reaper`, `pruning` and `api` know it.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, Never

from dbos import DBOS, DBOSClient, DBOSConfig, _workflow_commands
from dbos._queue import queue_worker_thread
from dbos._serialization import DBOSPortableJSON, DefaultSerializer

from inductorscope.processes.tracing import traces_receiver
from inductorscope.settings import Settings
from inductorscope.store.database.engine import database_url
from inductorscope.store.database.migrate import migrate
from inductorscope.store.database.private import make_private_folder
from inductorscope.store.database.usable import check_data

APPLICATION = "inductorscope"
APPLICATION_VERSION = "1"
"""Pinned: by default it is a hash of the code, and an upgrade would strand waiting jobs."""
QUEUE = "inductorscope"
"""The queue of jobs that may take long. Its partitions are what jobs need (`machines`)."""
SHORT_QUEUE = "inductorscope-short"
"""The queue of small uploads. A worker takes one job of each queue at a time, so that a small
upload never waits for a long job."""
QUEUES = (SHORT_QUEUE, QUEUE)
WORKFLOW = "inductorscope_job"
POLL_SECONDS = 2.0
"""Between polls of the queue; enqueueing on this machine wakes workers sooner (`bell`)."""

UNUSED_SECONDS = 60.0
"""Between the engine's polls for features that we do not use."""

NO_LOGS = "OTLP is enabled but logger provider not set"
"""A warning that the engine logs if it sends traces but no logs."""
WAITS_SECONDS = 30.0
"""How long to wait for the database's lock at startup."""
WITH_MILLISECONDS = (3, 42)
"""The first SQLite with `subsec`, which the engine uses in its tables from that version on."""
MILLISECONDS = "unixepoch('subsec')"

log = logging.getLogger("inductorscope.jobs")


def url_for_engine(settings: Settings) -> str:
    """Returns the database's address in the form that DBOS takes."""
    return database_url(settings).render_as_string(hide_password=False)


def prepare(settings: Settings) -> None:
    """Brings our tables and the engine's up to date. Safe for several processes at once.

    Ours come first, because that switches SQLite's WAL on, which DBOS does not do.
    """
    quiet()
    check_data(settings)
    make_private_folder(settings.data)
    migrate(settings)
    DBOS.migrate(url_for_engine(settings))
    url = database_url(settings)
    if url.get_backend_name() == "sqlite" and sqlite3.sqlite_version_info < WITH_MILLISECONDS:
        _without_milliseconds(str(url.database))


def _without_milliseconds(file: str) -> None:
    """Replaces a function that this SQLite lacks in the engine's tables, which a newer SQLite made;
    otherwise no worker could start."""
    with closing(sqlite3.connect(file, timeout=WAITS_SECONDS)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE instr(sql, ?)",
            (MILLISECONDS, "strftime('%s', 'now')", MILLISECONDS),
        )


def make_client(settings: Settings) -> DBOSClient:
    """Returns a client of the engine; the tables must exist."""
    quiet()
    return DBOSClient(
        system_database_url=url_for_engine(settings),
        serializer=DBOSPortableJSON,
        system_database_pool_size=3,
        application_name=APPLICATION,
    )


def configuration(settings: Settings, executor_id: str) -> DBOSConfig:
    """Returns the engine's configuration for a worker."""
    configured: DBOSConfig = {
        "name": APPLICATION,
        "application_version": APPLICATION_VERSION,
        "executor_id": executor_id,
        "system_database_url": url_for_engine(settings),
        "serializer": DBOSPortableJSON,
        "log_level": "WARNING",
        "use_listen_notify": False,  # we send no events, and its notifier wakes 100 times a second
        "run_migrations": False,
    }
    receiver = traces_receiver()
    if receiver is not None:
        # The engine's spans of a job join the trace of the request that made it.
        configured["enable_otlp"] = True
        configured["otlp_traces_endpoints"] = [receiver]
        configured["otel_attribute_format"] = "semconv"
        logging.getLogger("dbos").addFilter(lambda record: NO_LOGS not in record.getMessage())
    return configured


def launch(
    settings: Settings,
    executor_id: str,
    client: DBOSClient,
    concurrency: int,
    stops: Mapping[str, threading.Event],
    meets: Callable[[str], bool],
) -> None:
    """Starts the engine in a worker, which takes up to `concurrency` jobs of each queue at a time;
    of the long ones, only those whose needs it meets.

    `stops` has an event for each queue. Its `wait(seconds)` is called between polls of the queue,
    so that it can end the pause sooner.
    """
    engine = DBOS(config=configuration(settings, executor_id))
    # Every second the engine polls for delayed workflows, passed deadlines and work in its own
    # queue. We use none of these, and polling them is half of an idle worker's cost.
    _workflow_commands._BACKGROUND_JOBS_INTERVAL_SEC = UNUSED_SECONDS
    engine._registry.get_internal_queue()._polling_interval_sec = UNUSED_SECONDS
    DBOS.listen_queues([])  # these would poll by the clock alone; the threads below poll instead
    queues = [
        client.register_queue(
            name,
            worker_concurrency=concurrency,
            partition_worker_concurrency=concurrency if name == QUEUE else None,
            polling_interval_sec=POLL_SECONDS,
            application_name=APPLICATION,
        )
        for name in stops
    ]
    DBOS.launch()
    database = engine._sys_db
    needs = database.get_queue_partitions
    # The engine has no setting for which partitions a worker takes, so its list is narrowed.
    setattr(  # noqa: B010  # mypy refuses to assign a method
        database, "get_queue_partitions", lambda name: [need for need in needs(name) if meets(need)]
    )
    for queue in queues:
        threading.Thread(
            target=queue_worker_thread,
            args=(stops[queue.name], engine, queue),
            name=queue.name,
            daemon=True,
        ).start()


def quiet() -> None:
    """Logs only warnings, to our log, and refuses pickles: nobody who can write rows may run code
    in a worker."""
    engine_log = logging.getLogger("dbos")
    engine_log.setLevel(logging.WARNING)
    if not engine_log.handlers:
        engine_log.addHandler(logging.NullHandler())  # otherwise the engine adds one of its own
    setattr(DefaultSerializer, "deserialize", _refuse_pickle)  # noqa: B010  # as above


def _refuse_pickle(_self: object, _text: Any) -> Never:  # noqa: ANN401  # whatever was stored
    raise TypeError("A pickled value in the job engine's tables; only JSON is read.")
