"""Facts about kernels that are stored with a graph: the same as its texts give."""

from pathlib import Path

import pytest
from inductorscope.analyze.bytes.graph import read_graph
from inductorscope.analyze.fusing.facts import facts_of
from inductorscope.answers.explorer.graph_texts import graph_texts
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD
from inductorscope.store.runs.nodes import stored_facts
from inductorscope.store.tables.models import Graph
from sqlalchemy import select

from tests.support.readings import Database


@pytest.mark.parametrize("folder", ["cpu-ops-zoo", "cuda-foo1", "dynamic", "aoti-cpu"])
def test_stored_facts_are_those_of_the_texts(db: Database, fixtures: Path, folder: str) -> None:
    db.read(fixtures / folder)
    with db.sessions() as session:
        graphs = session.scalars(select(Graph)).all()
        assert graphs
        for graph in graphs:
            texts = graph_texts(session, graph.id).read(session)
            read = read_graph(texts.get(CODE, ""), texts.get(IR_POST), texts.get(POST_GRAD))
            facts = facts_of(read, ir=IR_POST in texts)
            assert facts.works
            assert stored_facts(session, graph.id) == facts
