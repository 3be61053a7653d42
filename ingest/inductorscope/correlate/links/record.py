"""References recorded by a capture while the code was generated: exact, for each call."""

from collections import defaultdict

import msgspec

from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.formats.code.output_code import CodeCall, OutputCode

SCHEMA = 1


class Recorded(msgspec.Struct):
    """The part of a record that fits the code."""

    calls: set[str] = msgspec.field(default_factory=set)
    """`call:` entities with recorded lines, which need no inference."""
    nodes: dict[str, dict[str, set[str]]] = msgspec.field(default_factory=dict)
    """Function of the wrapper → operation → its recorded nodes, under the function's own names."""


class _Call(msgspec.Struct):
    kernel: str
    nth: int
    lines: dict[str, list[tuple[str, str, str | None, str | None]]]


class _Record(msgspec.Struct):
    calls: list[_Call] = []


def link_record(
    collector: Collector,
    code: OutputCode,
    record: dict[str, object] | None,
    prefixes: dict[str, str],
) -> Recorded:
    """Adds the record's references. If the record of a call does not fit the code, all of that call
    is left out and inferred instead. `prefixes`: function of the wrapper → what stands before the
    names of its nodes."""
    result = Recorded()
    if record is None:
        return result
    try:
        calls = msgspec.convert(record, _Record).calls
    except msgspec.ValidationError as error:
        collector.links.notes.append(f"The record of lines could not be read: {error}.")
        return result
    sites: dict[str, list[CodeCall]] = defaultdict(list)
    for call in code.calls:
        sites[call.kernel].append(call)
    spans = {kernel.name: (kernel.first_line, kernel.last_line) for kernel in code.kernels}
    for call_record in calls:
        own = sites.get(call_record.kernel, [])
        if not 1 <= call_record.nth <= len(own) or call_record.kernel not in spans:
            continue
        call = own[call_record.nth - 1]
        entity = f"call:{call.kernel}:{call.handle}"
        nodes = result.nodes.setdefault(call.inside, defaultdict(set))
        prefix = prefixes.get(call.inside, "")
        if _add(collector, call_record, entity, prefix, spans[call.kernel], nodes):
            result.calls.add(entity)
    return result


def _add(
    collector: Collector,
    call: _Call,
    entity: str,
    prefix: str,
    span: tuple[int, int],
    nodes: dict[str, set[str]],
) -> bool:
    first, last = span
    if not all(text.isdecimal() and first <= int(text) <= last for text in call.lines):
        return False
    for text, entries in call.lines.items():
        for _, operation, node, buffer in entries:
            names = [f"op:{operation}"]
            if node is not None:
                names.append(f"fx:{prefix}{node}")
                own = operation.removeprefix(f"{prefix.replace('/', '_')}")
                nodes[f"op:{own}"].add(f"fx:{node}")
            if buffer is not None:
                names.append(f"buf:{buffer}")
            for name in names:
                collector.add("code", int(text), name, Confidence.exact, call=entity)
    return bool(call.lines)
