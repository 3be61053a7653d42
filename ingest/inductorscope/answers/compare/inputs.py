"""The inputs of two runs that differ: versions, machine, settings, and the user's files."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.graphs import Graph
from inductorscope.analyze.compare.lines import conflict
from inductorscope.analyze.compare.nodes import PLACEHOLDER
from inductorscope.analyze.compile.difference import Difference, difference
from inductorscope.answers.compare.sides import Side
from inductorscope.formats.code.runnable import read_settings
from inductorscope.formats.vocabulary import FX_RUNNABLE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import Artifact, Run

OF_EACH_RUN = {
    "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_COMPILE_DEBUG_DIR", "TORCH_TRACE",
    "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR", "dynamo.debug_dir_root",
}  # fmt: skip
"""Settings whose values differ between any two runs, so that a difference means nothing."""
RECORDING = "inductor.trace."
"""Prefixes of settings that control how a run is recorded."""
HOW = {
    "name", "seconds", "repeats", "steps_after", "full", "eager", "profile", "values", "source",
    "record", "measure",
}  # fmt: skip
"""Options of a capture that control how a program is recorded."""
COMMIT = "torch's commit"
RECORDED = ("versions", "machine")
"""Kinds for which every run has a value, although its files may not record it."""
LARGEST = 64 * 1024 * 1024


class InputRow(msgspec.Struct, frozen=True):
    """A setting that differs; None if a run does not have it or does not record it."""

    kind: str
    """`versions`, `machine`, `options`, `configuration`, `environment` or `tensors`."""
    name: str
    a: str | None
    b: str | None


class SourceRow(msgspec.Struct, frozen=True):
    """A file of the user that differs, or that only one run has."""

    path: str
    a: int | None
    """Artifact of the file in the run."""
    b: int | None
    difference: Difference | None


def input_rows(session: Session, a: Run, b: Run) -> list[InputRow]:
    rows: dict[tuple[str, str], InputRow] = {}
    for (kind, before), (_, after) in zip(_inputs(session, a), _inputs(session, b), strict=True):
        if not before or not after:  # a difference is unknown if a run does not record the setting
            continue
        for name in sorted({**before, **after}):
            was, now = before.get(name), after.get(name)
            if was != now and (kind not in RECORDED or None not in (was, now)):
                key = kind, name.removeprefix("inductor.")
                rows.setdefault(key, InputRow(kind, name, was, now))
    given = {name for kind, name in rows if kind == "options"}
    # Torch's record of its configuration repeats options of the capture.
    return [row for (_, name), row in rows.items() if f"config.{name}" not in given]


def tensor_rows(graphs: Sequence[Graph]) -> list[InputRow]:
    """Returns inputs of A's graphs whose type or shape differs in B. Skips backward graphs, whose
    inputs follow from those of the forward graph."""
    return [
        InputRow("tensors", f"{node.name} of {graph.slug}", node.type, node.partner.type)
        for graph in graphs
        if not graph.backward
        for node in graph.nodes
        if node.target == PLACEHOLDER and node.partner and node.type != node.partner.type
    ]


def _inputs(session: Session, run: Run) -> list[tuple[str, dict[str, str]]]:
    """Returns the settings of a run by kind, from the same records for every run."""
    settings = _runnable(session, run.id)
    facts = run.environment
    versions = {"torch": run.torch_version, COMMIT: run.torch_git,
                "Python": facts.get("python_version"), **settings["versions"],
                **_flat(facts.get("versions"))}  # fmt: skip
    machine = {"device": run.device_kind, "device's name": run.device_name,
               "CPU": facts.get("cpu_name"), "threads": facts.get("threads")}  # fmt: skip
    records = [
        ("versions", _flat(versions)),
        ("machine", _flat(machine)),
        ("options", _flat(facts.get("options"))),
        ("configuration", settings["configuration"]),
        ("configuration", _flat(facts.get("config"))),
        ("environment", settings["environment"]),
        ("environment", _flat(facts.get("env"))),
    ]
    return [(kind, {name: value for name, value in values.items() if not _left_out(kind, name)})
            for kind, values in records]  # fmt: skip


def _left_out(kind: str, name: str) -> bool:
    return name in HOW if kind == "options" else name in OF_EACH_RUN or name.startswith(RECORDING)


def _runnable(session: Session, run: str) -> dict[str, dict[str, str]]:
    query = select(Artifact.digest).where(
        Artifact.run_id == run, Artifact.role == FX_RUNNABLE, Artifact.size < LARGEST
    )
    # The copy of a log omits some settings and has another path.
    own = Artifact.path.endswith("fx_graph_runnable.py")
    digest = session.scalar(query.order_by(own.desc(), Artifact.id).limit(1))
    return read_settings(text_of(session, digest))


def _flat(values: object, prefix: str = "") -> dict[str, str]:
    if not isinstance(values, Mapping):
        return {}
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value not in (None, []):
            words = value if isinstance(value, list) else [value]
            flat[f"{prefix}{name}"] = " ".join(map(str, words))
    return flat


def source_rows(one: Side, other: Side) -> list[SourceRow]:
    """Returns the source files that differ. A file rebuilt from comments differs if a line does
    that both runs quote."""
    rows = []
    for path, source in other.sources.items():
        was = one.sources.get(other.files.get(path, ""))
        if was is None and not source.derived:
            rows.append(SourceRow(path, None, source.artifact, None))
        elif was is not None and was.lines != source.lines:
            rebuilt = was.derived or source.derived
            if not rebuilt or conflict(was.lines, source.lines):
                changed = difference(was.lines, source.lines)
                rows.append(SourceRow(path, was.artifact, source.artifact, changed))
    gone = one.sources.keys() - other.files.values()
    return rows + [
        SourceRow(path, one.sources[path].artifact, None, None)
        for path in sorted(gone)
        if not one.sources[path].derived
    ]
