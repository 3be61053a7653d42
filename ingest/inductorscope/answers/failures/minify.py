"""The search for the smallest failing program: its state, and what it found."""

from typing import Any

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.failures.failures import Panel, panel, refusal
from inductorscope.answers.parts import RunName
from inductorscope.fields import Hidden, Prose
from inductorscope.store.runs.diagnoses import DiagnosisLine, diagnoses_of, read_diagnosis

KIND = "minify"
HIDDEN = ("checkpoint", "steps", "tried")
"""Parts of stored results that are for going on, or were shown by earlier versions."""


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
    can_resume: Hidden[bool]
    diagnoses: list[DiagnosisLine] = msgspec.field(default_factory=list)


def minify_page(session: Session, run_id: str, job: str | None = None) -> MinifyPage:
    """The page; `job` chooses an earlier search."""
    run_story = read_run_story(session, run_id)
    lines = diagnoses_of(session, run_id, KIND)
    chosen = next((line.job_id for line in lines if job in (None, line.job_id)), None)
    read = read_diagnosis(session, chosen) if chosen else None
    now = panel(session, run_id, KIND)
    found = {} if read is None else read.result
    return MinifyPage(
        run=run_story.name,
        refusal=refusal(run_story),
        panel=now,
        job=chosen,
        state=read.line.state if read else "",
        complete=read.line.complete if read else False,
        message=read.line.message if read else None,
        found={key: found[key] for key in found if key not in HIDDEN} or None,
        can_resume=(
            read is not None
            and not read.line.complete
            and not now.active
            and "answers" in (found.get("checkpoint") or {})
        ),
        diagnoses=lines,
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
