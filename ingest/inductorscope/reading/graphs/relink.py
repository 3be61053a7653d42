"""Links stored texts again: graphs linked by an older engine, and lines whose alignment was
postponed.

It is safe to repeat and to interrupt: graphs with current links are skipped, results are stored
graph by graph, and the run stays readable meanwhile.
"""

from contextlib import closing

import msgspec
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.costs import costs_of
from inductorscope.formats.vocabulary import LINE_RECORD
from inductorscope.progress import Progress, silent
from inductorscope.reading.graphs.apart import read_all, start_server
from inductorscope.reading.graphs.graph import line_records
from inductorscope.reading.graphs.task import Given, Outcome, Task, worth_reading
from inductorscope.reading.texts import LARGEST_TEXT
from inductorscope.store.contents.texts import packed_text, read_blob
from inductorscope.store.database.engine import Sessions, bulk_write, sessions
from inductorscope.store.runs.relinked import count_stored, mark_unaligned, outdated, renew_links
from inductorscope.store.tables.models import Artifact, Graph, Links

ALONE = 3_000_000
"""From this many bytes of texts on, graphs are aligned one at a time, because nobody waits for
them."""
MOST_FAILED = 3
"""After this many failed graphs of a run, another run gets its turn."""


class Relinked(msgspec.Struct):
    """The result of one pass."""

    done: int = 0
    failed: int = 0
    """Graphs that keep their old links."""
    stories: int = 0
    """Compile stories that were gathered again."""


class _Text(msgspec.Struct, frozen=True):
    role: str
    path: str
    digest: str
    size: int


class _Alike(msgspec.Struct):
    """Graphs with the same texts, which are read once."""

    graphs: list[int]
    texts: list[_Text]
    record: dict[str, object] | None
    """The capture's record of the lines of this graph."""

    @property
    def size(self) -> int:
        return sum(text.size for text in self.texts)


def relink(
    engine: Engine,
    workers: int = 0,
    run: str | None = None,
    progress: Progress = silent,
) -> Relinked:
    """Renews all links that are not current, of one run or of all, the newest graphs first."""
    result = Relinked()
    if workers:
        start_server()
    reading, writing = sessions(engine, read_only=True), sessions(engine)
    turns = _Turns()
    while True:
        with reading() as session:
            found = turns.next(outdated(session, run))
            alike = [] if found is None else _alike(session, *found, result)
        if found is None:
            return result
        run_id, graphs = found
        turns.tried.update(set(graphs) - {graph for work in alike for graph in work.graphs})
        done = 0
        failed = result.failed
        progress("Aligning lines", 0, len(graphs), "graphs")
        tasks = (_task(reading, work) for work in alike)
        alone = any(work.size >= ALONE for work in alike)
        outcomes = read_all(tasks, min(workers, 1) if alone else workers)
        with closing(outcomes):
            for number, outcome in outcomes:
                some = alike[number].graphs
                with bulk_write(engine), writing.begin() as session:
                    _store(session, some, outcome, result)
                turns.tried.update(some)
                done += len(some)
                progress("Aligning lines", done, len(graphs), "graphs")
                if result.failed - failed >= MOST_FAILED:
                    turns.last.add(run_id)
                    break
        with bulk_write(engine), writing.begin() as session:
            count_stored(session, run_id)


class _Turns(msgspec.Struct):
    """Decides which run comes next. Each graph is tried once."""

    tried: set[int] = msgspec.field(default_factory=set)
    last: set[str] = msgspec.field(default_factory=set)
    """Runs with graphs that cannot be aligned. They come last, because each such graph may take
    minutes."""

    def next(self, rows: list[tuple[str, int]]) -> tuple[str, list[int]] | None:
        """Returns the newest run with graphs to link, and these graphs."""
        left: dict[str, list[int]] = {}
        for of, graph in rows:
            if graph not in self.tried:
                left.setdefault(of, []).append(graph)
        first = next((of for of in left if of not in self.last), next(iter(left), None))
        return None if first is None else (first, left[first])


def _alike(session: Session, run: str, graphs: list[int], result: Relinked) -> list[_Alike]:
    """Groups graphs with the same texts, the longest first, so that no process ends up with a long
    one at the end."""
    records = _records(session, run)
    query = select(Artifact.graph_id, Artifact.role, Artifact.path, Artifact.digest, Artifact.size)
    texts: dict[int, dict[str, _Text]] = {graph: {} for graph in graphs}
    wanted = set(graphs)
    artifacts = query.where(Artifact.run_id == run).order_by(Artifact.id)
    for graph, role, path, digest, size in session.execute(artifacts):
        if graph in wanted:
            texts[graph].setdefault(role, _Text(role, path, digest, size))  # the one that is shown
    found: dict[object, _Alike] = {}
    known = select(Graph.id, Graph.name, Links.coverage).join(Links, Links.graph_id == Graph.id)
    for graph, name, coverage in session.execute(known.where(Graph.run_id == run)):
        if graph not in wanted:
            continue
        record = records.get(name)
        if record is None and (coverage or {}).get("lines_exact"):
            result.failed += 1  # inferred links must not replace exact ones
            continue
        some = [texts[graph][role] for role in sorted(worth_reading(texts[graph]))]
        key: object = graph if record else tuple((text.role, text.digest) for text in some)
        found.setdefault(key, _Alike([], some, record)).graphs.append(graph)
    return sorted(found.values(), key=lambda group: -group.size)


def _records(session: Session, run: str) -> dict[str, dict[str, object]]:
    """Returns the capture's records of lines, by the name of the graph."""
    query = select(Artifact.digest).where(Artifact.run_id == run, Artifact.role == LINE_RECORD)
    found: dict[str, dict[str, object]] = {}
    for digest in session.scalars(query):
        found |= line_records(read_blob(session, digest) or b"")
    return found


def _task(reading: Sessions, alike: _Alike) -> Task:
    """Returns the task as it was when the graph was first read."""
    name = alike.texts[0].path if alike.texts else ""
    task = Task(name, {}, alike.record)
    with reading() as session:
        for text in alike.texts:
            # Texts that are too long now were too long then.
            if text.size <= LARGEST_TEXT:
                own = packed_text(session, text.digest)
                task.texts[text.role] = Given(text.path, text.digest, None, text.size, packed=own)
    return task


def _store(session: Session, graphs: list[int], outcome: Outcome, result: Relinked) -> None:
    content = outcome.content
    if content.links is None or outcome.failed:  # fewer texts must not replace better links
        mark_unaligned(session, graphs, outcome.failed)
        result.failed += len(graphs)
    else:
        renew_links(session, graphs, content.links, content.kernels, content.nodes, costs_of)
        result.done += len(graphs)
