"""Queries of read-only sessions find only what the viewer may see, on both databases."""

import subprocess
import sys
from datetime import UTC, datetime

from inductorscope.answers.runs.runs import list_runs
from inductorscope.answers.search.search import search_code
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.database.engine import sessions
from inductorscope.store.people import add_person, remove_person
from inductorscope.store.projects import (
    add_member,
    add_project,
    move_runs,
    place_run,
    remove_member,
    without_place,
)
from inductorscope.store.runs.draft import RunDraft, artifact_of
from inductorscope.store.tables.models import Artifact, Blob, Run
from inductorscope.store.tables.people import Person
from inductorscope.store.who import VIEWER, Who
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import aliased

from tests.support.whole_runs import insert_run

NOW = datetime.now(UTC)
SHARED = content_of_bytes(b"shared = 1\n")


def seen(engine: Engine, who: Who | None) -> set[str]:
    """Names of the runs that somebody finds, the same in every way of asking."""
    before = VIEWER.set(who)
    try:
        with sessions(engine, read_only=True)() as session:
            names = set(session.scalars(select(Run.name)))
            other = aliased(Run)
            newest = session.scalar(select(func.max(Run.created_at)))
            of_file = select(Artifact.id).where(Artifact.digest == Blob.digest).exists()
            known = {run for run in "abc" if session.get(Run, run * 16) is not None}
            texts = search_code(session, "shared").texts
            found = {place.run.name for text in texts for place in (text.place, *text.elsewhere)}
            assert set(session.scalars(select(other.name))) == names == known
            assert set(session.scalars(select(Run.name).union(select(Run.name)))) == names
            assert {row.name for row in list_runs(session).runs} == names
            assert (newest is None) == (not names)
            assert (session.scalar(select(Blob.digest).where(of_file)) is None) == (not names)
            assert found == names
    finally:
        VIEWER.reset(before)
    return names


def test_a_session_of_the_web_process_without_a_viewer_sees_nothing(engine: Engine) -> None:
    with sessions(engine).begin() as session:
        insert_run(session, RunDraft("a" * 64, "a", [], "upload", NOW, 1))
    before = VIEWER.set(None)  # a command that this process ran may have left its owner
    with sessions(engine, read_only=True, for_viewers=True)() as session:
        assert session.scalars(select(Run.name)).all() == []
    VIEWER.reset(before)


def test_one_condition_decides(engine: Engine) -> None:
    write = sessions(engine)
    with write.begin() as session:
        for letter in "abc":
            draft = RunDraft(letter * 64, letter, [], "upload", NOW, 1)
            draft.artifacts = [artifact_of("source", "/home/me/model.py", SHARED, 1)]
            insert_run(session, draft)
        ada, grace = (add_person(session, name, "reader", NOW).id for name in ("ada", "grace"))
        project = add_project(session, "compilers", NOW).id
        place_run(session, "a" * 16, ada, None)
        move_runs(session, ["b" * 16], project)
        add_member(session, project, grace)
        assert without_place(session) == ["c" * 16]
    nobody = frozenset[str]()
    everybody = {
        None: set("abc"),
        Who("administrator", nobody, sees_all=True): set("abc"),
        Who("ada", nobody, ada): {"a"},
        Who("grace", nobody, grace): {"b"},
        Who("grace's token", nobody, grace, project): {"b"},
        Who("a token", nobody, None, project): {"b"},
        Who("another token", nobody, None, project + 1): set(),
        Who("a visitor", nobody): set(),
        Who("a guest", nobody, links=("x" * 43,)): set(),
    }
    for who, names in everybody.items():
        assert seen(engine, who) == names, who
    with write.begin() as session:
        remove_member(session, project, grace)
        remove_person(session, session.get_one(Person, ada))
        assert without_place(session) == ["a" * 16, "c" * 16]
        assert add_person(session, "eve", "reader", NOW).id not in (ada, grace)
    assert seen(engine, Who("grace", nobody, grace)) == set()
    assert seen(engine, Who("ada", nobody, ada)) == set()


def test_tables_that_nobody_imported_yet_are_restricted() -> None:
    ask = (
        "from inductorscope.store.who import NOBODY, Base, _restrictions\n"
        "of = {option.entity.class_.__name__ for option in _restrictions(NOBODY)}\n"
        "import inductorscope.store.tables.all\n"
        "print(sorted({mapper.class_.__name__ for mapper in Base.registry.mappers\n"
        "              if hasattr(mapper.class_, 'run_id')} - of))"
    )
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['Place', 'Share']"
