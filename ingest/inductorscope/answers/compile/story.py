"""The Compile page: the story of a run's compiles in words, and the evidence for each part."""

from sqlalchemy.orm import Session

from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.compile.words import (
    compile_seconds,
    graph_count,
    overview,
    recompile_count,
    saved_seconds,
    work,
)
from inductorscope.answers.compile.parts import CompilesPage, RunStory, has_log, read_run_story
from inductorscope.answers.compile.rows import (
    BreakRow,
    CacheGroup,
    FailureRow,
    HistoryRow,
    RestartRow,
    SentencePart,
    SentenceRow,
    WorkRow,
    break_rows,
    cache_groups,
    failure_rows,
    history_rows,
    restart_rows,
    sentence_row,
    work_rows,
)
from inductorscope.answers.compile.shapes import forecast_text, shape_forecasts
from inductorscope.answers.missing import NotAnalysed, begin
from inductorscope.fields import Prose, view
from inductorscope.formats.call_shapes import read_shapes

STORY = "story of compiling"
"""The story's name among the analysed texts."""
MOST_PLACES = 50
MOST_HISTORIES = 50
MOST_FAILURES = 50


class CompilePage(CompilesPage, frozen=True):
    """The story of all compiles of a run."""

    reading: bool
    has_log: bool
    said: list[SentenceRow]
    compiles: int
    graphs: int
    functions: int
    seconds: float | None
    breaks: int
    recompiles: int
    hits: int
    asked: int
    saved_seconds: float
    ranks: int
    logs: int
    work: list[WorkRow]
    break_places: list[BreakRow]
    more_places: int
    histories: list[HistoryRow]
    more_histories: int
    failures: list[FailureRow]
    more_failures: int
    restarts: list[RestartRow]
    caches: list[CacheGroup]
    symbols: int
    exported: bool
    beyond: dict[str, int]
    unread: dict[str, int]
    dropped: int
    """Parts of the run's files that could not be read."""
    shapes: str
    """Calls to forecast."""
    shapes_problem: Prose
    forecasts: list[list[str]]
    """Which compile would serve these calls: for each function, in lines."""


def story_in_words(run_story: RunStory) -> list[SentenceRow]:
    """Returns the overview alone; empty without a story."""
    try:
        begin(STORY)
    except NotAnalysed as error:
        return [SentenceRow("note", "not analysed", [SentencePart(str(error), "", None, None)], "")]
    if run_story.story is None:
        return []
    return [sentence_row(run_story, sentence) for sentence in overview(run_story.story)]


def compile_page(session: Session, run_id: str, shapes: str = "") -> CompilePage:
    """Returns the page. `shapes`: calls to forecast, in the form that `formats.call_shapes`
    reads."""
    calls = read_shapes(shapes)
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    places, changed = break_places(story), histories(story)
    failed = [failure for failure in story.failures if not failure.restarted]
    hits = sum(cache.outcome == "hit" for cache in story.caches)
    asked = sum(cache.outcome in {"hit", "miss", "bypass"} for cache in story.caches)
    return view(
        CompilePage,
        run_story.page,
        reading=run_story.run.state == "reading",
        has_log=has_log(session, run_id),
        said=[sentence_row(run_story, sentence) for sentence in overview(story)],
        compiles=len(story.compiles),
        graphs=graph_count(story),
        functions=len({(done.file, done.function) for done in story.compiles if done.function}),
        seconds=compile_seconds(story),
        breaks=len(story.breaks),
        recompiles=recompile_count(story),
        hits=hits,
        asked=asked,
        saved_seconds=saved_seconds(story),
        ranks=len({log.rank for log in story.logs if log.rank is not None}),
        logs=len(story.logs),
        work=work_rows(work(story)),
        break_places=break_rows(run_story, places[:MOST_PLACES]),
        more_places=max(0, len(places) - MOST_PLACES),
        histories=history_rows(run_story, changed[:MOST_HISTORIES]),
        more_histories=max(0, len(changed) - MOST_HISTORIES),
        failures=failure_rows(run_story, failed[:MOST_FAILURES]),
        more_failures=max(0, len(failed) - MOST_FAILURES),
        restarts=restart_rows(run_story, [fault for fault in story.failures if fault.restarted]),
        caches=cache_groups(run_story, story.caches),
        symbols=len(story.symbols),
        exported=any(compile_.outcome == "exported" for compile_ in story.compiles),
        beyond=story.beyond,
        unread=story.unread,
        dropped=run_story.run.dropped_count,
        shapes=shapes,
        shapes_problem=calls.problem,
        forecasts=[list(forecast_text(row)) for row in shape_forecasts(run_story, calls.calls)],
    )
