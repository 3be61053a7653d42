"""Two texts of one stage."""

import re
import shutil
import tarfile
from pathlib import Path

import pytest
from inductorscope.answers.explorer.graph_texts import graph_links
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.formats.vocabulary import POST_GRAD
from inductorscope.reading.graphs.relink import relink
from inductorscope.store.tables.models import Graph, Links
from sqlalchemy import update

from tests.support.places import FIXTURES
from tests.support.readings import Database

ELSEWHERE = "# a line\n# and another\n"
"""What makes the lines of a graph other lines."""
NODE = re.compile(r" {8}(\w+): .* = torch\.ops\.")


@pytest.fixture
def recorded(tmp_path: Path) -> dict[str, Path]:
    """Folders of a forward and a backward for a GPU."""
    with tarfile.open(FIXTURES / "links" / "cuda-gpt-train.tar.xz") as packed:
        packed.extractall(tmp_path / "recorded", filter="data")
    codes = (tmp_path / "recorded").rglob("output_code.py")
    return {re.sub(r"model__0_|_\d\.\d", "", code.parent.name): code.parent for code in codes}


def links_of(db: Database, graph: Graph) -> GraphLinks:
    with db.sessions() as session:
        return graph_links(session, graph.id)


def misplaced(db: Database, graph: Graph) -> tuple[int, int]:
    """How many lines of the graph make a node, and how many of them are not linked with it."""
    (first, *_) = [text for text in db.artifacts_of(graph) if text.role == POST_GRAD]
    links = links_of(db, graph)
    stage = links.stages[POST_GRAD]
    linked = {
        (line, links.entities[entity].removeprefix("fx:"))
        for line, entity in zip(stage.lines, stage.entities, strict=True)
    }
    lines = enumerate(db.content(first.digest).decode().split("\n"), 1)
    made = [(number, found[1]) for number, line in lines if (found := NODE.match(line))]
    return len(made), len(set(made) - linked)


def test_two_texts_of_a_stage_share_no_links(
    db: Database, recorded: dict[str, Path], tmp_path: Path
) -> None:
    """The lines are those of the text that is shown, also when they are aligned later; and where
    the text has become another one, they have no links."""
    folder = shutil.copytree(recorded["forward"], tmp_path / "two")
    other = (folder / "fx_graph_transformed.py").read_text()
    (folder / "zz_renamed.py").write_text(ELSEWHERE + other)
    (graph,) = db.graphs(db.read(folder))
    assert misplaced(db, graph)[1] == 0
    with db.sessions.begin() as session:
        session.execute(update(Links).values(engine="0"))
    engine = db.sessions.kw["bind"]
    assert relink(engine).done == 1
    assert misplaced(db, graph)[1] == 0
    shown, hidden = [a for a in db.artifacts_of(graph) if a.role == POST_GRAD]
    with db.sessions.begin() as session:
        session.get_one(type(shown), shown.id).digest = hidden.digest
    stages = links_of(db, graph).stages
    assert POST_GRAD not in stages
    assert "code" in stages
