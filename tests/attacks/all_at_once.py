"""Runs every attack of this folder at once, beside ten honest clients.

    python -m tests.attacks.all_at_once --minutes 30 [--database postgresql] [--attacks NAME…]

Starts a real server. Each attack runs in a process of its own and comes from 127.0.0.1; the honest
clients share the address 127.0.0.2, like people in one office, browse and upload real folders.
Prints a table, and exits with 1 if a value is not as wanted.
"""

import argparse
import contextlib
import importlib
import multiprocessing
import os
import pkgutil
import random
import re
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from inductorscope.cli.client import Client, ServerError
from inductorscope.formats.sizes import MIB
from inductorscope.processes.niceness import be_nice

from tests.support.attacking import Attack, Health, peak_memory, percentile, web_process
from tests.support.places import FIXTURES
from tests.support.postgres import binaries, postgres
from tests.support.sending import variant
from tests.support.serving import Served, serve

PACKAGE = "tests.attacks"
CLIENTS = 10
FOLDERS = ("cuda-foo1", "output-code", "dynamic", "cuda-adam")
PAGES_BETWEEN_UPLOADS = 20
THINKING_SECONDS = 0.5
NICENESS = 10
"""Attackers have machines of their own; here they share the server's processors."""
LAST_UPLOAD_SECONDS = 300.0
"""How long uploads under way may take when the attacks end."""

MOST_P95_SECONDS = 2.0
MOST_MEMORY = 500 * 1000 * 1000
MOST_HEALTH_SECONDS = 1.0

FAILED_PAGE_SECONDS = 60.0
"""What a page counts that does not come."""

LINK = re.compile(r'href="(/[^"#]*)"')
BROWSED = re.compile(r"/(?:runs|jobs|search|capture|$|\?)")


def attacks() -> dict[str, Attack]:
    """The attacks of this folder, by the name of their module."""
    found: dict[str, Attack] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        attack = getattr(importlib.import_module(f"{PACKAGE}.{module.name}"), "attack", None)
        if attack is not None:
            found[module.name.removeprefix("test_")] = attack
    return found


def _run_attack(name: str, url: str, token: str) -> None:
    """In a process of its own: attacks until SIGTERM; an attack that fails is started again."""
    os.setsid()
    be_nice(NICENESS)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    attack = attacks()[name]
    while not stop.is_set():
        with contextlib.suppress(httpx.HTTPError, OSError, ServerError):
            attack(url, token, stop)
        stop.wait(1)


# --- honest clients ---


class HonestClient(Client):
    """The client of the command line, from an address of its own."""

    def __init__(self, server: str, token: str, source: str) -> None:
        super().__init__(server, token)
        self._http = self.http = httpx.Client(
            base_url=server,
            headers={"Authorization": f"Bearer {token}"},
            timeout=FAILED_PAGE_SECONDS,
            transport=httpx.HTTPTransport(local_address=source),
            follow_redirects=True,
        )


@dataclass
class Experience:
    """What the honest clients saw."""

    pages: list[float] = field(default_factory=list)
    """Seconds that each page took."""
    bad_pages: list[str] = field(default_factory=list)
    uploads: list[float] = field(default_factory=list)
    """Seconds from the first byte of an upload until it was read."""
    bad_uploads: list[str] = field(default_factory=list)


class Honest(threading.Thread):
    """One person: uploads a folder, browses for a while, and so on."""

    def __init__(
        self,
        number: int,
        client: HonestClient,
        folder: Path,
        seen: Experience,
        stop: threading.Event,
    ) -> None:
        super().__init__(name=f"honest {number}", daemon=True)
        self._number = number
        self._client = client
        self._folder = folder
        self._seen = seen
        self._stop_asked = stop
        self._random = random.Random(number)

    def run(self) -> None:
        uploaded = 0
        while not self._stop_asked.is_set():
            run = self._upload(uploaded)
            uploaded += 1
            self._browse(f"/runs/{run}" if run else "/")

    def _upload(self, uploaded: int) -> str | None:
        source = FIXTURES / FOLDERS[(self._number + uploaded) % len(FOLDERS)]
        folder = variant(source, self._folder, uploaded * 100 + self._number, padding=200_000)
        begun = time.monotonic()
        try:
            pushed = self._client.push([folder], folder.name, ["honest"], lambda *_: None)
        except (ServerError, httpx.HTTPError) as error:
            self._seen.bad_uploads.append(str(error))
            return None
        finally:
            shutil.rmtree(folder)
        if pushed.state != "done":
            self._seen.bad_uploads.append(f"{pushed.state}: {pushed.message}")
            return None
        self._seen.uploads.append(time.monotonic() - begun)
        return pushed.run

    def _browse(self, start: str) -> None:
        path = start
        for _ in range(PAGES_BETWEEN_UPLOADS):
            if self._stop_asked.wait(self._random.uniform(0.5, 1.5) * THINKING_SECONDS):
                return
            links = self._open(path)
            within = [link for link in links if link.startswith(start)] or links
            path = self._random.choice(within) if within else "/"

    def _open(self, path: str) -> list[str]:
        """Opens a page; the links on it."""
        begun = time.monotonic()
        try:
            answer = self._client.http.get(path, headers={"Accept": "text/html"})
        except httpx.HTTPError as error:
            self._bad(f"{path}: {error!r}")
            return []
        # A person may follow a link to what another has deleted, or that this run does not have.
        if answer.status_code >= 500 or answer.status_code == 429:
            self._bad(f"{path}: {answer.status_code}")
            return []
        self._seen.pages.append(time.monotonic() - begun)
        return [
            link.replace("&amp;", "&") for link in LINK.findall(answer.text) if BROWSED.match(link)
        ]

    def _bad(self, what: str) -> None:
        self._seen.bad_pages.append(what)
        self._seen.pages.append(FAILED_PAGE_SECONDS)


# --- the server ---


class Memory(threading.Thread):
    """Watches the web process: its peak memory, and how often it was started again."""

    def __init__(self, served: Served) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.processes: set[int] = set()
        self._served = served
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.5):
            pid = web_process(self._served.process.pid)
            if pid is not None:
                self.processes.add(pid)
                self.peak = max(self.peak, peak_memory(pid))


@contextlib.contextmanager
def database(kind: str) -> Iterator[str]:
    """The address of an empty database; empty for SQLite in the data folder."""
    if kind == "sqlite":
        yield ""
        return
    programs = binaries()
    if programs is None:
        raise SystemExit("This needs PostgreSQL's initdb and pg_ctl.")
    with postgres(programs) as server:
        server.run("CREATE DATABASE attacked")
        yield server.url("attacked")


# --- the whole ---


@dataclass(frozen=True)
class Row:
    """One line of the result."""

    what: str
    measured: str
    wanted: str
    good: bool


def measure(served: Served, token: str, names: list[str], options: argparse.Namespace) -> list[Row]:
    """Runs attacks and honest clients for so many minutes."""
    seen, stop = Experience(), threading.Event()
    memory, health = Memory(served), Health(served.url, pause=0.5, source=options.address)
    memory.start()
    people = []
    with tempfile.TemporaryDirectory() as folder, health:
        for number in range(CLIENTS):
            own = Path(folder) / str(number)
            own.mkdir()
            client = HonestClient(served.url, token, options.address)
            people.append(Honest(number, client, own, seen, stop))
        spawn = multiprocessing.get_context("spawn")
        attackers = {
            name: spawn.Process(target=_run_attack, args=(name, served.url, token))
            for name in names
        }
        for attacker in attackers.values():
            attacker.start()
        for person in people:
            person.start()
        try:
            _wait(options.minutes * 60, seen, health)
        finally:
            stop.set()
            _end(attackers)
        until = time.monotonic() + LAST_UPLOAD_SECONDS
        for person in people:
            person.join(max(0.0, until - time.monotonic()))
        seen.bad_uploads += [f"{alive.name}: under way" for alive in people if alive.is_alive()]
    memory.stop.set()
    memory.join()
    return _rows(served, seen, memory, health)


def _wait(seconds: float, seen: Experience, health: Health) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(60.0, left))
        print(
            f"{len(seen.uploads)} uploads ({len(seen.bad_uploads)} bad), {len(seen.pages)} pages "
            f"({len(seen.bad_pages)} bad), p95 {percentile(seen.pages, 95):.2f} s, "
            f"slowest /healthz {health.slowest:.2f} s",
            flush=True,
        )


def _end(attackers: dict[str, multiprocessing.context.SpawnProcess]) -> None:
    for process in attackers.values():
        process.terminate()
    for process in attackers.values():
        process.join(10)
        if process.exitcode is None:  # it waits for an upload of its own, for example
            process.kill()


def _rows(served: Served, seen: Experience, memory: Memory, health: Health) -> list[Row]:
    for bad in (*seen.bad_uploads, *seen.bad_pages[:20]):
        print("bad:", bad, file=sys.stderr)
    p50, p95 = percentile(seen.pages, 50), percentile(seen.pages, 95)
    sent = len(seen.uploads) + len(seen.bad_uploads)
    longest = max(seen.uploads, default=0.0)
    restarts = len(memory.processes) - 1
    log = served.log.stat().st_size
    return [
        Row("honest uploads read", f"{len(seen.uploads)} of {sent}, longest {longest:.0f} s", "all",
            not seen.bad_uploads and bool(seen.uploads)),
        Row("pages", f"{len(seen.pages)}, {len(seen.bad_pages)} failed", "", True),
        Row("pages p50", f"{p50:.2f} s", "", True),
        Row("pages p95", f"{p95:.2f} s", f"< {MOST_P95_SECONDS:.0f} s", p95 < MOST_P95_SECONDS),
        Row("peak memory of the web process", f"{memory.peak / 1e6:.0f} MB",
            f"< {MOST_MEMORY / 1e6:.0f} MB", memory.peak < MOST_MEMORY),
        Row("slowest /healthz", f"{health.slowest:.2f} s, {health.failures} failed",
            f"< {MOST_HEALTH_SECONDS:.0f} s",
            health.slowest < MOST_HEALTH_SECONDS and not health.failures),
        Row("restarts of the web process", str(restarts), "0", restarts == 0),
        Row("log", f"{log / MIB:.2f} MiB", "", True),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.all_at_once")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--attacks", nargs="*", help="names of attacks; all by default")
    parser.add_argument("--address", default="127.0.0.2", help="where honest clients come from")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    names = options.attacks if options.attacks is not None else list(attacks())
    token = secrets.token_urlsafe(32)
    with database(options.database) as url, tempfile.TemporaryDirectory() as folder:
        env = {"INDUCTORSCOPE_TOKEN": token, "INDUCTORSCOPE_DATABASE_URL": url}
        with serve(Path(folder) / "data", "--workers", str(options.workers), env=env) as served:
            rows = measure(served, token, names, options)
            kept = Path(tempfile.gettempdir()) / "all_at_once.log"
            shutil.copy(served.log, kept)
    print(f"\n{', '.join(names)}: {options.minutes:g} minutes on {options.database}\n")
    print("| | measured | wanted |\n|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.measured} | {row.wanted} |{'' if row.good else ' ✗'}")
    print(f"\nThe server's log is {kept}.")
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
