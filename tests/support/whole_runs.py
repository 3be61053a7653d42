"""Runs that a test writes to the store at once."""

from inductorscope.analyze.time.costs import costs_of
from inductorscope.store.contents.fulltext import index_texts
from inductorscope.store.runs.costs import insert_costs, timed_graphs
from inductorscope.store.runs.draft import RunDraft
from inductorscope.store.runs.runs import (
    complete_run,
    fill_graphs,
    insert_artifacts,
    insert_graphs,
    insert_header,
    insert_profiles,
    name_traces,
    searchable,
)
from sqlalchemy.orm import Session


def insert_run(session: Session, draft: RunDraft) -> int:
    """Inserts all rows of a run; returns the bytes that it takes in the store."""
    insert_header(session, draft, reader=None)
    graph_ids = insert_graphs(session, draft.id, draft.graphs)
    artifact_ids = insert_artifacts(session, draft.id, draft.artifacts, graph_ids)
    index_texts(session, (item.digest for item in searchable(draft.artifacts)))
    fill_graphs(session, list(graph_ids.items()))
    name_traces(session, insert_profiles(session, draft.id, draft.profiles), artifact_ids)
    insert_costs(session, draft.id, costs_of(timed_graphs(session, draft.id)))
    return complete_run(session, draft)
