"""Merges the graphs of debug folders and of logs, so that each graph appears once."""

import re
from collections import defaultdict
from pathlib import Path

from inductorscope.formats.vocabulary import (
    CODE,
    IR_POST,
    IR_PRE,
    KERNEL_STACKS,
    POST_GRAD,
    PROVENANCE,
    PROVENANCE_KERNELS,
    PROVENANCE_NODES,
    READABLE,
)
from inductorscope.intake.files import File
from inductorscope.intake.graphs import GraphFolder, unique_slug
from inductorscope.intake.recognise import Intake
from inductorscope.reading.graphs.texts_of import (
    GraphSource,
    GraphText,
    code_key,
    nodes_key,
    text_of,
)
from inductorscope.reading.notes import Notes

BORROWED = (READABLE, POST_GRAD, PROVENANCE, PROVENANCE_KERNELS, PROVENANCE_NODES,
            KERNEL_STACKS, IR_PRE, IR_POST)  # fmt: skip
"""Roles of texts that belong to a code, no matter which compile produced it."""

_PID = re.compile(r"-pid_(\d+)$")


def folder_sources(intake: Intake) -> list[GraphSource]:
    files = {file.absolute: file for file in intake.files}
    return [_of_folder(graph, files) for graph in intake.graphs]


def _of_folder(graph: GraphFolder, files: dict[Path, File]) -> GraphSource:
    source = GraphSource(name=graph.name, slug=graph.slug, process=graph.process, folder=graph.name)
    for role, path in graph.files.items():
        file = files[path]
        label = f"{graph.slug}/{path.name}"
        source.texts[role] = GraphText(label, file.stored_digest, file.size, path.read_bytes, file)
    if graph.kernels:
        wrapper = graph.files[CODE]
        source.texts[CODE] = _put_together([*graph.kernels, wrapper], files)
    return source


def _put_together(paths: list[Path], files: dict[Path, File]) -> GraphText:
    """Joins AOTInductor's kernels and their wrapper into one text, in the order of Python's output
    code."""
    parts = [b"// %s\n%s\n" % (path.name.encode(), path.read_bytes()) for path in paths]
    wrapper = files[paths[-1]].path.removesuffix(".cpp")
    return text_of(parts, f"{paths[-1].name} and its kernels", f"{wrapper}.with_kernels.cpp")


def merge(folders: list[GraphSource], logged: list[GraphSource], notes: Notes) -> list[GraphSource]:
    """Makes one graph of a code that is in a folder and in a log; each supplies what the other
    lacks.

    A folder has at most one partner: the same code may have been compiled twice. A folder without a
    code (AOTInductor's, or of a compile that failed) is recognised by its nodes.
    """
    by_code: dict[str, list[GraphSource]] = defaultdict(list)
    by_nodes: dict[str, list[GraphSource]] = defaultdict(list)
    by_aot: dict[str | None, list[GraphSource]] = defaultdict(list)
    for graph in folders:
        by_aot[graph.aot_id].append(graph)
        code, nodes = graph.texts.get(CODE), graph.texts.get(POST_GRAD)
        if code is not None:
            by_code[code_key(code)].append(graph)
        elif nodes is not None:
            by_nodes[nodes_key(nodes)].append(graph)
    rest: list[GraphSource] = []
    for graph in logged:
        code = graph.texts.get(CODE)
        partner = None
        if code is not None:
            # Without folders, no code needs to be read for this.
            alike = by_code.get(code_key(code), []) if by_code else []
            partner = _partner(graph, alike)
            if partner is None and by_aot:
                partner = _same_aot_id(graph, by_aot, logged, notes)
        nodes = graph.texts.get(POST_GRAD)
        if partner is None and by_nodes and nodes is not None:
            partner = _partner(graph, by_nodes.get(nodes_key(nodes), []))
        if partner is None:
            rest.append(graph)
        else:
            _join(partner, graph)
    _borrow([*folders, *rest], notes)
    taken = {graph.slug.lower() for graph in folders}
    for graph in rest:
        graph.name = _name(graph)
        graph.slug = unique_slug(graph.name, taken)
    return [*folders, *rest]


def _borrow(graphs: list[GraphSource], notes: Notes) -> None:
    """Copies graphs to a code from a cache, which is logged without its graphs, from a compile of
    the same code."""
    made: dict[str, GraphSource] = {}
    for graph in graphs:
        code = graph.texts.get(CODE)
        if code is not None and POST_GRAD in graph.texts:
            made.setdefault(code.digest, graph)
    for graph in graphs:
        code = graph.texts.get(CODE)
        maker = None if code is None else made.get(code.digest)
        if code is None or maker is None or POST_GRAD in graph.texts:
            continue
        for role in BORROWED:
            if role in maker.texts:
                graph.texts.setdefault(role, maker.texts[role])
        notes.add(
            code.label,
            "the log has no graphs for this code, which came from a cache; taken from the compile "
            "that made the same code",
            kind="guessed",
            example=maker.texts[CODE].label,
        )


def _partner(graph: GraphSource, candidates: list[GraphSource]) -> GraphSource | None:
    """Returns the matching folder, preferably one of the same process."""
    free = [folder for folder in candidates if not folder.position[0]]
    for folder in free:
        found = _PID.search(folder.process or "")
        if found and int(found.group(1)) == graph.pid:
            return folder
    return free[0] if free else None


def _same_aot_id(
    graph: GraphSource,
    by_aot: dict[str | None, list[GraphSource]],
    logged: list[GraphSource],
    notes: Notes,
) -> GraphSource | None:
    """Returns a folder with the same AOT id but different code, if the id is unique on both
    sides."""
    folders = by_aot.get(graph.aot_id, [])
    if graph.aot_id is None or len(folders) != 1 or folders[0].position[0]:
        return None
    if any(item.aot_id == graph.aot_id for item in logged if item is not graph):
        return None
    notes.add(
        graph.texts[CODE].label,
        "taken for the graph of the debug folder that bears the same AOT id; the codes differ",
        kind="guessed",
        example=folders[0].slug,
    )
    return folders[0]


def _join(folder: GraphSource, logged: GraphSource) -> None:
    folder.position = logged.position
    folder.compile_id = logged.compile_id
    folder.rank = logged.rank
    folder.pid = logged.pid
    folder.direction = logged.direction
    for role, text in logged.texts.items():
        folder.texts.setdefault(role, text)


def _name(graph: GraphSource) -> str:
    """Returns a name such as `0_forward [0/1]`, with several ranks `rank 3: 0_forward [0/1]`."""
    name = graph.aot_id or graph.direction or ("graph" if CODE in graph.texts else "no code")
    if graph.compile_id is not None:
        name = f"{name} [{graph.compile_id}]"
    return name if graph.rank is None else f"rank {graph.rank}: {name}"
