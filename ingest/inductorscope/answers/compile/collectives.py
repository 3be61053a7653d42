"""Which rank comes late to the collectives of a job, from the traces of its ranks."""

import msgspec
from sqlalchemy import select

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.ranks.lateness import Call, LateCall, Lateness, RankCalls, lateness
from inductorscope.analyze.time.facts import CollectiveCalls
from inductorscope.answers.compile.parts import RunStory
from inductorscope.fields import Prose
from inductorscope.formats.capture_facts import EAGER
from inductorscope.store.tables.models import Profile

MOST_SHOWN = 500
MOST_CALLS = 200_000
"""Most collectives that are compared, over all ranks."""


class LateRow(msgspec.Struct, frozen=True):
    """A collective, the rank that came last, and its compiles."""

    call: LateCall
    meanwhile: int | None
    """Number of the compile during which the others waited, from the last rank's log."""
    meanwhile_what: str
    compile: int | None
    """Number of the compile that called it, if a log has it."""
    differs: Prose
    """How the last rank compiled it differently from the first rank."""


class LateCollectives(msgspec.Struct, frozen=True):
    """The collectives that traces of several ranks have in common."""

    traces: int
    lateness: Lateness
    rows: list[LateRow]
    """The latest first."""
    more: int
    """Collectives that are not listed."""
    cut: bool
    """Whether a trace has more collectives than are compared."""
    further: int
    """Traces of other launches: a rank's traces after its first one, which are not compared."""


def late_collectives(
    run_story: RunStory, differences: dict[tuple[int | None, str | None], str]
) -> LateCollectives | None:
    """Returns None without traces of at least two ranks that have collectives. `differences`: the
    first difference of each rank and compile id."""
    query = (
        select(Profile.facts, Profile.label)
        .where(Profile.run_id == run_story.run.id)
        .order_by(Profile.label == EAGER, Profile.id)
    )
    by_rank: dict[int, CollectiveCalls] = {}
    further = 0
    for facts, label in run_story.session.execute(query):
        if facts.collectives is not None and facts.collectives.rank is not None:
            further += facts.collectives.rank in by_rank and label != EAGER
            by_rank.setdefault(facts.collectives.rank, facts.collectives)
    if len(by_rank) < 2:
        return None
    most = MOST_CALLS // len(by_rank)
    cut = any(found.cut or len(found.calls) > most for found in by_rank.values())
    found = lateness([_calls(rank, by_rank[rank], most) for rank in sorted(by_rank)])
    story = run_story.story_or_empty
    numbers = _numbers(story)
    rows = []
    for call in found.calls[:MOST_SHOWN]:
        meanwhile = _compiled_meanwhile(story, call)
        rows.append(
            LateRow(
                call,
                meanwhile.number if meanwhile else None,
                f"{meanwhile.id} {place_of(meanwhile)}" if meanwhile else "",
                numbers.get((call.last, call.compile_id)),
                differences.get((call.last, call.compile_id), "") if call.compile_id else "",
            )
        )
    more = len(found.calls) - len(rows)
    found.calls = []
    return LateCollectives(len(by_rank), found, rows=rows, more=more, cut=cut, further=further)


def _calls(rank: int, found: CollectiveCalls, most: int) -> RankCalls:
    calls = [
        Call(
            name=found.names[name],
            group=found.groups[group],
            compile_id=None if inside < 0 else found.compiles[inside],
            start_us=start,
            us=us,
            elements=None if elements < 0 else elements,
        )
        for name, group, inside, start, us, elements in found.calls[:most]
    ]
    return RankCalls(rank, found.host, found.base_ns, calls, found.on_device)


def place_of(compile_: Compile) -> str:
    """Returns the function that was compiled: 'forward (model.py:20)'."""
    file = (compile_.file or "").rpartition("/")[2]
    return f"{compile_.function} ({file}:{compile_.first_line})"


def _compiled_meanwhile(story: Story, call: LateCall) -> Compile | None:
    """Returns the compile that took up most of the time that the others waited."""
    began = call.arrived_us - call.late_us

    def waited(compile_: Compile) -> float:
        start, end = compile_.start_us or 0.0, compile_.end_us or 0.0
        return min(end, call.arrived_us) - max(start, began)

    theirs = [done for done in story.compiles if done.rank == call.last and waited(done) > 0]
    return max(theirs, key=waited, default=None)


def _numbers(story: Story) -> dict[tuple[int | None, str | None], int]:
    """Returns the numbers of compiles by rank and id; logs with the same content are read once."""
    found: dict[tuple[int | None, str | None], int] = {}
    for number, log in enumerate(story.logs):
        read = number if log.same_as is None else log.same_as
        for place, compile_ in enumerate(story.compiles):
            if compile_.log == read:
                found.setdefault((log.rank, compile_.id), place)
    return found
