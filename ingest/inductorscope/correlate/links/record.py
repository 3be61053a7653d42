"""References recorded by a capture while the code was generated: exact, for each call."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from inductorscope.correlate.links.collect import Collector
from inductorscope.correlate.links.model import Confidence
from inductorscope.formats.code.output_code import OutputCode

SCHEMA = 1


class Recorded(msgspec.Struct):
    """The part of a record that fits the code."""

    calls: set[str] = msgspec.field(default_factory=set)
    """`call:` entities with recorded lines, which need no inference."""
    nodes: dict[str, set[str]] = msgspec.field(default_factory=lambda: defaultdict(set))
    """Operation → its recorded nodes."""


class _Call(msgspec.Struct):
    kernel: str
    nth: int
    lines: dict[str, list[tuple[str, str, str | None, str | None]]]


class _Record(msgspec.Struct):
    calls: list[_Call] = []


def link_record(
    collector: Collector, code: OutputCode, record: dict[str, object] | None
) -> Recorded:
    """Adds the record's references. If the record of a call does not fit the code, all of that call
    is left out and inferred instead."""
    result = Recorded()
    if record is None:
        return result
    try:
        calls = msgspec.convert(record, _Record).calls
    except msgspec.ValidationError as error:
        collector.links.notes.append(f"The record of lines could not be read: {error}.")
        return result
    sites: dict[str, list[int]] = defaultdict(list)
    for call in code.calls:
        sites[call.kernel].append(call.handle)
    spans = {kernel.name: (kernel.first_line, kernel.last_line) for kernel in code.kernels}
    for call_record in calls:
        handles = sites.get(call_record.kernel, [])
        if not 1 <= call_record.nth <= len(handles) or call_record.kernel not in spans:
            continue
        entity = f"call:{call_record.kernel}:{handles[call_record.nth - 1]}"
        if _add(collector, call_record, entity, spans[call_record.kernel], result):
            result.calls.add(entity)
    return result


def _add(
    collector: Collector, call: _Call, entity: str, span: tuple[int, int], result: Recorded
) -> bool:
    first, last = span
    if not all(text.isdecimal() and first <= int(text) <= last for text in call.lines):
        return False
    for text, entries in call.lines.items():
        for _, operation, node, buffer in entries:
            names = [f"op:{operation}"]
            if node is not None:
                names.append(f"fx:{node}")
                result.nodes[f"op:{operation}"].add(f"fx:{node}")
            if buffer is not None:
                names.append(f"buf:{buffer}")
            for name in names:
                collector.add("code", int(text), name, Confidence.exact, call=entity)
    return bool(call.lines)
