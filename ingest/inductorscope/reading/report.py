"""The report for the page *What was read*: every file, what it became, and what was left out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inductorscope.fields import view
from inductorscope.formats.vocabulary import (
    ASSEMBLY,
    CHROME_TRACE,
    CODE,
    KEY_AVERAGES,
    OF_KERNELS,
    ROLE_TITLES,
    ROLES,
    SOURCE,
    WRAPPER_PART,
)
from inductorscope.intake.files import File
from inductorscope.reading.context import Reading
from inductorscope.reading.graphs.graph import GraphRead
from inductorscope.reading.logs.logs import LogFacts, LogRead
from inductorscope.store.report import Report, ReportedFile
from inductorscope.store.runs.draft import ArtifactDraft
from inductorscope.units import plural

if TYPE_CHECKING:
    from inductorscope.reading.profiles.profiles import ProfileRead

BECAME = (
    {role.id: role.became for role in ROLES}
    | {SOURCE: "source file, shown beside the graphs"}
    | dict.fromkeys(
        OF_KERNELS,
        "what Triton compiled of a kernel, shown with it; its lines and nodes are known if the "
        "upload has the kernel's source (output_code.py or a TORCH_TRACE log)",
    )
    | {
        ASSEMBLY: "the library of a C++ kernel, disassembled when it is looked at, if the upload "
        "has the kernel's source"
    }
)


def report_of(
    reading: Reading, logs: LogFacts, graphs: list[GraphRead], profiles: list[ProfileRead]
) -> Report:
    became = reading.benchmarks.became
    by_log = {id(log.file): log for log in logs.logs}
    by_slug = {graph.source.slug: graph for graph in graphs}
    read = {
        id(profile.trace_file): profile for profile in profiles if profile.trace_file is not None
    }
    listed = []
    for file in reading.intake.files:
        log = by_log.get(id(file))
        draft = reading.files.draft(file)
        profile = read.get(id(file))
        trace = profile.trace if profile is not None else None
        listed.append(
            view(
                ReportedFile,
                file,
                stored=_stored(file, log, logs, draft),
                became=became[file.path]
                if file.path in became
                else f"a copy of {logs.copies[file.path]}, read once"
                if file.path in logs.copies
                else _became(file, log, by_slug.get(file.graph or ""), profile),
                events=trace.events if trace is not None else 0,
            )
        )
    return Report(listed, [log.reported() for log in logs.logs], reading.notes.all())


def read_in_words(report: Report, graphs: int, kernels: int) -> str:
    """Summarises what was read: "1 graph with 2 generated kernels, 1 profiler trace with 90
    events"."""
    files, logs = report.files, report.logs
    of_role = Counter(file.role for file in files)
    parts = []
    if graphs:
        parts.append(f"{plural(graphs, 'graph')} with {plural(kernels, 'generated kernel')}")
    if traces := of_role[CHROME_TRACE]:
        events = sum(file.events for file in files)
        parts.append(f"{plural(traces, 'profiler trace')} with {plural(events, 'event')}")
    if tables := of_role[KEY_AVERAGES]:
        parts.append(plural(tables, "profiler table"))
    if logs:
        records = sum(log.records for log in logs)
        parts.append(f"{plural(len(logs), 'log')} with {plural(records, 'record')}")
    if parts:
        return ", ".join(parts)
    kinds = ", ".join(ROLE_TITLES.get(role, role) for role in of_role)
    return f"no graph, log or profile, {plural(len(files), 'file')}{kinds and f' ({kinds})'}"


def _stored(
    file: File, log: LogRead | None, logs: LogFacts, draft: ArtifactDraft | None
) -> str | None:
    """Returns the path under which a file is stored."""
    if log is not None:
        return log.stored
    if file.path in logs.copies:
        return next(
            (item.stored for item in logs.logs if item.file.path == logs.copies[file.path]), None
        )
    return draft.path if draft is not None else None


def _became(
    file: File, log: LogRead | None, graph: GraphRead | None, profile: ProfileRead | None
) -> str:
    if log is not None:
        records = sum(count for kind, count in log.summary.counts.items() if ":" not in kind)
        ids = len(log.summary.compile_ids)
        return (
            f"{plural(records, 'record')} of {plural(ids, 'compile')}, "
            f"{plural(len(log.graphs), 'graph')}"
        )
    if profile is not None and profile.trace is not None:
        return f"profiler trace with {plural(profile.trace.events, 'event')}"
    if graph is None:
        return BECAME.get(file.role, "kept as text")
    if any(text.file is file for text in graph.source.texts.values()):
        if file.role == CODE:
            return f"code of {plural(graph.draft.kernel_count, 'generated kernel')}"
        return "text of the graph"
    if file.role == WRAPPER_PART:
        return "part of the graph's code"
    return f"another text of the graph in the same role ({ROLE_TITLES[file.role]}); kept"
