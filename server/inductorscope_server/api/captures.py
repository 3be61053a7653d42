"""Starts captures and lists built-in models."""

import msgspec
from fastapi import APIRouter
from inductorscope.capturing.builtin import BUILT_IN
from inductorscope.capturing.spec import kind_of
from inductorscope.fields import Prose, view
from starlette.responses import Response

from inductorscope_server.access.rules import READS, RUNS_CODE
from inductorscope_server.api.bodies import CaptureRequest, started, starts
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts, Shared


class BuiltinModel(msgspec.Struct, frozen=True):
    """A built-in model."""

    name: str
    title: str
    shows: Prose
    """What the model demonstrates."""
    trains: bool
    """Whether it can be captured in training."""
    missing: list[str]
    """Required packages that this machine lacks."""


class ModelsAnswer(msgspec.Struct, frozen=True):
    """Models to capture."""

    models: list[BuiltinModel]


api = APIRouter(tags=[openapi.JOBS], dependencies=[READS])


@api.get("/models", summary="Models to capture", **openapi.answers(ModelsAnswer))
def models() -> Response:
    """Lists built-in models only; a worker may also run models from folders that its owner
    allows."""
    return as_json(ModelsAnswer(models=builtin_models()))


@api.post("/captures", summary="Capture a model", dependencies=[RUNS_CODE], **starts(422))
def start_capture(parts: Shared, body: CaptureRequest) -> Response:
    """A worker compiles, times and profiles the model; the job's stream reports the progress."""
    return started(capture(parts, body))


def builtin_models() -> list[BuiltinModel]:
    return [view(BuiltinModel, model, missing=list(model.missing)) for model in BUILT_IN]


def capture(parts: Parts, body: CaptureRequest) -> str:
    """Queues a capture and returns the job's id. The worker checks the request again; this check
    only refuses early."""
    if kind_of(body.model) != "built-in" and not parts.settings.model_folders:
        raise Refusal(
            403,
            "Only built-in models may be captured here.",
            do="The worker's owner can allow folders of models with this setting.",
            limit="INDUCTORSCOPE_MODEL_FOLDERS",
        )
    spec = {**body.model_dump(exclude={"tags", "needs"}), "name": body.name or None}
    return parts.jobs.programs.capture(spec, body.tags, body.needs)
