"""The web process: `python -m inductorscope_server`, configured by environment variables."""

from __future__ import annotations

import sys

from inductorscope.processes.importing import without_collection

if __name__ == "__main__":
    with without_collection():
        from inductorscope_server.web.server import main
    sys.exit(main())
