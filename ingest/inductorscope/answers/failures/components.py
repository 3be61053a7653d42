"""Which component of the compiler fails: the result of the newest search."""

from typing import Any

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.failures.failures import Panel, panel, refusal
from inductorscope.answers.parts import RunName
from inductorscope.fields import Number, Prose
from inductorscope.store.runs.diagnoses import DiagnosisLine, diagnoses_of, newest_diagnosis

KIND = "components"


class Trial(msgspec.Struct, frozen=True):
    """One backend's run, compared with eager."""

    backend: str
    title: str
    outcome: str
    """`agrees`, `differs`, `fails`, `ended`, `too long`, `eager failed`."""
    said: Prose
    kind: str = ""
    message: str = ""
    trace: str = ""
    seconds: float | None = None
    max_abs: Number | None = None
    max_rel: Number | None = None
    tolerance: str = ""
    where: str = ""


class Bisect(msgspec.Struct, frozen=True):
    """A trial of torch's bisector."""

    backend: str
    subsystem: str
    state: str
    good: bool
    said: Prose
    seconds: float


class ComponentsResult(msgspec.Struct, frozen=True):
    """Results of a search for the failing component, possibly still running."""

    summary: dict[str, Any]
    trials: list[Trial] = msgspec.field(default_factory=list)
    bisect: list[Bisect] = msgspec.field(default_factory=list)
    found: dict[str, Any] | None = None
    notes: list[Prose] = msgspec.field(default_factory=list)


class ComponentsPage(msgspec.Struct, frozen=True):
    """Which component `/runs/{run}/failures/components`."""

    run: RunName
    refusal: Prose
    """Why no search can start; empty if one can."""
    panel: Panel
    found: ComponentsResult | None
    diagnoses: list[DiagnosisLine]


def components_page(session: Session, run_id: str) -> ComponentsPage:
    run_story = read_run_story(session, run_id)
    newest = newest_diagnosis(session, run_id, KIND)
    return ComponentsPage(
        run=run_story.name,
        refusal=refusal(run_story),
        panel=panel(session, run_id, KIND),
        found=None if newest is None else msgspec.convert(newest.result, ComponentsResult),
        diagnoses=diagnoses_of(session, run_id, KIND),
    )
