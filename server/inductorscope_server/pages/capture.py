"""Capture: a form that starts one."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from inductorscope import urls
from inductorscope.capture.spec import DTYPES, MODES
from inductorscope.jobs.errors import CaptureRefusedError
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.api.bodies import CaptureAsked
from inductorscope_server.api.captures import BuiltinModel, builtin_models, capture
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts, Shared

html = APIRouter()
api = APIRouter(tags=[openapi.JOBS])

UNSET = {"", "unset"}


@dataclass(frozen=True, slots=True)
class CapturePage:
    """Capture `/capture`."""

    models: list[BuiltinModel]
    living_workers: int
    dtypes: list[str]
    modes: list[str]
    defaults: CaptureAsked
    """Values of the form's fields: the defaults, or what was sent when it was refused."""
    error: str | None


def load(parts: Shared) -> CapturePage:
    """Models, choices and defaults; start a capture with `POST /api/captures`."""
    return _page(parts)


def _page(parts: Parts, asked: CaptureAsked | None = None, error: str | None = None) -> CapturePage:
    models = builtin_models()
    return CapturePage(
        models=models,
        living_workers=sum(worker.alive for worker in parts.jobs.workers()),
        dtypes=list(DTYPES),
        modes=list(MODES),
        defaults=asked or CaptureAsked.model_validate({"model": models[0].name}),
        error=error,
    )


@html.post("/capture")
async def capture_sent(request: Request, parts: Shared) -> Response:
    """The form without script: to the job, or back to the form with what is wrong."""
    async with request.form(max_files=0, max_fields=100) as form:
        return await run_in_threadpool(_start, request, parts, form)


def _start(request: Request, parts: Parts, form: FormData) -> Response:
    asked = None
    try:
        asked = asked_by(form)
        return RedirectResponse(urls.job(capture(parts, asked)), 303)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
    except CaptureRefusedError as error:
        what = error.what
    except Refusal as refusal:
        what = refusal.body.what
    return parts.pages.render(request, "capture.html", _page(parts, asked, what), status=422)


def asked_by(form: FormData) -> CaptureAsked:
    """The form's fields as a spec: empty ones mean the default, `config` is a line an option."""
    values: dict[str, object] = {}
    for name, field in CaptureAsked.model_fields.items():
        sent = [value for value in form.getlist(name) if isinstance(value, str)]
        if field.annotation is bool:
            values[name] = bool(sent) and sent[-1] not in {"0", "false"}
        elif name == "args":
            values[name] = [word for text in sent for word in text.split()]
        elif name == "tags":
            values[name] = [tag.strip() for text in sent for tag in text.split(",") if tag.strip()]
        elif name == "config":
            values[name] = dict(_options("\n".join(sent)))
        elif sent and sent[-1].strip() not in UNSET:
            values[name] = sent[-1].strip()
    return CaptureAsked.model_validate(values, strict=False)


def _options(text: str) -> list[tuple[str, str]]:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip())
    return [(key.strip(), value.strip()) for key, _, value in pairs]
