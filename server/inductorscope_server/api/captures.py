"""Starting captures, and the models there are."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from fastapi import APIRouter
from inductorscope import urls
from inductorscope.capture.builtin import describe
from inductorscope.capture.spec import kind_of
from starlette.responses import Response

from inductorscope_server.api.bodies import CaptureAsked, JobStarted
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal, documented
from inductorscope_server.web.parts import Parts, Shared


@dataclass(frozen=True, slots=True)
class BuiltinModel:
    """A model the worker may run."""

    name: str
    title: str
    shows: str
    """What it is a good example of."""
    trains: bool
    """Whether it can be captured for training."""
    missing: list[str]
    """Packages it needs that this machine lacks."""


@dataclass(frozen=True, slots=True)
class ModelsAnswer:
    """Models to capture."""

    models: list[BuiltinModel]


api = APIRouter(tags=[openapi.JOBS])


@api.get("/models", summary="Models to capture")
def models() -> ModelsAnswer:
    """The built-in ones; a worker may run others from folders that its owner allowed."""
    return ModelsAnswer(models=builtin_models())


@api.post("/captures", status_code=202, summary="Capture a model", responses=documented(403, 422))
def start_capture(parts: Shared, asked: CaptureAsked, response: Response) -> JobStarted:
    """A worker compiles, times and profiles the model; the job's stream tells how far it is."""
    job = capture(parts, asked)
    response.headers["Location"] = urls.api_job(job)
    return JobStarted(job=job)


def builtin_models() -> list[BuiltinModel]:
    return msgspec.convert(describe(), list[BuiltinModel])


def capture(parts: Parts, asked: CaptureAsked) -> str:
    """The job's id. The worker checks again what it may run; this says no without a wait."""
    if kind_of(asked.model) != "built-in" and not parts.settings.model_folders:
        raise Refusal(
            403,
            "Only built-in models may be captured here.",
            do="The worker's owner can allow folders of models with this setting.",
            limit="INDUCTORSCOPE_MODEL_FOLDERS",
        )
    spec = {**asked.model_dump(exclude={"tags"}), "name": asked.name or None}
    return parts.jobs.enqueue_capture(spec, asked.tags)
