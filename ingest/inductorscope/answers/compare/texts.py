"""What the generated code of two runs says of their kernels and memory, beyond their pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.kernels import Group
from inductorscope.analyze.fusing.facts import GraphFacts
from inductorscope.analyze.memory.records import MemoryPlan
from inductorscope.answers.compare.page import GroupRow, KernelCalls, Peak, PeakBar, PeakStep
from inductorscope.answers.compare.sides import Side
from inductorscope.answers.explorer.benchmark import LEFT_OUT
from inductorscope.answers.limits import NotAnalysed
from inductorscope.answers.memory.memory import graph_sizes
from inductorscope.answers.parts import graph_of
from inductorscope.answers.time.graph_facts import graph_facts
from inductorscope.formats.machine.metadata import COMPILED
from inductorscope.store.runs.nodes import kernel_facts
from inductorscope.store.tables.memory import KernelBenchmark
from inductorscope.store.tables.models import JsonObject
from inductorscope.units import size_in_bytes

MOST_EXPLAINED = 20
"""Most groups whose code is read for reasons and settings, those that differ most."""
REGROUPED = ("split", "merged", "regrouped")


def plans_of(session: Session, side: Side) -> dict[str, MemoryPlan]:
    """Memory plans by graph, as far as they are known."""
    plans: dict[str, MemoryPlan] = {}
    for graph in side.graphs:
        with suppress(NotAnalysed):
            plan = graph_sizes(session, graph_of(session, side.run, graph.slug))
            if plan and plan.last_line:
                plans[graph.slug] = plan
    return plans


def peak_step(
    a: dict[str, MemoryPlan], b: dict[str, MemoryPlan], groups: Sequence[Group]
) -> PeakStep | None:
    """`a`, `b`: plans by graph. Buffers are the same if kernels that do the same work write them
    first."""
    if not a or not b:
        return None
    sides = [max(plans.items(), key=lambda item: item[1].peak) for plans in (a, b)]
    group_of = {
        (side, call.graph.slug, call.kernel, call.handle): number
        for number, group in enumerate(groups)
        for side, calls in enumerate((group.left, group.right))
        for call in calls
    }
    held: dict[int | None, list[list[int]]] = defaultdict(lambda: [[], []])
    for side, (slug, plan) in enumerate(sides):
        for number in plan.peak_storages:
            storage = plan.storages[number]
            first = next((touch for touch in storage.touches if touch.writes), None)
            key = group_of.get((side, slug, first.kernel, first.handle)) if first else None
            held[key][side].append(storage.nbytes or 0)
    parts: dict[str, list[int]] = {
        "buffers of the same kernels, larger or smaller": [],
        "buffers that only A holds at its peak": [],
        "buffers that only B holds at its peak": [],
        "buffers whose kernel is not known": [],
    }
    same, gone, new, unknown = parts.values()
    for key, (ours, theirs) in held.items():
        into = unknown if key is None else same if ours and theirs else gone if ours else new
        if into is not same or sum(ours) != sum(theirs):
            into += [*(-nbytes for nbytes in ours), *theirs]
    bars = [PeakBar(title, sum(part), len(part)) for title, part in parts.items() if part]
    (one, before), (other, after) = sides
    return PeakStep(
        Peak(one, before.peak), Peak(other, after.peak), [bar for bar in bars if bar.more_bytes]
    )


def explained(session: Session, a: str, b: str, rows: Sequence[GroupRow]) -> dict[int, list[str]]:
    """Number of a row → why its kernels are not one, and which settings of theirs differ."""
    found: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        if not row.a or not row.b or len(found) == MOST_EXPLAINED:
            continue
        if words := [*_why(session, a, b, row), *_settings(session, a, b, row)]:
            found[number] = words
    return found


def _facts(session: Session, run: str, slug: str) -> GraphFacts | None:
    try:
        return graph_facts(session, graph_of(session, run, slug))
    except NotAnalysed:
        return None


def _why(session: Session, a: str, b: str, row: GroupRow) -> list[str]:
    """The rules that keep the kernels of the side with more of them apart."""
    run, letter, side = (b, "B", row.b) if len(row.b) >= len(row.a) else (a, "A", row.a)
    names = {one.kernel for one in side}
    facts = _facts(session, run, side[0].graph) if row.change in REGROUPED and names else None
    pairs = facts.apart if facts else []
    texts = (
        f"Not one kernel in {letter}: {pair.blockers[0].text}"
        for pair in pairs
        if pair.blockers[0].rule != "unknown"
        and {pair.one.kernel, pair.other.kernel} <= names
        and pair.one.kernel != pair.other.kernel
    )
    return list(texts)[:1]


def _settings(session: Session, a: str, b: str, row: GroupRow) -> list[str]:
    """What differs in the configuration, registers and spills of two kernels."""
    before, after = _of_kernel(session, a, row.a[0]), _of_kernel(session, b, row.b[0])
    return [
        f"{name} {before[name]} → {after[name]}"
        for name in before
        if name in after and before[name] != after[name]
    ]


def _of_kernel(session: Session, run: str, kernel: KernelCalls) -> dict[str, str]:
    """Settings of a template, what a benchmark says of any Triton kernel, and what was compiled."""
    facts = _facts(session, run, kernel.graph) if kernel.kind == "template" else None
    chosen = (
        one.settings for one in (facts.chosen if facts else ()) if one.kernel == kernel.kernel
    )
    result = session.scalar(
        select(KernelBenchmark.result)
        .where(
            KernelBenchmark.graph_id == graph_of(session, run, kernel.graph).id,
            KernelBenchmark.kernel == kernel.kernel,
            ~LEFT_OUT,
        )
        .order_by(KernelBenchmark.id.desc())
        .limit(1)
    )
    known = {name: (result or {}).get(name) for name in ("registers", "spills")}
    measured = {name: str(value) for name, value in known.items() if value is not None}
    return next(chosen, {}) | measured | _compiled(session, run, kernel)


def _compiled(session: Session, run: str, kernel: KernelCalls) -> dict[str, str]:
    """The configuration that ran, and what it takes of the machine."""
    facts = kernel_facts(session, graph_of(session, run, kernel.graph).id, kernel.kernel)
    ran: JsonObject = next((each for each in facts.get(COMPILED, []) if each["ran"]), {})
    if not ran.get("registers"):
        return {}
    options = {name: str(value) for name, value in ran["options"].items() if name != "shared"}
    return options | {
        "registers": str(ran["registers"]),
        "shared memory": size_in_bytes(int(ran["options"].get("shared", 0))),
        "local memory of a thread": size_in_bytes(ran["local"]),
    }
