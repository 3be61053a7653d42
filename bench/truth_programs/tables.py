"""Reads the tables of models: `NAME.json` beside the module NAME."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def table(module: str) -> dict[str, Any]:
    """Of a module, by its `__file__`. An object gets the fields of those that it is `like`, which
    the table's own `like` has; its own fields come before these."""
    read = json.loads(Path(module).with_suffix(".json").read_text())
    shared: dict[str, dict[str, Any]] = {}

    def whole(value: Any) -> Any:  # noqa: ANN401  # JSON
        if isinstance(value, list):
            return [whole(item) for item in value]
        if not isinstance(value, dict):
            return value
        result: dict[str, Any] = {}
        for name in value.get("like", ()):
            result |= shared[name]
        return result | {key: whole(item) for key, item in value.items() if key != "like"}

    for name, fields in read.pop("like", {}).items():
        shared[name] = whole(fields)
    return {name: whole(value) for name, value in read.items()}
