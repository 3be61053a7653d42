"""Serves the built front end under /static, compressed and cached by version."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

import zstandard
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from inductorscope_server.rendering.templating import Assets
from inductorscope_server.web.answers import takes_zstd

HASHED_NAME = re.compile(r"-[A-Z0-9]{8}\.(?:js|css|woff2|map)$")
"""Matches the bundler's names of chunks: chunk-5QZ3ABCD.js."""
FOREVER = "public, max-age=31536000, immutable"
LEVEL = 10
"""zstd's level; each file is packed once per process."""


@dataclass(frozen=True)
class PackedFile:
    """The packed response for one version of a file."""

    version: str
    body: bytes
    headers: dict[str, str]


class Bundle(StaticFiles):
    """Serves files. Browsers keep those whose address names the content and revalidate others."""

    def __init__(self, assets: Assets) -> None:
        super().__init__(directory=assets.folder, check_dir=False)
        self._assets = assets
        self._packed: dict[str, PackedFile] = {}

    async def get_response(self, path: str, scope: Scope) -> Response:
        caching = FOREVER if self._names_content(path, scope) else "no-cache"
        plain = _is_plain(scope)
        file = self._packed.get(path) if plain else None
        if file is None or file.version != self._assets.version(path):
            response = await super().get_response(path, scope)
            if not (plain and isinstance(response, FileResponse)):
                if response.status_code in (200, 304):
                    response.headers["Cache-Control"] = caching
                    response.headers["Vary"] = "Accept-Encoding"
                return response
            file = await run_in_threadpool(self._keep, path, response)
        return Response(file.body, headers={**file.headers, "Cache-Control": caching})

    def _keep(self, path: str, answer: FileResponse) -> PackedFile:
        """Stores the packed file. Called for successful responses only, so paths are valid."""
        version = self._assets.version(path)
        headers = {
            "Content-Type": answer.headers["Content-Type"],
            "Content-Encoding": "zstd",
            "ETag": f"W/{answer.headers['ETag']}",
            "Vary": "Accept-Encoding",
        }
        packed = zstandard.ZstdCompressor(level=LEVEL).compress(Path(answer.path).read_bytes())
        file = self._packed[path] = PackedFile(version, packed, headers)
        return file

    def _names_content(self, path: str, scope: Scope) -> bool:
        if HASHED_NAME.search(Path(path).name):
            return True
        version = parse_qs(scope["query_string"].decode("latin-1")).get("v", [""])[0]
        return bool(version) and version == self._assets.version(path)


def _is_plain(scope: Scope) -> bool:
    """Whether the request is for a whole file, accepts zstd and has no conditions."""
    sent = Headers(scope=scope)
    conditional = "range" in sent or "if-none-match" in sent or "if-modified-since" in sent
    takes = takes_zstd(sent.get("accept-encoding", ""))
    return scope["method"] == "GET" and takes and not conditional
