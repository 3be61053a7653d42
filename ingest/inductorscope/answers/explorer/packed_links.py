"""Reads packed links for a part of a graph."""

from __future__ import annotations

import msgspec

from inductorscope.store.runs.links import LinksJson, unpack_json


def ir_names(payload: bytes, first: int, last: int) -> set[str]:
    """Scheduler nodes whose operations lines `first` to `last` of the output code refer to."""
    links = msgspec.json.decode(unpack_json(payload), type=LinksJson)
    code = links.stages.get("code")
    if code is None:
        return set()
    used = {
        entity
        for line, entity in zip(code.lines, code.entities, strict=True)
        if first <= line <= last
    }
    named = (links.entities[entity].partition(":") for entity in used)
    return {name.partition(".")[0] for kind, _, name in named if kind == "op"}
