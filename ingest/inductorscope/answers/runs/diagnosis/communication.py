"""Causes in what a device does beside computing: waiting for late ranks, communication, copies."""

from typing import NamedTuple

from sqlalchemy import func, select

from inductorscope import urls
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.time.parts import COMPUTING, COPYING, TALKING
from inductorscope.answers.compile.collectives import late_collectives
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.unchanging import depending_on, graphs_of_dynamo
from inductorscope.answers.runs.diagnosis.unread import numbers
from inductorscope.answers.runs.diagnosis.waiting import copied_for
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import COMMUNICATION, MEMCPY
from inductorscope.store.tables.times import TraceKernel
from inductorscope.units import microseconds, percent, plural

MANY = 50
"""Collectives in a step from which short ones are worth joining."""
SHORT_US = 500.0


class Late(NamedTuple):
    """Waiting in collectives for ranks that come late, in µs of a step."""

    us: float
    """Of one of the waiting ranks, on average."""
    waiting: int
    """The rank that waits."""
    rank: int
    """The rank for which it waits longest."""
    last: int
    """Collectives to which that one comes last."""
    of: int


def _late(evidence: Evidence) -> Late | None:
    """Returns how long the shown rank waits; or the one that waits longest, if that is far
    longer."""
    found = late_collectives(evidence.story, {})
    if found is None or found.lateness.clocks == "unknown" or not found.lateness.ranks:
        return None
    ranks = found.lateness.ranks
    others = {own.rank: [other for other in ranks if other.rank != own.rank] for own in ranks}
    waits = {rank: sum(row.waited_us for row in rows) for rank, rows in others.items()}
    waiting = max(waits, key=lambda rank: waits[rank])
    if waits.get(evidence.rank or 0, 0.0) >= waits[waiting] / 2:
        waiting = evidence.rank or 0
    most = max(others[waiting], key=lambda rank: rank.waited_us)
    by = evidence.shown.by if evidence.shown is not None else 1
    us = waits[waiting] / (found.traces - 1) / by
    return Late(us, waiting, most.rank, most.last, most.calls)


def late_rank(evidence: Evidence) -> Cause | None:
    """Ranks wait in collectives for one that comes late."""
    step, late = evidence.step_us, _late(evidence)
    if not step or late is None or late.us < STANDS_OUT * step:
        return None
    # How much of it can be won is unknown: work that is shared out anew takes time on all ranks.
    us = min(late.us, step)
    return Cause(
        "late rank",
        f"Rank {late.waiting} waits {microseconds(us)} of {evidence.step} for ranks that come late "
        f"to a collective, most of it for rank {late.rank}.",
        f"Find out what rank {late.rank} does meanwhile: more data or work than the others, a "
        "compile, a slower machine. Give all ranks the same work.",
        urls.compile_part(evidence.id, "ranks"),
        why=f"Rank {late.rank} comes last to {late.last} of {plural(late.of, 'collective')}.",
        concerns=us / step,
    )


def exposed(evidence: Evidence) -> Cause | None:
    """The device only communicates or copies, and computes nothing."""
    shown, step, line = evidence.shown, evidence.step_us, evidence.timeline
    if shown is None or line is None or not step:
        return None
    alone = {part.name: part.us / shown.by for part in line.parts if not part.idle}
    if any(copied_for(evidence, wait) for wait in line.waits[:1]):
        alone.pop(COPYING)  # the cause on what the host computes counts it
    name = max(_ALONE, key=lambda part: alone.get(part, 0.0))
    us = alone.get(name, 0.0)
    late = _late(evidence) if name == TALKING else None
    waited = min(us, late.us) if late is not None else 0.0
    # What is hidden behind computing takes no longer than that; waiting for a rank is not hidden.
    slow = name == COPYING and _spent(evidence, MEMCPY, "Pageable")[0] / shown.by >= us / 2
    ways, whole = ("DtoD", "HtoD") if name == COPYING else (), _spent(evidence, MEMCPY)[0]
    way = next((way for way in ways if 2 * _spent(evidence, MEMCPY, way)[0] >= whole), "")
    kept, node = _copied(evidence, whole / 2) if way == "HtoD" else (False, None)
    wins = min(us - waited, us if slow or kept else alone.get(COMPUTING, 0.0), step)
    if wins < STANDS_OUT * step:
        return None
    what, fix = _ALONE[name]
    calls = _spent(evidence, COMMUNICATION)[1] / shown.by
    if name == TALKING and calls >= MANY and us < SHORT_US * calls:
        what = f"communicates in {round(calls)} short collectives"
        fix = "Join them, as the buckets of DistributedDataParallel do with gradients."
    elif way == "DtoD":
        fix = _ON_DEVICE
    elif way == "HtoD":
        fix = _KEPT.capitalize() if kept else f"{fix} Or, if it is the same in each step, {_KEPT}"
    story = evidence.story.story
    href = urls.timeline(evidence.id, profile=shown.label)
    if name == TALKING and story and len({log.rank for log in story.logs}) > 1:
        href = urls.compile_part(evidence.id, "ranks")
    computes = f"It computes for {microseconds(alone.get(COMPUTING, 0.0))}: no more can be hidden."
    if slow:
        computes = "The memory is pageable: copies of pinned memory take a fraction of this."
    if kept:
        computes = "Each call copies an attribute, a global or an argument that stays the same."
    if waited:
        computes = f"{percent(waited / us)} of that is waiting for late ranks. {computes}"
    return Cause(
        "exposed",
        f"The device {what} for {microseconds(us)} of {evidence.step}, and computes nothing "
        "meanwhile.",
        fix,
        href,
        why=computes if slow or kept or wins < us else "",
        wins_us=wins,
        lines=evidence.lines_of([node]) if node else evidence.sampled(us) if slow else [],
    )


def _copied(evidence: Evidence, least: float) -> tuple[bool, FxNode | None]:
    """Returns the node that copies most to the device, if compiled code does so for `least` µs, and
    whether its tensor stays the same."""
    found: list[tuple[int, bool, FxNode | None]] = [(0, False, None)]
    unchanged = {f"L_{name}_" for name in evidence.steps.unchanged}
    compiled = _spent(evidence, MEMCPY, "HtoD", first=0)[0] >= least
    for _, nodes, names in graphs_of_dynamo(evidence) if compiled else ():
        # Dynamo's names of a module's attributes begin so.
        same = [name for name in names.values() if name.startswith("L_self_") or name in unchanged]
        kept = depending_on(nodes, names, same)
        puts = [node for node in nodes if operation(node.target) == "device_put"]
        found += [(numbers(node.annotation) or 0, node in kept, node) for node in puts]
    return max(found, key=lambda copy: copy[0])[1:]


def _spent(evidence: Evidence, kind: str, words: str = "", first: int = -1) -> tuple[float, float]:
    """Returns time and number of what has `words` in its name, such as "Pageable". `first`: 0 for
    that of compiled code alone."""
    query = select(func.sum(TraceKernel.total_us), func.sum(TraceKernel.calls)).where(
        TraceKernel.profile_id == (evidence.shown.id if evidence.shown else 0),
        TraceKernel.category == kind,
        TraceKernel.name.contains(words),
        func.coalesce(TraceKernel.region, -1) >= first,
    )
    us, calls = evidence.session.execute(query).one()
    return us or 0.0, calls or 0.0


_ALONE = {
    TALKING: (
        "communicates",
        "Overlap it with computing: smaller buckets in DistributedDataParallel, prefetching in "
        "FSDP, or `torch._inductor.config.reorder_for_compute_comm_overlap = True`.",
    ),
    COPYING: (
        "copies memory",
        "Copy while the device computes: pinned memory and `non_blocking=True`.",
    ),
}
_KEPT = (
    "keep it on the device: `self.register_buffer(…)` in a module lets `.to(device)` move it once."
)
_ON_DEVICE = (
    "Most of them stay on the device: write results where they are read, without `.clone()` and "
    "`.contiguous()`. A CUDA graph copies inputs that are not kept at one address."
)

CHECKS = (late_rank, exposed)
