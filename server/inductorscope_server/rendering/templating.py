"""Renders templates and finds built assets.

Templates get:

- `page`, the answer, as the JSON twin returns it; `request`; and the filters of `units`
- `urls` and `vocabulary`, the modules of `inductorscope`
- `this_page(**changes)`, the address of this page with some of its parameters changed
- `site`, the pages that every page links to; `of_run`, those of a run; `here`, this page; and
  `tabs`, what the tabs of its run hold, None if it belongs to no run
- `static(name)` and `imports(name)`, addresses of the bundle's files and of what a module imports
- `m`, `c`, …: the macros of several files, see `MACROS`
- `who`, who asks for the page, and `choices`, what they chose; `version` and `csp_nonce`
- `has_logins`, whether the server has accounts or a token, so that pages offer to log in and out;
  `has_accounts`
"""

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from inductorscope import __version__, urls
from inductorscope.formats import vocabulary
from inductorscope.plugins import templates
from inductorscope.settings import Settings
from inductorscope.store.who import OWNER, WHO
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context, select_autoescape
from jinja2 import __version__ as jinja_version
from jinja2.bccache import Bucket, FileSystemBytecodeCache
from jinja2.runtime import Context
from starlette.requests import Request
from starlette.responses import HTMLResponse

from inductorscope_server.rendering.filters import FILTERS
from inductorscope_server.web import headers
from inductorscope_server.web.answers import json_bytes

COOKIE = "inductorscope_choices"
"""Example: `theme=dark&fold-types=0`, as `frontend/src/shared/choices.ts` writes it."""
CHOICE = re.compile(r"([a-z-]{1,20})=([a-z0-9_.]{1,100})")
THEMES = ("light", "dark")
MOST = 20


class Choices:
    """The choices in a request's cookie; malformed ones are ignored."""

    def __init__(self, request: Request) -> None:
        pairs = request.cookies.get(COOKIE, "").split("&")
        matches = [match for pair in pairs[:MOST] if (match := CHOICE.fullmatch(pair))]
        self.all = {match[1]: match[2] for match in matches}

    @property
    def theme(self) -> str | None:
        theme = self.all.get("theme")
        return theme if theme in THEMES else None

    def __str__(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.all.items())


PACKAGED = Path(__file__).resolve().parent.parent / "assets"
CHECKOUT = Path(__file__).resolve().parents[3] / "frontend"


MACROS = {
    "m": "fragments/_macros.html",
    "c": "fragments/_compile_macros.html",
    "e": "fragments/_explorer_parts.html",
    "f": "fragments/_failures_macros.html",
    "r": "fragments/_roofline.html",
    "t": "fragments/_times.html",
    "p": "fragments/_profile.html",
    "nav": "fragments/_nav.html",
}
"""The files of macros by the names that templates use. Each may use those before it."""
TABS = "tabs"
"""Where a request notes what the tabs of its run hold."""


def web_folder() -> Path:
    """Returns the folder of `templates` and `dist`: in the wheel, or in an editable checkout."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def _json(value: object, **_options: object) -> str:
    """Encodes structs and other values for `tojson`, which escapes the text for HTML."""
    return json_bytes(value).decode()


class Assets:
    """Files of the bundle, with URLs that change with their content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, str]] = {}
        self._imports: tuple[str, dict[str, list[str]]] | None = None

    def version(self, name: str) -> str:
        """Returns a short digest of a file; empty if the bundle lacks it."""
        file = self.folder / name
        try:
            changed = file.stat().st_mtime_ns
        except OSError:
            return ""
        with self._lock:
            known = self._known.get(name)
            if known is None or known[0] != changed:
                digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
                known = self._known[name] = (changed, digest)
        return known[1]

    def url(self, name: str) -> str:
        return urls.with_query(urls.static(name), v=self.version(name) or None)

    def imports(self, name: str) -> list[str]:
        """Returns the URLs of the modules that a module of the bundle imports, so that a page can
        preload them together with it."""
        version = self.version("imports.json")
        with self._lock:
            if self._imports is None or self._imports[0] != version:
                text = (self.folder / "imports.json").read_text() if version else "{}"
                self._imports = version, json.loads(text)
            return [urls.static(script) for script in self._imports[1].get(name, [])]


class Compiled(FileSystemBytecodeCache):
    """Compiled templates, kept for later servers in the user's folder for temporary files."""

    def __init__(self) -> None:
        super().__init__(pattern=f"inductorscope-{__version__}-{jinja_version}-%s")

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):  # the disk may be full
            super().dump_bytecode(bucket)


def _compiled() -> Compiled | None:
    """Returns the cache; None if there is no folder that only this user can write."""
    try:
        return Compiled()
    except (OSError, RuntimeError):
        return None


@pass_context
def _this_page(context: Context, **changes: str | int | None) -> str:
    """Returns the address of this page, with the parameters it was asked for but for the changes,
    and from its first row if they name no other. An empty value or 0 leaves a parameter out."""
    request: Request = context["request"]
    asked = {**request.query_params, "first": None, "cursor": None}
    new = {name: value or None for name, value in changes.items()}
    return urls.with_query(urls.at(context["here"].path, **request.path_params), **asked | new)


class Listed(Protocol):
    """A page, as far as navigation shows it."""

    @property
    def path(self) -> str: ...
    @property
    def tab(self) -> str: ...


class Pages:
    """Renders templates."""

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        web = folder or web_folder()
        self.settings = settings
        self.assets = Assets(web / "dist")
        self._templates = [web / "templates", *templates()]
        self._pages: dict[str, Listed] = {}
        self._environment = Environment(
            loader=FileSystemLoader(self._templates),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=web != PACKAGED,
            bytecode_cache=_compiled(),
        )
        self._environment.filters.update(FILTERS)
        self._environment.policies["json.dumps_function"] = _json
        self._environment.globals.update(
            urls=urls,
            this_page=_this_page,
            static=self.assets.url,
            imports=self.assets.imports,
            version=__version__,
            vocabulary=vocabulary,
            has_logins=bool(settings.token) or settings.has_accounts,
            has_accounts=settings.has_accounts,
            site=(),
            of_run=(),
        )

    def has(self, name: str) -> bool:
        return any((folder / name).is_file() for folder in self._templates)

    def set_pages(self, pages: Iterable[Listed]) -> None:
        """Sets the pages that navigation shows."""
        self._pages = {page.path: page for page in pages}
        in_tabs = [page for page in self._pages.values() if page.tab]
        of_run = [page for page in in_tabs if page.path.startswith(urls.RUN)]
        self._environment.globals["site"] = [page for page in in_tabs if page not in of_run]
        self._environment.globals["of_run"] = of_run

    @staticmethod
    def is_partial(request: Request) -> bool:
        """Whether htmx requests part of a page; boosted links and history need the whole."""
        sent = request.headers
        return sent.get("hx-request") == "true" and sent.get("hx-request-type") != "full"

    def text(self, request: Request, name: str, page: object, **more: object) -> str:
        """Renders the template to text."""
        route = request.scope.get("route")
        context: dict[str, object] = dict(
            page=page,
            request=request,
            csp_nonce=headers.nonce_of(request.scope),
            choices=Choices(request),
            who=request.scope["state"].get(WHO, OWNER),
            here=self._pages.get(getattr(route, "path", "")),
            tabs=request.scope["state"].get(TABS),
            **more,
        )
        for short, file in MACROS.items():
            context[short] = self._environment.get_template(file).make_module(context)
        return self._environment.get_template(name).render(context)

    def render(
        self,
        request: Request,
        name: str,
        page: object,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        fragment: str | None = None,
        **more: object,
    ) -> HTMLResponse:
        """Returns the page, or only its `fragment` if htmx requests a part."""
        if fragment and self.is_partial(request):
            name = fragment
        response = HTMLResponse(self.text(request, name, page, **more), status, headers)
        response.headers["Vary"] = "Accept, HX-Request, HX-Request-Type, Cookie"
        return response
