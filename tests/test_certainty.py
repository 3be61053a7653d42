"""How certain a link is: edges, chain, chip, reasons, annotated code, coverage and API agree.

The explorer's modules answer for random selections of real graphs, in Node, and are compared with
each other and with Python.
"""

import random
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inductorscope.correlate.annotate.code import annotate, node_texts
from inductorscope.correlate.directory import kernel_lines, read_texts
from inductorscope.correlate.explain import Explainer
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.certainty import (
    certainty_of_line,
    certainty_of_nodes,
    nodes_of_lines,
)
from inductorscope.correlate.links.model import Confidence, GraphLinks
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.formats.code.output_code import OutputCode, parse_output_code
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.vocabulary import CODE
from msgspec.structs import replace

from tests.support.bundled import answer, bundled
from tests.support.places import FIXTURES, SHARED

SELECTIONS = 60
FX_STEP, KERNEL_STEP, OTHER_WORDS = "FX post-grad", "Kernel lines", ("Dynamo", "Time a step")


@dataclass
class Graph:
    texts: GraphTexts
    code: OutputCode
    links: GraphLinks
    nodes: dict[int, dict[str, int]]
    """Line of the code → its FX nodes and their certainties."""


def _recorded(texts: GraphTexts, links: GraphLinks) -> dict[str, Any]:
    """A record of every second call, as a capture makes it, from the inferred links."""
    stage = links.stages[CODE]
    lines: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    nodes: dict[tuple[int, int], str] = {}
    columns = list(zip(stage.lines, stage.entities, stage.confidence, stage.call, strict=True))
    for line, entity, known, call in columns:
        name = links.entities[entity]
        if name.startswith("fx:") and call >= 0 and known == Confidence.inferred:
            nodes[line, call] = name.removeprefix("fx:")
    for line, entity, _, call in columns:
        name = links.entities[entity]
        if name.startswith("op:") and call >= 0:
            entry = ("", name.removeprefix("op:"), nodes.get((line, call)), None)
            lines[links.entities[call]][str(line)].append(entry)
    nth: dict[str, int] = defaultdict(int)
    calls = []
    for number, site in enumerate(parse_output_code(texts.code or "").calls):
        nth[site.kernel] += 1
        own = lines.get(f"call:{site.kernel}:{site.handle}")
        if own and not number % 2:
            calls.append({"kernel": site.kernel, "nth": nth[site.kernel], "lines": own})
    return {"calls": calls}


def _graph(code: Path, *, recorded: bool) -> Graph:
    texts = read_texts(code)
    links = graph_links(texts)
    if recorded:
        texts = replace(texts, line_record=_recorded(texts, links))
        links = graph_links(texts)
        assert links.coverage.lines_exact
    return Graph(texts, parse_output_code(texts.code or ""), links, nodes_of_lines(links))


def _codes() -> list[Path]:
    roots = [FIXTURES / "cuda-foo1", FIXTURES / "cpu-ops-zoo"]
    if (SHARED / "traces").is_dir():
        roots += [SHARED / "traces" / name for name in ("cuda-gpt-train", "cuda-dynamic")]
    return [code for root in roots for code in sorted(root.rglob("output_code.py"))[:1]]


@pytest.fixture(
    scope="module",
    params=[(code, recorded) for code in _codes() for recorded in (False, True)],
    ids=lambda param: f"{param[0].parts[-6]}-{param[0].parent.name}-{param[1]}",
)
def graph(request: pytest.FixtureRequest) -> Graph:
    code, recorded = request.param
    return _graph(code, recorded=recorded)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundled("selections", tmp_path_factory.mktemp("selections"))


def _picture(graph: Graph) -> dict[str, Any]:
    """What the explorer gets beside the links, as far as the chain needs it."""
    calls = defaultdict(list)
    for call in graph.code.calls:
        nodes = sorted(graph.nodes.get(call.line, {}))
        calls[call.kernel].append(
            {
                "handle": call.handle, "line": call.line, "permalink": "", "time_us": None,
                "measured": False, "fx": [name.removeprefix("fx:") for name in nodes],
            }
        )  # fmt: skip
    spans = {kernel.name: (kernel.first_line, kernel.last_line) for kernel in graph.code.kernels}
    kernels = []
    for name, of_kernel in calls.items():
        first, last = spans.get(name, (None, None))
        kernels.append(
            {"name": name, "first": first, "last": last, "time_us": None, "calls": of_kernel}
        )
    sources = [key.removeprefix("source:") for key in graph.links.stages if "source:" in key]
    files = [{"path": path, "lines": 9} for path in sources]
    return {
        "stages": [{"id": "source", "title": "Source", "files": files}],
        "kernels": kernels, "graph_time_us": None,
    }  # fmt: skip


def _selections(graph: Graph) -> list[dict[str, Any]]:
    chosen = random.Random(7)
    result = []
    lines = [(key, line) for key, stage in graph.links.stages.items() for line in set(stage.lines)]
    computing = [(CODE, line) for line in graph.nodes]
    plain = [
        (CODE, line)
        for kernel in graph.code.kernels
        for line in range(kernel.body_first, kernel.body_last + 1)
        if line not in graph.nodes
    ]
    for places in (lines, computing, plain):
        for key, line in chosen.sample(sorted(places), min(SELECTIONS, len(places))):
            result.append({"key": key, "line": line, "entity": None})
    names = [name for name in graph.links.entities if not name.startswith("src:")]
    sampled = chosen.sample(names, min(SELECTIONS, len(names)))
    return [*result, *({"key": "", "line": 0, "entity": name} for name in sampled)]


def _level(classes: str) -> int:
    found = re.search(r"known-(\w+)", classes)
    assert found, classes
    return Confidence[found.group(1)]


def test_what_the_explorer_shows_agrees(graph: Graph, script: Path) -> None:
    selections = _selections(graph)
    asked = {
        "links": msgspec.to_builtins(graph.links),
        "picture": _picture(graph),
        "selections": selections,
    }
    of_nodes = certainty_of_nodes(graph.nodes)
    for selection, shown in zip(selections, answer(script, asked), strict=True):
        if shown is None:
            continue
        edges = {
            key: {int(line): _level(classes) for line, classes in lines.items()}
            for key, lines in shown["edges"].items()
        }
        reasons = {
            key: {int(line): known for line, known in lines.items()}
            for key, lines in shown["reasons"].items()
        }
        assert edges == reasons, selection
        steps = {step["title"].partition(" in ")[0]: step["links"] for step in shown["steps"]}
        for title, links in steps.items():
            for link in links:
                lit = edges.get(link["key"], {}).get(link["line"])
                if title not in OTHER_WORDS and title != "Wrapper calls" and lit:
                    assert link["known"] == lit, (selection, title, link)
        chip, entity = shown["chip"], selection["entity"]
        best = chip["best"] if chip else 0
        if selection["key"] == CODE and selection["line"] in graph.nodes:
            assert best == certainty_of_line(graph.nodes[selection["line"]]), selection
        elif entity in of_nodes:
            assert best == of_nodes[entity], selection
        elif selection["key"] == CODE and not steps[FX_STEP] and steps[KERNEL_STEP]:
            assert best == Confidence.kernel, selection
        calls = [link["known"] for link in steps["Wrapper calls"]]
        if calls and entity in of_nodes:
            assert max(calls) == of_nodes[entity], selection


def test_annotated_code_and_the_list_of_links_agree_with_the_coverage(graph: Graph) -> None:
    listed = {
        line["line"]: line
        for kernel in kernel_lines(graph.texts.code or "", graph.links)
        for line in kernel["lines"]  # type: ignore[attr-defined]
    }
    for number, line in listed.items():
        assert line["confidence"] == certainty_of_line(graph.nodes.get(number, {})).name
        assert all(
            graph.nodes[number][f"fx:{name}"] == Confidence[line["confidence"]]
            for name in line["fx"]
        )
    nodes = node_texts(graph.texts.post_grad or "", parse_fx(graph.texts.post_grad or ""))
    text = annotate(graph.texts.code or "", graph.links, nodes)
    head = re.search(r"(\d+) lines are known exactly, (\d+) inferred", text)
    assert head
    known = [certainty_of_line(of_line) for of_line in graph.nodes.values()]
    assert int(head.group(1)) <= known.count(Confidence.exact)
    assert int(head.group(2)) <= known.count(Confidence.inferred)
    assert bool(int(head.group(1))) == bool(graph.links.coverage.lines_exact)


def test_reasons_are_as_certain_as_their_links(graph: Graph) -> None:
    if graph.texts.line_record is not None:
        pytest.skip("recorded links need no reason")
    explainer = Explainer(graph.texts)
    stage = graph.links.stages[CODE]
    columns = zip(stage.lines, stage.entities, stage.confidence, stage.call, strict=True)
    known = {
        (line, graph.links.entities[entity], graph.links.entities[call]): certainty
        for line, entity, certainty, call in columns
        if call >= 0
    }
    lines = sorted({line for line, _, _ in known})
    for line in random.Random(7).sample(lines, min(SELECTIONS, len(lines))):
        claims: dict[tuple[str, str], int] = {}
        for reason in explainer.reasons(CODE, line):
            for call in reason.calls if reason.nodes else ():
                key = reason.nodes[0], call
                claims[key] = max(claims.get(key, 0), Confidence[reason.certainty])
        for (node, call), certainty in claims.items():
            assert known[line, node, call] == certainty, (line, node, call)
