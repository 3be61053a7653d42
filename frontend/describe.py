"""Prints the description of the API as JSON, from which `api.mjs` makes types."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from inductorscope.settings import Settings
from inductorscope_server.web.app import create_app


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        described = create_app(Settings(data=Path(folder), database_url="")).openapi()
    json.dump(described, sys.stdout)


if __name__ == "__main__":
    main()
