"""Which component of the compiler fails: what the newest search found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.compile.parts import run_story
from inductorscope.answers.failures.failures import Panel, panel, refusal
from inductorscope.answers.parts import RunName
from inductorscope.store.runs.diagnoses import DiagnosisLine, diagnoses_of, newest_diagnosis

KIND = "components"


@dataclass(frozen=True, slots=True)
class Trial:
    """One backend's run beside the eager one."""

    backend: str
    title: str
    outcome: str
    """`agrees`, `differs`, `fails`, `ended`, `too long`, `eager failed`."""
    said: str
    kind: str = ""
    message: str = ""
    trace: str = ""
    seconds: float | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    tolerance: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Bisect:
    """A trial of torch's bisector."""

    backend: str
    subsystem: str
    state: str
    good: bool
    said: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ComponentsFound:
    """What a search for the failing component found so far."""

    summary: dict[str, Any]
    trials: list[Trial] = field(default_factory=list)
    bisect: list[Bisect] = field(default_factory=list)
    found: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ComponentsPage:
    """Which component `/runs/{run}/failures/components`."""

    run: RunName
    refusal: str
    """Why no search can be started; empty where one can."""
    panel: Panel
    found: ComponentsFound | None
    diagnoses: list[DiagnosisLine]


def components_page(session: Session, run_id: str) -> ComponentsPage:
    found = run_story(session, run_id)
    newest = newest_diagnosis(session, run_id, KIND)
    return ComponentsPage(
        run=found.name,
        refusal=refusal(found),
        panel=panel(session, run_id, KIND),
        found=None if newest is None else msgspec.convert(newest.result, ComponentsFound),
        diagnoses=diagnoses_of(session, run_id, KIND),
    )
