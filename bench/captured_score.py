"""Built-in models, captured here: their stored links, and inference, beside what the capture knew.

    python -m bench.captured_score [MODEL…] [--train] [--device cuda]

Each model is captured once (kept below `bench/work`), its truth exported as `inductorscope
truth` does, and its folder read into a database of its own. Two rows a model: *stored* are the
links that the dashboard shows of the captured run, *uploaded* what is inferred from its debug
folder alone. A line counts as right when it names the nodes of the truth and no other.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from inductorscope.capture.builtin import BUILT_IN
from inductorscope.capture.truth import NoTruth, write_truth
from inductorscope.cli.local import read_paths
from inductorscope.correlate.directory import kernel_lines, read_texts
from inductorscope.correlate.links.texts import parse_texts
from inductorscope.correlate.replay.reordering import reordered_nodes
from inductorscope.formats.capture_facts import LINE_RECORD
from inductorscope.formats.graph.ir import IrText
from inductorscope.settings import Settings
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.links import unpack_links
from inductorscope.store.tables.models import Artifact, Graph, Links
from sqlalchemy import select

from bench.explorer.captured import captured
from bench.link_measure import Figures, ScoredLine, lines_of_program, scored_lines

STORES = ("store", "store_reduction")


def stored_answer(folder: Path, data: Path) -> dict[str, Any]:
    """What the dashboard holds of a captured run, as `inductorscope links` prints it."""
    settings = Settings(data=data, database_url="")
    read = read_paths(
        settings, [folder], name=None, tags=[], origin="ingest",
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    graphs: list[dict[str, Any]] = []
    with sessions(make_engine(settings))() as session:
        query = (
            select(Graph.name, Links.payload, Artifact.digest)
            .join(Links, Links.graph_id == Graph.id)
            .join(Artifact, Artifact.graph_id == Graph.id)
            .where(Graph.run_id == read.run_id, Artifact.role == "output_code")
        )
        for name, payload, digest in session.execute(query):
            text = (read_blob(session, digest) or b"").decode()
            graphs.append({"name": name, "kernels": kernel_lines(text, unpack_links(payload))})
    return {"graphs": graphs}


def count_by_maker(folder: Path, truth: Path) -> bool:
    """Rewrite the truth of a capture so that reordered bodies are their makers'; False without."""
    lines = json.loads((truth / "truth.json").read_text())
    changed = False
    for file in folder.rglob(LINE_RECORD):
        for graph, record in json.loads(file.read_text())["graphs"].items():
            code = next(truth.rglob(f"{graph}/output_code.py"), None)
            texts = parse_texts(read_texts(code)) if code is not None else None
            if texts is None or texts.ir_pre is None or texts.ir_post is None:
                continue
            reordered = reordered_nodes(texts.ir_pre, texts.ir_post)
            entries = [
                (line, op, *where.split(".", 1), node)
                for call in record["calls"]
                for line, found in call["lines"].items()
                for op, where, node, _ in found
            ]
            ends = _stored_values(texts.ir_post)  # a store inside of the kernel may be left out
            makers = {
                scheduled: node
                for _, op, scheduled, place, node in sorted(entries, key=lambda e: e[1] in STORES)
                if op in STORES or (scheduled, place) in ends
            }
            anew: dict[str, list[list[str]]] = {}
            for line, op, scheduled, place, node in entries:
                maker = makers.get(scheduled, node) if scheduled in reordered else node
                anew.setdefault(line, []).append([op, place.rpartition(".")[2], maker])
            changed = changed or bool(reordered)
            lines[graph] = anew
    (truth / "truth.json").write_text(json.dumps(lines))
    return changed


def _stored_values(ir: IrText) -> set[tuple[str, str]]:
    """(scheduler node, operation) of the values that loop bodies store."""
    return {
        (node.name, op.arguments[2])
        for node in ir.nodes
        if node.body is not None and "body" in node.body.blocks
        for op in node.body.blocks["body"].ops
        if op.op in STORES and len(op.arguments) > 2
    }


def show(name: str, lines: list[ScoredLine]) -> None:
    figures, exact = Figures(), 0
    for line in lines:
        figures.add(line)
        exact += line.confidence == "exact"
    print(f"{name:34} {figures}  called exact {100 * exact / max(len(lines), 1):.2f} %", flush=True)
    for line in [line for line in lines if line.confidence == "exact" and not line.right][:5]:
        print(f"    wrong: {line.graph}:{line.number} {line.text[:80]}")
        print(f"        want {sorted(line.want)} got {sorted(line.got)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    whole = [model for model in BUILT_IN if model.fault is None and not model.missing]
    parser.add_argument("models", nargs="*", help="all that can be captured here when left out")
    parser.add_argument("--train", action="store_true", help="those that train also in training")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    for model in whole:
        if options.models and model.name not in options.models:
            continue
        for train in (False, True) if options.train and model.trains else (False,):
            folder = captured(model.name, train, options.device)
            name = f"{model.name}{' in training' if train else ''}"
            with tempfile.TemporaryDirectory() as work:
                truth = Path(work) / f"{options.device}-{model.name}"
                try:
                    write_truth(folder, truth)
                except NoTruth:  # its compile fails on purpose: no code was written
                    print(f"{name:34} no graph with code")
                    continue
                stored = stored_answer(folder, Path(work) / "data")
                show(f"{name}, stored", scored_lines(truth, stored))
                show(f"{name}, uploaded", lines_of_program(truth))
                if count_by_maker(folder, truth):
                    show(f"{name}, by maker", lines_of_program(truth))


if __name__ == "__main__":
    main()
