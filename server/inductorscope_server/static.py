"""The built front end under /static, with caching by version."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from .templating import Assets

HASHED_NAME = re.compile(r"-[A-Z0-9]{8}\.(?:js|css|woff2|map)$")
"""What the bundler calls chunks: chunk-5QZ3ABCD.js."""
FOREVER = "public, max-age=31536000, immutable"


class Bundle(StaticFiles):
    """Files whose address names their content are kept for ever, the others asked for again."""

    def __init__(self, assets: Assets) -> None:
        super().__init__(directory=assets.folder, check_dir=False)
        self._assets = assets

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code in (200, 304):
            response.headers["Cache-Control"] = (
                FOREVER if self._names_content(path, scope) else "no-cache"
            )
        return response

    def _names_content(self, path: str, scope: Scope) -> bool:
        if HASHED_NAME.search(Path(path).name):
            return True
        given = parse_qs(scope["query_string"].decode("latin-1")).get("v", [""])[0]
        return bool(given) and given == self._assets.version(path)
