"""What is known of a captured program, for choosing what to try."""

import re

from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.trial.catalogue import Known
from inductorscope.analyze.trial.facts import PRINTS, functions_that_log, sizes_that_differ
from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.parts import graph_rows, run_of
from inductorscope.answers.runs.diagnosis.cause import rank
from inductorscope.answers.runs.diagnosis.diagnose import diagnose
from inductorscope.answers.runs.diagnosis.evidence import gather
from inductorscope.answers.time.script import script_of
from inductorscope.store.runs.nodes import fx_nodes
from inductorscope.store.tables.models import Graph

_DTYPE = re.compile(r"\b(f16|bf16|f32|f64)\[")
_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def known_of(session: Session, run_id: str) -> Known:
    run = run_of(session, run_id)
    graphs = session.scalars(select(Graph).where(Graph.run_id == run_id)).all()
    nodes = [node for graph in graphs for node in fx_nodes(session, graph.id)]
    dtypes = [short for node in nodes for short in _DTYPE.findall(node.annotation or "")]
    script = script_of(run)
    optimizer = script.processes[0].optimizer if script is not None else ""
    found = diagnose(gather(session, run, graph_rows(session, run_id)))
    # A trial judges what a change trades for its gain.
    causes = sorted((*found.causes, *found.more), key=lambda cause: rank(replace(cause, trade="")))
    story = read_run_story(session, run_id).story_or_empty
    logging = functions_that_log(story)
    return Known(
        cuda=run.device_kind == "cuda",
        trains=bool(optimizer or run.environment.get("options", {}).get("train")),
        could_train=any(graph.direction in ("forward", "backward") for graph in graphs),
        optimizer=bool(optimizer),
        breaks=run.graph_breaks or 0,
        recompiles=run.recompiles or 0,
        nodes=len(nodes),
        operations=frozenset(operation(node.target) for node in nodes),
        dtypes=frozenset(_DTYPES[short] for short in dtypes),
        marks=sizes_that_differ(story),
        ignored=tuple(name for name in logging if name not in PRINTS),
        reordered=tuple(name for name in logging if name in PRINTS),
        threads=int(run.environment.get("threads") or 0),
        named=tuple(cause.change for cause in causes if cause.change),
    )
