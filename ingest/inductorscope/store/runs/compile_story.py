"""Stores the story of a run's compiles: one part with what every page needs, and the phases of all
compiles in pieces of some thousands."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import STORY_VERSION, Compile, Story
from inductorscope.analyze.compile.phases import Chunk
from inductorscope.analyze.compile.words import recompile_count
from inductorscope.store.contents.packing import compressor, decompressed
from inductorscope.store.database import storable
from inductorscope.store.tables.models import COMPLETE, CompileStory, Run

STORY = f"story/{STORY_VERSION}"
"""Names the version, so that an outdated story is seen without reading it."""
TIMELINE, PHASES = "timeline", "phases/"
LEVEL = 6

Parts = dict[str, tuple[int, bytes]]
"""Name of a part → number of its items, and the packed part."""


class Counts(msgspec.Struct, frozen=True):
    """Counts of a story that are also stored with its run."""

    graph_breaks: int | None = None
    recompiles: int | None = None


_story = msgspec.json.Decoder(Story)
_spans = msgspec.json.Decoder(Chunk)


def pack_story(story: Story, chunks: Sequence[Chunk]) -> Parts:
    """Packs a story with the chunks of `lay_out_phases`, of which the last is the timeline."""
    parts = {STORY: (len(story.compiles), _packed(story))}
    for number, chunk in enumerate(chunks[:-1]):
        parts[f"{PHASES}{number}"] = (len(chunk), _packed(chunk))
    parts[TIMELINE] = (len(chunks[-1]), _packed(chunks[-1]))
    return parts


def counts_of(story: Story, *, complete: bool) -> Counts:
    """Counts breaks and recompiles. `complete`: whether the log has all records. A TORCH_LOGS text
    without graph breaks may just have been recorded without asking for them."""
    none = 0 if complete else None
    return Counts(len(story.breaks) or none, recompile_count(story) or none)


def insert_story(session: Session, run_id: str, parts: Parts) -> None:
    rows = [
        {"run_id": run_id, "part": part, "count": count, "payload": payload}
        for part, (count, payload) in parts.items()
    ]
    session.execute(insert(CompileStory), rows)


def replace_story(session: Session, run_id: str, parts: Parts, counts: Counts) -> bool:
    """Replaces a run's story; returns False if the run was deleted."""
    run = session.get(Run, run_id)
    if run is None:
        return False
    run.graph_breaks, run.recompiles = counts.graph_breaks, counts.recompiles
    session.execute(delete(CompileStory).where(CompileStory.run_id == run_id))
    insert_story(session, run_id, parts)
    return True


def outdated_stories(session: Session, run: str | None = None) -> list[str]:
    """Returns the complete runs whose story another version collected, newest first."""
    todays = select(CompileStory.run_id).where(CompileStory.part == STORY)
    query = (
        select(Run.id)
        .join(CompileStory, CompileStory.run_id == Run.id)
        .where(CompileStory.part == TIMELINE, Run.state == COMPLETE, Run.id.not_in(todays))
        .order_by(Run.created_at.desc())
    )
    return list(session.scalars(query if run is None else query.where(Run.id == run)))


def load_story(session: Session, run_id: str) -> Story | None:
    """Loads a story; returns None if there is no log, or if another version collected the story."""
    plain = _plain(session, run_id, STORY)
    if plain is None:
        return None
    try:
        return _story.decode(plain)
    except msgspec.ValidationError:
        return None


def timeline(session: Session, run_id: str) -> Chunk:
    """Returns the longest phases of the whole run."""
    plain = _plain(session, run_id, TIMELINE)
    return [] if plain is None else _spans.decode(plain)


def phases_of(session: Session, run_id: str, compile_: Compile) -> Chunk:
    """Returns all phases of one compile, parents before children."""
    chunk, first, count = compile_.spans
    plain = _plain(session, run_id, f"{PHASES}{chunk}") if count else None
    return [] if plain is None else _spans.decode(plain)[first : first + count]


def _packed(value: object) -> bytes:
    return compressor(LEVEL).compress(storable.json_text(value).encode())


def _plain(session: Session, run_id: str, part: str) -> bytes | None:
    stored = session.get(CompileStory, (run_id, part))
    return None if stored is None else decompressed(stored.payload)
