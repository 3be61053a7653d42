"""The capture form."""

import msgspec
from fastapi import APIRouter
from inductorscope import urls
from inductorscope.capturing.spec import DTYPES
from inductorscope.fields import Hidden
from inductorscope.formats.change import MODES
from inductorscope.jobs.errors import CaptureRefusedError
from inductorscope.jobs.queue.machines import CPU
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import RUNS_CODE
from inductorscope_server.api.bodies import CaptureRequest
from inductorscope_server.api.captures import BuiltinModel, builtin_models, capture
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts, Shared

html = APIRouter(dependencies=[RUNS_CODE])
api = APIRouter(tags=[openapi.JOBS])

UNSET = {"", "unset"}


class CapturePage(msgspec.Struct, frozen=True):
    """The page `/capture`."""

    models: list[BuiltinModel]
    kinds: list[str]
    """Kinds of the workers that are connected."""
    has_gpu: bool
    """Whether one of them has a GPU."""
    dtypes: Hidden[list[str]]
    modes: Hidden[list[str]]
    defaults: Hidden[CaptureRequest]
    """Values of the form's fields: the defaults, or the sent values if they were refused."""
    error: str | None


def load(parts: Shared) -> CapturePage:
    """Models, choices and defaults. Start a capture with `POST /api/captures`."""
    return _page(parts)


def _page(
    parts: Parts, body: CaptureRequest | None = None, error: str | None = None
) -> CapturePage:
    models = builtin_models()
    kinds = sorted({worker.kind for worker in parts.jobs.workers() if worker.alive})
    return CapturePage(
        models=models,
        kinds=kinds,
        has_gpu=any(not kind.startswith(CPU) for kind in kinds),
        dtypes=list(DTYPES),
        modes=list(MODES),
        defaults=body or CaptureRequest.model_validate({"model": models[0].name}),
        error=error,
    )


@html.post("/capture")
async def capture_sent(request: Request, parts: Shared) -> Response:
    """Redirects to the job, or shows the form again with the error."""
    async with request.form(max_files=0, max_fields=100) as form:
        return await run_in_threadpool(_start, request, parts, form)


def _start(request: Request, parts: Parts, form: FormData) -> Response:
    body = None
    try:
        body = request_of(form)
        return RedirectResponse(urls.job(capture(parts, body)), 303)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
    except CaptureRefusedError as error:
        what = error.what
    except Refusal as refusal:
        what = refusal.body.what
    return parts.pages.render(request, "capture.html", _page(parts, body, what), status=422)


def request_of(form: FormData) -> CaptureRequest:
    """Returns the form's fields as a request: empty fields mean the default, `config` has one
    option per line."""
    values: dict[str, object] = {}
    for name, field in CaptureRequest.model_fields.items():
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
    return CaptureRequest.model_validate(values, strict=False)


def _options(text: str) -> list[tuple[str, str]]:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip())
    return [(key.strip(), value.strip()) for key, _, value in pairs]
