"""The search for the smallest failing program: its state, its steps as a chart, files."""

import re
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.failures.failures import Panel, panel, refusal
from inductorscope.answers.parts import RunName
from inductorscope.fields import Hidden, Prose
from inductorscope.store.runs.diagnoses import (
    DiagnosisLine,
    DiagnosisRead,
    diagnoses_of,
    read_diagnosis,
)
from inductorscope.store.tables.models import Artifact

KIND = "minify"
SHOWN_FILES = 50
_FILES = re.compile(
    r"(^|/)(minifier_launcher\.py|repro\.py|minified_\d+_nodes\.py"
    r"|(minifier|checkpoints|isolate)/[^/]+\.py)$"
)
WIDE, TALL = 640.0, 120.0
"""Units of the chart's drawing; it scales to any size."""


class MinifierFile(msgspec.Struct, frozen=True):
    """A file in an upload that torch's own minifier wrote."""

    path: str
    artifact: Hidden[int]
    size: int


class MinifyChart(msgspec.Struct, frozen=True):
    """Remaining nodes over the seconds of the search, as a line of steps."""

    line: Hidden[str]
    """Points of an SVG polyline within WIDE × TALL."""
    dots: Hidden[list[tuple[float, float, str]]]
    """Position and description of each step."""
    most: int
    seconds: float


class MinifyPage(msgspec.Struct, frozen=True):
    """Minify `/runs/{run}/failures/minify`."""

    run: RunName
    refusal: Prose
    panel: Panel
    job: str | None
    """The search whose result is shown."""
    state: str
    complete: bool
    message: str | None
    found: dict[str, Any] | None
    chart: MinifyChart | None
    can_resume: Hidden[bool]
    diagnoses: list[DiagnosisLine] = msgspec.field(default_factory=list)
    files: list[MinifierFile] = msgspec.field(default_factory=list)


def minify_page(session: Session, run_id: str, job: str | None = None) -> MinifyPage:
    """The page; `job` chooses an earlier search."""
    run_story = read_run_story(session, run_id)
    lines = diagnoses_of(session, run_id, KIND)
    chosen = next((line.job_id for line in lines if job in (None, line.job_id)), None)
    read = read_diagnosis(session, chosen) if chosen else None
    now = panel(session, run_id, KIND)
    return MinifyPage(
        run=run_story.name,
        refusal=refusal(run_story),
        panel=now,
        job=chosen,
        state=read.line.state if read else "",
        complete=read.line.complete if read else False,
        message=read.line.message if read else None,
        found=_shown(read),
        chart=_chart(read.result) if read else None,
        can_resume=_resumable(read) and not now.active,
        diagnoses=lines,
        files=_files(session, run_id),
    )


def repro_of(session: Session, run_id: str, job: str | None = None) -> str | None:
    """Text of the minimal program from the newest search that has one."""
    for line in diagnoses_of(session, run_id, KIND):
        if job not in (None, line.job_id):
            continue
        read = read_diagnosis(session, line.job_id)
        text = ((read.result if read else {}).get("repro") or {}).get("text")
        if text:
            return str(text)
    return None


def _shown(read: DiagnosisRead | None) -> dict[str, Any] | None:
    """Returns the result without the parts that only a resumed job needs."""
    if read is None:
        return None
    result = {key: value for key, value in read.result.items() if key != "checkpoint"}
    inputs = (read.result.get("checkpoint") or {}).get("inputs") or []
    result["inputs"] = [
        {key: value for key, value in item.items() if key not in ("data", "draw")}
        | {"kept": "data" in item}
        for item in inputs
    ]
    return result


def _resumable(read: DiagnosisRead | None) -> bool:
    return (
        read is not None and not read.line.complete and bool(read.result.get("checkpoint"))
        and read.line.state in ("failed", "cancelled", "gone")
    )  # fmt: skip


def _chart(result: dict[str, Any]) -> MinifyChart | None:
    steps = list(result.get("steps") or [])
    if not steps:
        return None
    most = max(int(step["nodes"]) for step in steps)
    began = float(steps[0]["seconds"])  # before it, graphs were captured and tested
    ended = max(float(result.get("seconds") or 0.0), float(steps[-1]["seconds"]))
    seconds = max(ended - began, 0.1)
    line, dots = [], []
    before = None
    for step in steps:
        x = WIDE * (float(step["seconds"]) - began) / seconds
        y = TALL * (1 - int(step["nodes"]) / max(1, most))
        if before is not None:
            line.append(f"{x:.1f},{before:.1f}")
        line.append(f"{x:.1f},{y:.1f}")
        dots.append((round(x, 1), round(y, 1), _words(step)))
        before = y
    line.append(f"{WIDE:.1f},{before:.1f}")
    return MinifyChart(" ".join(line), dots, most, seconds)


def _words(step: dict[str, Any]) -> str:
    if step["what"] == "start":
        return f"{step['nodes']}nodes at the start, {step['seconds']:g} s"
    return (
        f"from {step['before']} to {step['after']} {step['what']}, {step['strategy']}, "
        f"{step['seconds']:g} s"
    )


def _files(session: Session, run_id: str) -> list[MinifierFile]:
    query = (
        select(Artifact.path, Artifact.id, Artifact.size)
        .where(Artifact.run_id == run_id, Artifact.path.like("%.py"))
        .order_by(Artifact.path)
    )
    files = [MinifierFile(*row) for row in session.execute(query) if _FILES.search(row[0])]
    return files[:SHOWN_FILES]
