"""Figures of a compile from `compilation_metrics`, in groups and with units."""

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from inductorscope.fields import OfRow, Prose
from inductorscope.formats.border import read_json

Unit = Literal["", "s", "us", "ms", "bytes", "count", "text", "yes", "config", "list"]

_UNITS: tuple[Unit, ...] = ("us", "ms", "s", "bytes")
_GROUPS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("Failure and restarts", r"^fail_|restart|exception_stack|cudagraph_skip|has_guarded_code"),
        ("Guards and recompiles", r"guard|recompile|cache_size|specialize|tensorify"),
        ("Caches", r"cache|triton_bundles|pgo_"),
        ("Time", r"_time(?:_|$)|time_us$|time_s$|_us$|_s$|duration|overhead"),
        ("Graph", r"^graph_|ops$|ir_count|num_graph_breaks|param_|node|inductor_provenance"),
        ("Settings", r"config|suppress_errors|inline_inbuilt|feature_usage|timeout"),
        ("Versions", r"version$|_version"),
        ("Which compile", r""),
    )
)
ORDER = (
    "Which compile", "Time", "Graph", "Guards and recompiles", "Caches", "Failure and restarts",
    "Settings", "Versions",
)  # fmt: skip
LONGEST = 20_000
_MOMENTS = {"start_time": 1.0, "start_time_us": 1e6, "end_time_us": 1e6}
"""Fields with a time of day, and their units per second."""


class Metric(msgspec.Struct, frozen=True):
    name: str
    spoken: Prose
    value: OfRow[float] | str | None
    unit: Unit
    settings: dict[str, str] | None = None


class MetricGroup(msgspec.Struct, frozen=True):
    name: str
    metrics: list[Metric]
    empty: list[str]
    """Figures that torch left out for this compile."""


def group_metrics(facts: Mapping[str, Any]) -> list[MetricGroup]:
    """All fields, including those of later versions of torch."""
    groups: dict[str, tuple[list[Metric], list[str]]] = {name: ([], []) for name in ORDER}
    for name, value in facts.items():
        group = next(group for group, pattern in _GROUPS if pattern.search(name))
        if value is None or value == [] or value == {} or value == "":
            groups[group][1].append(name)
        else:
            groups[group][0].append(_metric(name, value))
    return [
        MetricGroup(name, metrics, empty) for name, (metrics, empty) in groups.items()
        if metrics or empty
    ]  # fmt: skip


def _metric(name: str, value: object) -> Metric:
    spoken = re.sub(r"_(?:us|s|ms)$", "", name).replace("_", " ")
    if isinstance(value, bool):
        return Metric(name, spoken, "yes" if value else "no", "yes")
    if isinstance(value, int | float) and name in _MOMENTS:
        return Metric(name, spoken, _moment(float(value) / _MOMENTS[name]), "text")
    if isinstance(value, int | float):
        unit: Unit = next((unit for unit in _UNITS if name.endswith(f"_{unit}")), "count")
        return Metric(name, spoken, float(value), unit)
    if isinstance(value, list):
        return Metric(name, spoken, "\n".join(map(str, value))[:LONGEST], "list")
    if isinstance(value, str) and value[:1] == "{" and "config" in name:
        with suppress(ValueError, RecursionError):
            value = read_json(value, Counter())
    if isinstance(value, dict):
        return Metric(
            name, spoken, None, "config",
            {str(key): str(item)[:500] for key, item in list(value.items())[:2000]},
        )  # fmt: skip
    return Metric(name, spoken, str(value)[:LONGEST], "text")


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return str(seconds)
