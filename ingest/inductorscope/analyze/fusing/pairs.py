"""Pairs of calls where one reads what the other writes, or both read the same value: fusing them
would save the traffic.

triton_poi_fused_gelu_0.run(buf0, buf1, …)      writes buf1
triton_red_fused_sum_1.run(buf1, buf2, …)       reads it: together they would not move buf1
"""

import msgspec

from inductorscope.analyze.bytes.graph import CallWork, GraphTextsRead

MOST_READERS = 200
"""Most readers of one value that are compared with each other."""


class Value(msgspec.Struct):
    """A value in memory: written by one call, or an input."""

    buffer: str
    writer: int | None = None
    bytes: int = 0
    readers: dict[int, int] = msgspec.field(default_factory=dict)
    """Call → bytes that it reads."""
    returned: bool = False


class Pair(msgspec.Struct):
    """Two calls, by their numbers in the order of the wrapper."""

    one: int
    other: int
    buffers: list[str] = msgspec.field(default_factory=list)
    passes: bool = False
    """Whether the first writes what the second reads; otherwise both read it."""
    saved: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    """Bytes that fusing would save the first and the second."""


def values_of(read: GraphTextsRead, works: list[CallWork]) -> list[Value]:
    """Returns all values in memory, with their writers and readers. Memory that is reused holds
    several values, one after the other."""
    memory: dict[str, str] = {}
    """Name → the first name of its memory."""
    held: dict[str, Value] = {}
    values: list[Value] = []

    def value(name: str) -> Value:
        place = memory.get(name, name)
        if place not in held:
            values.append(held.setdefault(place, Value(name)))
        return held[place]

    calls = {work.line: number for number, work in enumerate(works)}
    for line in read.wrapper:
        number = calls.get(line.line)
        if number is not None:
            traffic = works[number].bytes.traffic
            for access in traffic:
                if access.buffer and access.reads:
                    readers = value(access.buffer).readers
                    readers[number] = readers.get(number, 0) + access.reads
            for access in traffic:
                if access.buffer and access.writes:
                    made = Value(access.buffer, number, access.writes)
                    held[memory.get(access.buffer, access.buffer)] = made
                    values.append(made)
        elif line.kind in ("reuse", "reinterpret") and line.defines and line.uses:
            memory[line.defines[0]] = memory.get(line.uses[0], line.uses[0])
        elif line.kind == "return":
            for name in line.uses:
                value(name).returned = True
    return values


def pairs_of(values: list[Value]) -> list[Pair]:
    """Returns writers with their readers, and each reader with the next."""
    pairs: dict[tuple[int, int], Pair] = {}
    for value in values:
        readers = sorted(value.readers)[:MOST_READERS]
        alone = len(readers) == 1 and not value.returned
        for at, reader in enumerate(readers):
            if value.writer is not None and value.writer < reader:
                pair = pairs.setdefault((value.writer, reader), Pair(value.writer, reader))
                pair.passes = True
                pair.saved[0] += value.bytes if alone else 0
            elif value.writer is None and at:
                pair = pairs.setdefault((readers[at - 1], reader), Pair(readers[at - 1], reader))
            else:
                continue
            pair.buffers.append(value.buffer)
            pair.saved[1] += value.readers[reader]
    return list(pairs.values())
