"""Reads packed links for a part of a graph."""

from __future__ import annotations

import msgspec

from inductorscope.store.runs.links import LinksJson, unpack_json


def ir_names(payload: bytes, first: int, last: int, call: str) -> set[str]:
    """Returns the scheduler nodes whose operations lines `first` to `last` of the output code refer
    to, in one call (`call:NAME:HANDLE`) of the kernel that these lines define."""
    links = msgspec.json.decode(unpack_json(payload), type=LinksJson)
    code = links.stages.get("code")
    if code is None:
        return set()
    used = {
        links.entities[entity]
        for line, entity, limit in zip(code.lines, code.entities, code.call, strict=True)
        if first <= line <= last and (limit < 0 or links.entities[limit] == call)
    }
    return {name[3:].partition(".")[0] for name in used if name.startswith("op:")}
