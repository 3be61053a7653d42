"""Compares two stored texts of a run line by line."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.difference import Difference, difference
from inductorscope.analyze.ranks.differences import plain
from inductorscope.answers.missing import NotAnalysed, NotHere, begin
from inductorscope.answers.parts import RunName, run_of
from inductorscope.fields import Hidden, Prose
from inductorscope.formats.log.kinds import name_of
from inductorscope.formats.sizes import MIB
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import Artifact, LogEntry

LARGEST = 4 * MIB
MOST_LINES = 60_000


class DiffSide(msgspec.Struct, frozen=True):
    """One of the two texts."""

    artifact: Hidden[int]
    what: Prose
    """Kind of the record, or the file's name."""
    compile_id: str | None
    rank: int | None
    path: str
    lines: int | None
    size: int


class DiffPage(msgspec.Struct, frozen=True):
    """Two texts of a run and their difference."""

    run: RunName
    before: DiffSide
    after: DiffSide
    difference: Difference | None
    why_not: Prose
    plain: bool
    """Whether addresses and temporary names were ignored."""


def diff_page(
    session: Session, run_id: str, a: int, b: int, *, without_noise: bool = False
) -> DiffPage:
    """Compares two stored files; raises NotHere if the run lacks one."""
    run = run_of(session, run_id)
    before, after = _side(session, run_id, a), _side(session, run_id, b)
    if before is None or after is None:
        raise NotHere(
            f"Run {run_id} does not have both files {a} and {b}.",
            "Choose two texts on the page of a compile.",
            run_id,
        )
    difference, why = compared(session, a, b, without_noise=without_noise)
    return DiffPage(RunName(run.id, run.name), before, after, difference, why, plain=without_noise)


def compared(
    session: Session, a: int, b: int, *, without_noise: bool
) -> tuple[Difference | None, str]:
    """Returns the difference, or why there is none."""
    try:
        begin(f"files {a} and {b}")
    except NotAnalysed as error:
        return None, str(error)
    texts = []
    for artifact in (a, b):
        row = session.get_one(Artifact, artifact)
        if row.size > LARGEST:
            return None, (
                f"One of the texts has {row.size / 1e6:.1f} MB; only texts up to "
                f"{LARGEST // 2**20} MiB are compared here. Download both and compare them with "
                "another tool."
            )
        lines = text_of(session, row.digest).split("\n")
        if len(lines) > MOST_LINES:
            return (
                None,
                f"One of the texts has {len(lines):,} lines; only texts up to {MOST_LINES:,} "
                "lines are compared.",
            )
        texts.append(lines)
    left, right = texts
    keys = None
    if without_noise:
        short = {line: plain(line) for line in {*left, *right}}  # most lines are in both texts
        keys = ([short[line] for line in left], [short[line] for line in right])
    return difference(left, right, keys=keys), ""


def _side(session: Session, run_id: str, artifact: int) -> DiffSide | None:
    stored = session.get(Artifact, artifact)
    if stored is None or stored.run_id != run_id:
        return None
    entry = session.scalars(
        select(LogEntry).where(LogEntry.run_id == run_id, LogEntry.artifact_id == artifact).limit(1)
    ).first()
    what = stored.path.rpartition("/")[2]
    if entry is not None:
        what = name_of(entry.kind, entry.name)
    return DiffSide(
        artifact=artifact, what=what, compile_id=None if entry is None else entry.compile_id,
        rank=None if entry is None else entry.rank, path=stored.path, lines=stored.line_count,
        size=stored.size,
    )  # fmt: skip
