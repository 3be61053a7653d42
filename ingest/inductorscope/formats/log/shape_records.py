"""Records about symbolic sizes, without torch's internal stacks, which make them large.

{"create_symbol": {"symbol": "s77", "val": "9", "vr": "[2, int_oo]", "source":
 "L['x'].size()[0]", "user_stack": [{"line": 112, "name": "f", "filename": 2, …}], …}, …}
"""

from __future__ import annotations

from typing import Any

import msgspec

from inductorscope.formats.log.record import LogRecord

LONGEST = 2000
MOST_LOCALS = 50


class ShapeRecord(msgspec.Struct, gc=False):
    """The fields of all such kinds; each kind has some of them."""

    symbol: str | None = None
    val: str | None = None
    vr: str | None = None
    source: str | None = None
    sources: list[str] = []
    value: str | None = None
    reason: str | None = None
    expr: str | None = None
    result: str | None = None
    method: str | None = None
    result_id: int | None = None
    arguments: list[str] = []
    argument_ids: list[int | None] = []
    user_stack: list[Any] | None = None
    stack: msgspec.Raw = msgspec.Raw(b"null")
    """All frames, torch's too: large, and decoded only if no other field has the place."""
    frame_locals: _Locals | None = None
    symbol_to_sources: dict[str, Any] | None = None
    op: str | None = None

    @property
    def user_frames(self) -> list[Any]:
        if self.user_stack or self.frame_locals is None or not self.frame_locals.loc:
            return self.user_stack or []
        try:
            frames = msgspec.json.decode(self.stack)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return []
        wanted = self.frame_locals.loc
        return [
            frame
            for frame in (frames if isinstance(frames, list) else [])
            if isinstance(frame, dict) and frame.get("loc") == wanted
        ]

    @property
    def locals(self) -> dict[str, str]:
        """The local variables of the user's frame."""
        held = self.frame_locals.locals if self.frame_locals is not None else None
        return _texts(held)

    @property
    def symbol_sources(self) -> dict[str, str]:
        named = self.frame_locals.symbols if self.frame_locals is not None else None
        return _texts(self.symbol_to_sources) | _texts(named)


class _Locals(msgspec.Struct, gc=False):
    loc: str | None = None
    locals: dict[str, Any] | None = None
    symbols: dict[str, Any] | None = None


_outer = msgspec.json.Decoder(dict[str, msgspec.Raw])
_record = msgspec.json.Decoder(ShapeRecord)


def read_shape_record(record: LogRecord) -> ShapeRecord:
    """Reads such a record; empty for records of another form."""
    try:
        return _record.decode(_outer.decode(record.head)[record.kind])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
        pass
    body = record.body
    if not isinstance(body, dict):
        return ShapeRecord()
    names = [name for name in ShapeRecord.__struct_fields__ if name != "stack"]
    known = {name: body[name] for name in names if name in body}
    shapes = ShapeRecord()
    for name, value in known.items():
        try:
            setattr(shapes, name, getattr(msgspec.convert({name: value}, ShapeRecord), name))
        except (msgspec.ValidationError, RecursionError):
            continue
    return shapes


class _Tensor(msgspec.Struct, gc=False):
    dtype: Any = None
    device: Any = None
    size: Any = None
    stride: Any = None
    requires_grad: Any = None


class _Described(msgspec.Struct, gc=False):
    describe_tensor: _Tensor


_described = msgspec.json.Decoder(_Described)


def tensor_in_short(head: bytes) -> str:
    """The part of a `describe_tensor` record on which all ranks of a job should agree."""
    try:
        facts = _described.decode(head).describe_tensor
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    device = str(facts.device).partition(":")[0]
    return f"{facts.dtype} {device} {facts.size} {facts.stride} {facts.requires_grad}"


def _texts(values: dict[str, Any] | None) -> dict[str, str]:
    return {
        name[:LONGEST]: str(value)[:LONGEST]
        for name, value in list((values or {}).items())[:MOST_LOCALS]
    }
