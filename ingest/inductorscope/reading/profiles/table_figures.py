"""The figures of a `key_averages` table without a trace: time by kind, and its kernels."""

from __future__ import annotations

from inductorscope.analyze.time.breakdown import category_sums
from inductorscope.analyze.time.categories import Work, category_of
from inductorscope.analyze.time.cpu import cpu_category
from inductorscope.analyze.time.facts import TraceFigures
from inductorscope.analyze.time.kernel_names import generated_category
from inductorscope.formats.vocabulary import ANNOTATION, CPU_OP
from inductorscope.store.runs.draft import ProfilerRowDraft, TraceKernelDraft


def figures_of_rows(
    rows: list[ProfilerRowDraft],
) -> tuple[TraceFigures, list[TraceKernelDraft]] | None:
    """Returns the times of kernels, or of a table without them the self times of operators; None
    if no row has a time. A table does not say what launched a kernel, nor when it ran."""
    on_device = any(row.self_device_us and row.category != CPU_OP for row in rows)
    compiled = any(generated_category(row.name) for row in rows)
    kernels: list[TraceKernelDraft] = []
    for row in rows:
        us = row.self_device_us if on_device else row.self_cpu_us
        if not us or row.category == ANNOTATION or on_device == (row.category == CPU_OP):
            continue
        category = (
            category_of(Work(row.name, kind=row.category, compiled=compiled))
            if on_device
            else cpu_category(row.name, compiled=compiled)
        )
        kernels.append(TraceKernelDraft(
            0, row.name, category, None, None, None, row.calls, us, None, None
        ))  # fmt: skip
    if not kernels:
        return None
    kernels.sort(key=lambda kernel: -kernel.total_us)
    for position, kernel in enumerate(kernels):
        kernel.position = position
    sums = category_sums(
        [(each.category, each.name, each.calls, each.total_us) for each in kernels]
    )
    return TraceFigures(on_device, sum(each.total_us for each in kernels), None, sums), kernels
