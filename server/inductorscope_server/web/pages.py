"""Registers a page, its JSON twin and its Markdown from one entry of the table."""

import inspect
import re
import typing
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from fastapi import APIRouter, Depends, params
from inductorscope import urls
from inductorscope.answers.runs.tabs import run_tabs
from inductorscope.plugins import PluginError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import READS
from inductorscope_server.rendering.markdown import as_markdown, wants_markdown
from inductorscope_server.rendering.templating import TABS, Pages
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.openapi import answers
from inductorscope_server.web.parts import Reading, Shared, prepare_analysis


class Page(msgspec.Struct, frozen=True):
    """A page and its twin: the template shows the struct that the twin returns."""

    path: str
    load: Callable[..., Any]
    """Takes the parameters of the address, as a FastAPI dependency, and returns the answer. Its
    docstring becomes the description in the API's documentation."""
    template: str
    tag: str
    summary: str
    tab: str = ""
    """The tab of a run that it belongs to. The tabs come in the order of the table; each leads to
    its first page."""
    view: str = ""
    """Its title among the views of its tab; empty if it is not listed there."""
    doc: str = ""
    """The document about it, and the part of that."""
    fragment: str | None = None
    """Template of the part that htmx requests."""
    lead: Callable[[Any], str | None] | None = None
    """Takes the answer; returns the address to redirect to instead, if there is one."""
    show: Callable[..., Response] | None = None
    """Handler of the page, if rendering a template is not enough."""
    twin: Callable[..., Any] | None = None
    """Loads the twin's answer, if it differs from the page's."""
    needs: params.Depends = READS
    """The rule of the page and its twin."""

    @property
    def struct(self) -> type[msgspec.Struct]:
        """The struct that the template gets."""
        return _returned(self.load)

    @property
    def twin_struct(self) -> type[msgspec.Struct]:
        return _returned(self.twin or self.load)


def _returned(load: Callable[..., Any]) -> type[msgspec.Struct]:
    returned: type[msgspec.Struct] | None = typing.get_type_hints(load).get("return")
    if returned is None:
        raise PluginError(f"{_name(load)} needs a return type: the struct that its page shows.")
    return returned


def _name(load: Callable[..., Any]) -> str:
    return f"{load.__module__}.{load.__name__}"


def check(pages: Sequence[Page], templates: Pages) -> None:
    """Raises PluginError if an entry cannot work, so that a mistake shows when the server
    starts."""
    owners: dict[str, str] = {}
    for page in pages:
        name = _name(page.load)
        owner = owners.setdefault(re.sub(r"{\w+}", "{}", page.path), name)
        if owner != name:
            raise PluginError(f"{name} has the address of {owner}, {page.path}: choose another.")
        parts = set(re.findall(r"{(\w+)}", page.path))
        for load in {page.load, page.twin or page.load}:
            _returned(load)
            missing = ", ".join(sorted(parts - inspect.signature(load).parameters.keys()))
            if missing:
                raise PluginError(f"{_name(load)} lacks parameters of {page.path}: {missing}.")
        for template in (page.template, page.fragment):
            if template and not templates.has(template):
                raise PluginError(f"The page {page.path} of {name} has no template {template}.")


def note_tabs(request: Request, session: Reading) -> None:
    """Notes for the template what the tabs of the run hold."""
    if not Pages.is_partial(request):
        request.scope["state"][TABS] = run_tabs(session, request.path_params["run"])


def add_page(routes: APIRouter, page: Page, turn: Sequence[params.Depends]) -> None:
    """Adds the routes of a page and its twin. No router is included for them, because FastAPI
    builds the routes of an included one twice, which takes half a second for all pages.
    `turn`: dependencies of both."""
    handler = page.show or page.lead or page.load
    name = handler.__name__.partition("_")[2] or "page"  # of `load`, `load_name`, `lead_name`
    name = f"{handler.__module__.rpartition('.')[2]}_{name}"
    load = page.twin or page.load

    shown, returned = Depends(page.load), Depends(load)
    tabs = [Depends(note_tabs)] if page.tab and page.path.startswith(urls.RUN) else []

    def get(request: Request, answer: object = returned) -> Response:
        if wants_markdown(request):
            return as_markdown(request, answer, page.summary)
        return as_json(answer)

    def show(request: Request, parts: Shared, answer: object = shown) -> Response:
        if page.lead is not None and (elsewhere := page.lead(answer)):
            return RedirectResponse(elsewhere, 302)
        return parts.pages.render(request, page.template, answer, fragment=page.fragment)

    routes.add_api_route(
        urls.API + page.path,
        get,
        name=f"get_{name}",
        tags=[page.tag],
        summary=page.summary,
        description=load.__doc__,
        response_model=None,
        dependencies=[*turn, page.needs],
        **answers(page.twin_struct, 404, 422),
    )
    routes.add_api_route(
        page.path,
        page.show or show,
        name=f"show_{name}",
        response_model=None,
        dependencies=[*turn, page.needs, Depends(prepare_analysis), *tabs],
        include_in_schema=False,
    )
