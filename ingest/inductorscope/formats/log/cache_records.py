"""Results of cache lookups: artifacts such as `fx_graph_cache_miss`, `aotautograd_cache_bypass`."""

import re
from typing import Any

import msgspec

from inductorscope.formats.border import figure

_NAME = re.compile(r"^(.{1,80}?)_cache_([a-z_]{1,40})$")
CACHES = {
    "fx_graph": "FX graph",
    "fx_graph_bundled": "FX graph, bundled with AOTAutograd's",
    "aotautograd": "AOTAutograd",
    "autograd": "AOTAutograd",
    "dynamo": "Dynamo",
    "precompile": "precompiled code",
    "autotune": "autotuning",
}
OUTCOMES = frozenset({"hit", "miss", "bypass", "disabled", "pickle_failure", "exception"})
"""Ends of artifact names. `hash` and `entries` describe a cache's content and are not results."""
LONGEST = 2000


class CacheAnswer(msgspec.Struct):
    cache: str
    """`FX graph`, `AOTAutograd`, …"""
    outcome: str
    """`hit`, `miss`, `bypass`, `disabled`, or the log's own word."""
    key: str | None = None
    reason: str | None = None
    saved_ms: float | None = None
    """Time that the hit saved, as torch measured it when compiling."""
    detail: str | None = None


class _Payload(msgspec.Struct, gc=False):
    key: Any = None
    cache_bypass_reason: Any = None
    time_saved_ms: Any = None
    cache_status_detailed: Any = None
    time_saved_ns: Any = None


_payload = msgspec.json.Decoder(_Payload)


def read_cache_answer(name: str, payload: bytes) -> CacheAnswer | None:
    """Returns the result in an artifact (or an event) of this name, or None."""
    match = _NAME.match(name)
    if match is None or match.group(2) not in OUTCOMES:
        return None
    cache = CACHES.get(match.group(1), match.group(1).replace("_", " "))
    answer = CacheAnswer(cache, match.group(2).replace("_", " "))
    try:
        facts = _payload.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return answer
    answer.key = _text(facts.key)
    answer.reason = _text(facts.cache_bypass_reason)
    answer.detail = _text(facts.cache_status_detailed)
    saved = figure(facts.time_saved_ms)
    if saved is None and (nanoseconds := figure(facts.time_saved_ns, "_ns")) is not None:
        saved = nanoseconds / 1e6
    if saved is not None and saved >= 0:
        answer.saved_ms = figure(saved, "ms")
    return answer


def _text(value: object) -> str | None:
    return " ".join(value[:LONGEST].split()) if isinstance(value, str) else None
