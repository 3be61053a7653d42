"""Stores all graphs of an upload and their texts before any of them is parsed."""

from inductorscope.fields import view
from inductorscope.formats.vocabulary import CODE, FX_RUNNABLE, POST_GRAD, READABLE
from inductorscope.reading.context import Reading
from inductorscope.reading.graphs.graph import GraphRead, direction_of
from inductorscope.reading.graphs.merging import folder_sources, merge
from inductorscope.reading.graphs.texts_of import GraphSource, text_of
from inductorscope.reading.logs.logs import LogFacts
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.runs.draft import ArtifactDraft, GraphDraft, artifact_of


def lay_out(reading: Reading, logs: LogFacts) -> list[GraphRead]:
    """Stores the graphs and their texts; from then on they can be opened."""
    sources = merge(folder_sources(reading.intake), logs.graphs, reading.notes)
    if not sources and (code := reading.compiled.code()):
        texts = {CODE: text_of([code], "the compiled kernels", "kernels.py")}
        sources = [GraphSource("compiled kernels", "compiled-kernels", texts=texts)]
    graphs = sorted(map(_graph, sources), key=GraphRead.order)
    reading.run.graphs = [graph.draft for graph in graphs]
    by_slug = {graph.source.slug: graph.draft for graph in graphs}
    made = [artifact for graph in graphs for artifact in _put_together(graph)]
    files = reading.files.of_graphs(by_slug, reading.progress)
    logged = [artifact for graph in graphs for artifact in _logged(graph)]
    reading.writer.add_graphs(reading.run.graphs, [*made, *files, *logged])
    return graphs


def _graph(source: GraphSource) -> GraphRead:
    runnable = source.texts.get(FX_RUNNABLE)
    if runnable is not None and not source.texts.keys() & {READABLE, POST_GRAD}:
        path = f"{(runnable.path or runnable.label).removesuffix('.py')}.graph.py"
        source.texts[READABLE] = text_of([runnable.read()], f"the graph in {runnable.label}", path)
    draft = GraphDraft(source.slug, source.name, direction_of(source.aot_id, source))
    draft.aot_id, draft.compile_id = source.aot_id, source.compile_id
    return GraphRead(source, draft)


def _put_together(graph: GraphRead) -> list[ArtifactDraft]:
    """Returns the texts that combine several files."""
    return [
        artifact_of(role, text.path, content_of_bytes(text.read()), text.lines,
                    derived=True, graph=graph.draft)
        for role, text in graph.source.texts.items()
        if text.put_together
    ]  # fmt: skip


def _logged(graph: GraphRead) -> list[ArtifactDraft]:
    """Returns the payloads of logs, whose content is stored with their log."""
    return [
        view(ArtifactDraft, text, role=role, content=None, line_count=text.lines, graph=graph.draft)
        for role, text in graph.source.texts.items()
        if text.file is None and not text.put_together
    ]
