"""What is known of a captured program, for choosing what to try."""

from __future__ import annotations

import re

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.trial.catalogue import Known
from inductorscope.answers.parts import run_of
from inductorscope.answers.time.script import script_of
from inductorscope.store.runs.nodes import fx_nodes
from inductorscope.store.tables.models import Graph

_DTYPE = re.compile(r"\b(f16|bf16|f32|f64)\[")
_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
BACKWARD = "backward"


def known_of(session: Session, run_id: str) -> Known:
    run = run_of(session, run_id)
    operations: set[str] = set()
    dtypes: set[str] = set()
    graphs = session.scalars(select(Graph).where(Graph.run_id == run_id)).all()
    for graph in graphs:
        for node in fx_nodes(session, graph.id):
            operations.add(operation(node.target))
            dtypes |= {_DTYPES[short] for short in _DTYPE.findall(node.annotation or "")}
    script = script_of(run)
    optimizer = script.processes[0].optimizer if script is not None else ""
    return Known(
        cuda=run.device_kind == "cuda",
        trains=bool(optimizer) or any(graph.direction == BACKWARD for graph in graphs),
        optimizer=bool(optimizer),
        breaks=run.graph_breaks or 0,
        recompiles=run.recompiles or 0,
        operations=frozenset(operations),
        dtypes=frozenset(dtypes),
        threads=int(run.environment.get("threads") or 0),
    )
