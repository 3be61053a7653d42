"""Links of every graph below a path: what `inductorscope links` prints."""

import re
from pathlib import Path
from typing import Any

from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.certainty import certainty_of_line, nodes_of_lines
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.errors import REFUSED, InWords
from inductorscope.formats.code.output_code import CodeKernel, parse_output_code
from inductorscope.formats.vocabulary import CODE

SCHEMA = 1
CODES = ("output_code.py", "output_code.cpp")
"""Names of output codes; the second is AOTInductor's."""
_COUNT = re.compile(r"_\d+$")


class NoGraphs(InWords, ValueError):
    """No graph below the path; the message names the files searched for."""

    exit_code = REFUSED


def links_of_path(path: Path) -> dict[str, Any]:
    """The path may be any level of a debug directory, or one output code."""
    graphs: list[dict[str, object]] = []
    seen: dict[str, int] = {}
    for code in output_codes(path):
        name = code.parent.resolve().name if code.name in CODES else code.stem
        count = seen[name] = seen.get(name, 0) + 1
        texts = read_texts(code)
        graphs.append(
            {
                "name": name if count == 1 else f"{name}~{count}",
                "kernels": kernel_lines(texts.code or "", graph_links(texts)),
            }
        )
    return {"schema": SCHEMA, "graphs": graphs}


def output_codes(path: Path) -> list[Path]:
    """The path if it is a file, else every output code below it, in order."""
    if not path.exists():
        raise NoGraphs(f"{path} does not exist.")
    if path.is_file():
        return [path]
    codes = sorted(file for name in CODES for file in path.rglob(name) if file.is_file())
    if not codes:
        raise NoGraphs(
            f"No output_code.py or .cpp in {path} or below it. Give a torch_compile_debug folder, "
            "a run or graph folder in it, or an output code."
        )
    return codes


def read_texts(code: Path) -> GraphTexts:
    """The artifacts next to an output code."""

    def text(name: str) -> str | None:
        file = code.parent / name
        if not file.is_file():
            return None
        with file.open(encoding="utf-8", errors="replace", newline="\n") as stream:
            return stream.read()

    provenance = code.parent / "inductor_provenance_tracking_node_mappings.json"
    return GraphTexts(
        post_grad=text("fx_graph_transformed.py"),
        readable=text("fx_graph_readable.py"),
        ir_pre=text("ir_pre_fusion.txt"),
        ir_post=text("ir_post_fusion.txt"),
        code=text(code.name),
        provenance=provenance.read_bytes() if provenance.is_file() else None,
    )


def kernel_lines(text: str, links: GraphLinks) -> list[dict[str, object]]:
    """For each kernel, its lines that refer to FX nodes or operations."""
    stage = links.stages.get(CODE)
    if stage is None:
        return []
    fx = nodes_of_lines(links)
    ops: dict[int, dict[str, None]] = {}
    for line, entity in zip(stage.lines, stage.entities, strict=True):
        kind, _, name = links.entities[entity].partition(":")
        if kind == "op":
            ops.setdefault(line, {})[name] = None
    return [
        {"name": kernel.name, "lines": _own_lines(kernel, fx, ops)}
        for kernel in parse_output_code(text).kernels
    ]


def _own_lines(
    kernel: CodeKernel, fx: dict[int, dict[str, int]], ops: dict[int, dict[str, None]]
) -> list[dict[str, object]]:
    """Only the nodes of a line with the highest certainty."""
    result: list[dict[str, object]] = []
    for line in range(kernel.first_line, kernel.last_line + 1):
        nodes = fx.get(line, {})
        if not nodes and line not in ops:
            continue
        certainty = certainty_of_line(nodes)
        result.append(
            {
                "line": line,
                "fx": [
                    name.removeprefix("fx:").replace("/", ".")
                    for name, known in nodes.items()
                    if known == certainty
                ],
                # FX numbers repeated names: `op7.load_2` is a `load`.
                "ops": [
                    f"{name}.{_COUNT.sub('', name.rpartition('.')[2])}"
                    for name in ops.get(line, {})
                ],
                "confidence": certainty.name,
            }
        )
    return result
