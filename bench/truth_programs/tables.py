"""Reads the tables of models: `NAME.json` beside the module NAME."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def table(module: str) -> dict[str, Any]:
    """Of a module, by its `__file__`. An object gets the fields of those that it is `like`, which
    the table's own `like` has; its own fields come before these."""
    read = json.loads(Path(module).with_suffix(".json").read_text())
    shared: dict[str, dict[str, object]] = {}

    def whole(value: object) -> object:
        if isinstance(value, list):
            return [whole(item) for item in value]
        return with_shared(value) if isinstance(value, dict) else value

    def with_shared(fields: dict[str, Any]) -> dict[str, object]:
        result: dict[str, object] = {}
        for name in fields.get("like", ()):
            result |= shared[name]
        return result | {key: whole(item) for key, item in fields.items() if key != "like"}

    for name, fields in read.pop("like", {}).items():
        shared[name] = with_shared(fields)
    return {name: whole(value) for name, value in read.items()}
