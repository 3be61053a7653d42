"""A team's server with many runs: pages, SQL, deletion and backup, beside Datasette; a year of CI.

    python -m bench.many_runs make FOLDER [--runs 20000] [--kernels 300]
    python -m bench.many_runs ask FOLDER [--datasette PROGRAM]
    python -m bench.many_runs delete FOLDER [--runs 5000]
    python -m bench.many_runs year FOLDER [--runs 300] [--days 365]

`make` fills a database with runs made from a captured one: each has another name, other kernels and
an output code of its own, and shares further texts with the runs of its week. `ask` times pages of
a server, or with `--datasette` those that Datasette has too, on the same file. `delete` times the
trash, the doctor, backup and restore. `year` adds runs day by day with a rule of 30 days and prints
what is stored. `--database URL` does it on PostgreSQL, where every run is written as readers do and
a backup is restored in place.
"""

import argparse
import hashlib
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

import httpx
from inductorscope.answers.installation import SIZE
from inductorscope.jobs.backup import back_up, restore
from inductorscope.jobs.doctor import Doctor
from inductorscope.jobs.queue.engine import make_client, prepare
from inductorscope.jobs.queue.pruning import prune
from inductorscope.settings import PREFIX, Settings
from inductorscope.store import facts
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.contents.fulltext import index_texts
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.runs.draft import CallDraft, GraphDraft, KernelDraft, RunDraft, artifact_of
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.all import TABLES
from inductorscope.store.tables.models import Artifact, Blob, Run
from inductorscope.store.tables.people import Rule
from inductorscope.store.trash import move_to_trash
from inductorscope.units import seconds, size_in_bytes
from sqlalchemy import func, select, text, update

from bench.measure import MemoryWatch, cpu_seconds
from tests.support.places import FIXTURES
from tests.support.serving import free_port, serve
from tests.support.whole_runs import insert_run

CODE = next((FIXTURES / "cuda-foo1").rglob("output_code.py")).read_bytes()
NAMES = [f"model_{number}" for number in range(40)]
KINDS = ("poi", "red", "per")
AT_ONCE = 50
COPIES = 4
ASKED = 20
NEWEST = datetime(2026, 11, 1, tzinfo=UTC)
ROLES = ("post_grad", "readable", "ir_pre_fusion")


def run_of(number: int, at: datetime, kernels: int, chance: random.Random) -> RunDraft:
    """A run that shares texts with others of its week, and has an output code of its own."""
    name = chance.choice(NAMES)
    run = RunDraft(
        hashlib.sha256(b"run %d" % number).hexdigest(), name, ["ci"], "upload", at, 100_000
    )
    run.torch_version, run.device_kind, run.device_name = "2.13.0", "cuda", "NVIDIA H200"
    run.compiled_ms = chance.gauss(20 + len(name), 1)
    run.eager_ms, run.compile_seconds = run.compiled_ms * 2, chance.gauss(40, 5)
    run.graph_breaks = chance.randrange(4)
    for part in range(3):
        graph = GraphDraft(f"g{part}", f"model__{part}_forward", "forward")
        for tile in range(kernels // 3):
            kind = f"triton_{KINDS[tile % 3]}_fused_{name}_{part}_{tile}"
            kernel = KernelDraft(kind, "triton", "pointwise", tile, tile + 1, {})
            kernel.time_us, kernel.time_calls = chance.expovariate(0.1), 1.0
            kernel.time_source = "the trace"
            kernel.digest = int.from_bytes(hashlib.sha256(kind.encode()).digest()[:7])
            graph.kernels.append(kernel)
        graph.kernels[0].calls = [CallDraft(1, True, 9, [], [], f"{number:x}", [0])]
        run.graphs.append(graph)
    texts = [("code", CODE.replace(b"neg", b"neg_%d" % number))]
    texts += [(role, CODE.replace(b"neg", b"%s_%d" % (role.encode(), at.toordinal() // 7)))
              for role in ROLES]  # fmt: skip
    run.artifacts = [
        artifact_of(role, f"{role}.py", packed(text), text.count(b"\n"), graph=run.graphs[0])
        for role, text in texts
    ]
    return run


packed = lru_cache(maxsize=100)(content_of_bytes)
"""The content of a text; many runs have the same ones."""


def fill(factory: Sessions, drafts: Iterator[RunDraft]) -> None:
    while some := [draft for _, draft in zip(range(AT_ONCE), drafts, strict=False)]:
        with factory.begin() as session:
            for draft in some:
                insert_run(session, draft)


def make(settings: Settings, runs: int, kernels: int) -> None:
    """Writes a quarter of the runs as readers do, and copies these with changes (SQLite only)."""
    prepare(settings)
    engine = make_engine(settings)
    chance = random.Random(1)
    year = timedelta(days=365) / runs
    copies = COPIES if engine.dialect.name == "sqlite" else 1
    began = time.perf_counter()
    written = runs // copies
    fill(
        sessions(engine),
        (run_of(n, NEWEST - year * copies * n, kernels, chance) for n in range(written)),
    )
    for number in range(1, copies):
        copy(sessions(engine), number, timedelta(hours=number))
    took = time.perf_counter() - began
    print(f"{runs:,} runs with {runs * kernels:,} kernels in {seconds(took)}")
    began = time.perf_counter()
    with sessions(engine, read_only=True)() as session:
        facts.update(session, settings.facts, runs)
    sizes = sum(file.stat().st_size for file in settings.facts.glob("*.parquet"))
    print(f"facts in {seconds(time.perf_counter() - began)}, {size_in_bytes(sizes)}")


def copy(factory: Sessions, number: int, later: timedelta) -> None:
    """Copies the runs that were written as readers do: other names, kernels, times and codes."""
    of = f"{number:04x}"
    with factory.begin() as session:
        graphs, artifacts = (
            session.scalar(text(f"SELECT max(id) FROM {table}")) or 0
            for table in ("graphs", "artifacts")
        )
        codes = session.execute(
            select(Artifact.id, Artifact.digest)
            .join(Run)
            .where(Run.origin == "upload", Artifact.role == "code")
        ).all()
        owned = {}
        for artifact, digest in codes:
            code = (read_blob(session, digest) or b"").replace(b"neg_", b"neg_%d_" % number)
            owned[artifact] = content_of_bytes(code)
        add_blobs(session, owned.values())
        written = "(SELECT id FROM runs WHERE origin = 'upload')"
        graphs_of = f"(SELECT id FROM graphs WHERE run_id IN {written})"
        for table, changed in (
            ("runs", {
                "id": f"substr(id, 1, 12) || '{of}'", "origin": "'copied'",
                "content_digest": f"substr(content_digest, 1, 60) || '{of}'",
                "created_at": f"datetime(created_at, '+{later.seconds} seconds')",
                "compiled_ms": "compiled_ms * (0.95 + (abs(random()) % 1000) / 1e4)",
            }),
            ("run_search", {
                "id": "NULL", "run_id": f"substr(run_id, 1, 12) || '{of}'",
                "text": f"replace(text, 'triton_', 'triton_c{number}_')",
            }),
            ("graphs", {"id": f"id + {graphs}", "run_id": f"substr(run_id, 1, 12) || '{of}'"}),
            ("kernels", {
                "id": "NULL", "graph_id": f"graph_id + {graphs}", "digest": f"digest + {number}",
                "name": f"replace(name, 'triton_', 'triton_c{number}_')",
                "time_us": "time_us * (0.95 + (abs(random()) % 1000) / 1e4)",
            }),
            ("artifacts", {
                "id": f"id + {artifacts}", "run_id": f"substr(run_id, 1, 12) || '{of}'",
                "graph_id": f"graph_id + {graphs}",
            }),
        ):  # fmt: skip
            columns = [column.name for column in TABLES.tables[table].columns]
            chosen = ", ".join(changed.get(column, column) for column in columns)
            which = {"runs": f"id IN {written}", "kernels": f"graph_id IN {graphs_of}"}
            session.execute(text(
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table} "
                f"WHERE {which.get(table, f'run_id IN {written}')}"
            ))  # fmt: skip
        for artifact, content in owned.items():
            session.execute(
                update(Artifact).where(Artifact.id == artifact + artifacts),
                {"digest": content.digest},
            )
        index_texts(session, (content.digest for content in owned.values()))


def timed(client: httpx.Client, path: str, pid: int, times: int = ASKED) -> str:
    """Median and 95th percentile of the time, and the processor time of a request."""
    client.get(path).raise_for_status()
    took = []
    used = cpu_seconds(pid)
    for _ in range(times):
        began = time.perf_counter()
        client.get(path).raise_for_status()
        took.append(time.perf_counter() - began)
    took.sort()
    p95 = took[int(len(took) * 0.95)]
    used = (cpu_seconds(pid) - used) / times
    return f"{seconds(statistics.median(took))}, p95 {seconds(p95)}, processor {seconds(used)}"


BY_KERNEL = (
    "SELECT name, count(*) AS n, sum(time_us) AS us FROM kernels GROUP BY name ORDER BY us DESC "
    "LIMIT 20"
)
ONE_KERNEL = "SELECT time_us FROM kernels WHERE name = 'triton_poi_fused_model_7_1_0' LIMIT 1000"


SEARCHES = (
    "neg_777", "fused_model_7_1", "tl.load(in_ptr0", "import torch", "xnumel", "no_such_thing",
    "triton", "model_31", "post_grad_105721", "neg_12&device=H200&since=2026-03-01",
    "tl.store&tag=ci&torch=2.13", "neg_7&tag=nope", "async_compile&role=code", "c2_red_fused",
)  # fmt: skip


def ask(settings: Settings) -> None:
    engine = make_engine(settings)
    with sessions(engine, read_only=True)() as session:
        ten = session.scalars(select(Run.id).order_by(Run.created_at.desc()).limit(10)).all()
    engine.dispose()

    def sql(query: str) -> str:
        return f"/sql?sql={quote(query.replace('name', 'kernel'))}"

    pages = {
        "list": "/", "list, searched": "/?q=model_7", "list, by time": "/?sort=speed_up",
        "trends": "/history", "one name": "/history?name=model_7", "server": "/server",
        "ten in a table": f"/compare?run={'&run='.join(ten)}",
        "newest 2,000, steps": "/history?tag=ci&figure=compiled_ms",
        "newest 2,000, kernels": "/history?tag=ci&figure=kernels_us",
        "SQL, by kernel": sql(BY_KERNEL), "SQL, one kernel": sql(ONE_KERNEL),
    } | {f"search {q}": f"/search?q={q}" for q in SEARCHES}  # fmt: skip
    env = {f"{PREFIX}DATABASE_URL": settings.database_url}
    with serve(settings.data, "--workers", "0", env=env) as served:
        memory = MemoryWatch(served.process.pid)
        with httpx.Client(base_url=served.url, timeout=60) as client:
            for name, path in pages.items():
                print(f"{name:22} {timed(client, path, served.process.pid)}", flush=True)
        memory.stop()
        print(f"memory of all processes at most {size_in_bytes(memory.peak)}")


def ask_datasette(settings: Settings, datasette: str) -> None:
    """Times the pages that Datasette has too."""
    port = free_port()
    database = settings.data / "inductorscope.db"
    command = [datasette, "serve", str(database), "-p", str(port), "--setting", "sql_time_limit_ms"]
    process = subprocess.Popen([*command, "60000"], stdout=subprocess.DEVNULL)
    try:
        base = f"http://127.0.0.1:{port}/inductorscope"
        with httpx.Client(base_url=base, timeout=90, follow_redirects=True) as client:
            while True:
                try:
                    client.get("/")
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            for name, path, times in (
                ("list", "/runs?_sort_desc=created_at", ASKED),
                ("list, searched", "/runs?name__contains=model_7&_sort_desc=created_at", ASKED),
                ("SQL, by kernel", f"?sql={quote(BY_KERNEL)}", 2),
                ("SQL, one kernel", f"?sql={quote(ONE_KERNEL)}", 5),
            ):
                print(f"Datasette, {name:22} {timed(client, path, process.pid, times)}", flush=True)
    finally:
        process.kill()
        process.wait()


def delete(settings: Settings, runs: int) -> None:
    engine = make_engine(settings)
    factory = sessions(engine)
    with factory() as session:
        oldest = session.scalars(select(Run.id).order_by(Run.created_at).limit(runs)).all()
    began = time.perf_counter()
    with factory.begin() as session:
        move_to_trash(session, oldest[: len(oldest)], datetime.now(UTC))
    print(f"{len(oldest):,} runs to the trash in {seconds(time.perf_counter() - began)}")
    took = []
    freed = 0
    for run in oldest:
        began = time.perf_counter()
        with factory.begin() as session:
            freed += delete_run(session, run)
        took.append(time.perf_counter() - began)
    took.sort()
    print(
        f"deleted for good in {seconds(sum(took))}, p95 {seconds(took[int(len(took) * 0.95)])} "
        f"each; freed {size_in_bytes(freed)}"
    )
    began = time.perf_counter()
    about = back_up(settings, settings.data.parent / "backup.tar.zst")
    size = (settings.data.parent / "backup.tar.zst").stat().st_size
    print(f"backup of {about.runs:,} runs in {seconds(time.perf_counter() - began)}, "
          f"{size_in_bytes(size)}")  # fmt: skip
    began = time.perf_counter()
    restored = replace(settings, data=settings.data.parent / "restored")
    restore(restored, settings.data.parent / "backup.tar.zst", replace=bool(settings.database_url))
    print(f"restored in {seconds(time.perf_counter() - began)}")
    report(restored)


def report(settings: Settings) -> None:
    began = time.perf_counter()
    doctor = Doctor(settings)
    try:
        findings = [finding.what for finding in doctor.findings()]
        shares = doctor.shares()
    finally:
        doctor.close()
    assert shares.stored == shares.own + shares.shared + shares.unused
    print(f"doctor in {seconds(time.perf_counter() - began)}: {findings or 'whole'}; {shares}")


def year(settings: Settings, runs: int, days: int) -> None:
    prepare(settings)
    engine = make_engine(settings)
    factory, client, chance = sessions(engine), make_client(settings), random.Random(1)
    with factory.begin() as session:
        session.add(Rule(tag="ci", days=30))
    for day in range(days):
        today = NEWEST + timedelta(days=day)
        fill(factory, (run_of(day * runs + n, today, 6, chance) for n in range(runs)))
        while prune(factory, client, today):
            pass
        doctor = Doctor(settings)
        shares = doctor.shares()
        doctor.close()
        assert shares.stored == shares.own + shares.shared + shares.unused
        with factory() as session:
            lies = session.scalar(select(func.sum(func.length(Blob.data))))
            kept = session.scalar(select(func.count()).select_from(Run))
            size = session.scalar(text(SIZE[engine.dialect.name]))
        assert shares.stored == lies
        print(f"day {day + 1:3}: {kept:,} runs, {shares.contents:,} contents, "
              f"{size_in_bytes(shares.stored)}; database {size_in_bytes(size)}",
              flush=True)  # fmt: skip
    client.destroy()
    report(settings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["make", "ask", "delete", "year"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--database", default="")
    parser.add_argument("--datasette", default="")
    given = parser.parse_args()
    settings = Settings(data=given.folder.absolute(), database_url=given.database)
    if given.what == "make":
        make(settings, given.runs or 20_000, given.kernels)
    elif given.what == "ask":
        ask(settings) if not given.datasette else ask_datasette(settings, given.datasette)
    elif given.what == "delete":
        delete(settings, given.runs or 5000)
    else:
        year(settings, given.runs or 300, given.days)
    return 0


if __name__ == "__main__":
    sys.exit(main())
