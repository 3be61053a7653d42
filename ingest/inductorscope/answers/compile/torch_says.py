"""Torch's own reports about compiling a captured run, with links to kernels."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.torch_says import LoopNest, TorchReport, report_in_capture
from inductorscope.fields import view
from inductorscope.formats.vocabulary import CAPTURE
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall


class LoopRow(LoopNest, frozen=True):
    """A loop nest of a C++ kernel."""

    handle: int | None
    """Handle of the kernel's first call; with the slug it addresses the kernel's page."""


class LoopTable(msgspec.Struct, frozen=True):
    """All loop nests of a run."""

    instructions: str
    recorded: bool
    """Whether torch's own decisions were recorded; otherwise the code shows them."""
    rows: list[LoopRow]
    """Loops that are not vectorised come first."""
    vectorised: int


def torch_report(session: Session, run_id: str) -> TorchReport:
    """Returns torch's own report from the run's `capture.json`."""
    digest = session.scalar(
        select(Artifact.digest).where(Artifact.run_id == run_id, Artifact.role == CAPTURE)
    )
    text = None if digest is None else stored_text(session, digest)
    return report_in_capture(None if text is None else text.read())


def loops(
    session: Session,
    run_id: str,
    says: TorchReport,
    in_code: Mapping[str, list[LoopNest]] = MappingProxyType({}),
    words: Sequence[str] = (),
) -> LoopTable | None:
    """Returns how C++ loops are vectorised: from the capture's record, otherwise from the code
    (`in_code`, by graph); None for a run without such loops. `words`: parts of the names of
    kernels."""
    calls = (
        select(Graph.name, Graph.slug, Kernel.name, func.min(KernelCall.handle))
        .join(Kernel, Kernel.graph_id == Graph.id)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .where(Graph.run_id == run_id)
        .group_by(Graph.name, Graph.slug, Kernel.name)
    )
    handles: dict[tuple[str, str], tuple[str, int]] = {}
    for name, own_slug, kernel, first in session.execute(calls):
        handles[name, kernel] = handles[own_slug, kernel] = own_slug, first
    recorded = says.instructions is not None
    nests = (
        [(nest.graph, nest) for nest in says.nests]
        if recorded
        else [(slug, nest) for slug, of_graph in in_code.items() for nest in of_graph]
    )
    rows = []
    for graph, nest in nests:
        if all(word in nest.kernel.lower() for word in words):
            slug, handle = handles.get((graph or "", nest.kernel)) or (None, None)
            rows.append(view(LoopRow, nest, graph=slug, handle=handle))
    if not recorded and not nests:
        return None
    rows.sort(key=lambda row: row.vectorised)
    vectorised = sum(row.vectorised for row in rows)
    return LoopTable(says.instructions or "", recorded, rows, vectorised)
