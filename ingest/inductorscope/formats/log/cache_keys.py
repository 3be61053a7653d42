"""The components of a cache's key: `[digest] name: value`, as lookups log them."""

import re

import msgspec

from inductorscope.formats.log.cache_records import CACHES

_COMPONENT = re.compile(r"\[([a-z2-7]{20,64})\] ([\w.]{1,200}(?:\[[^\]\n]{0,200}\])?): ?", re.A)
LONGEST_VALUE = 20_000
MOST_COMPONENTS = 20_000


class Component(msgspec.Struct, frozen=True):
    """One part of a key. Equal digests mean equal parts; the value is how torch prints it."""

    digest: str
    value: str


class _Payload(msgspec.Struct, gc=False):
    components: list[object] = []


_payload = msgspec.json.Decoder(_Payload)


def read_components(payload: bytes) -> dict[str, Component]:
    """Returns the components of a lookup's key by name; empty if the log lacks them."""
    try:
        lines = _payload.decode(payload).components
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    found: dict[str, Component] = {}
    for line in lines[:MOST_COMPONENTS]:
        match = _COMPONENT.match(line) if isinstance(line, str) else None
        if match is not None and isinstance(line, str):
            value = line[match.end() : match.end() + LONGEST_VALUE]
            found[match.group(2)] = Component(match.group(1), value)
    return found


COMPONENTS_FROM = {
    CACHES["aotautograd"]: "TORCH_LOGS=+torch._functorch._aot_autograd.autograd_cache",
}
"""What makes newer versions of torch log the components, by cache; others always do."""
