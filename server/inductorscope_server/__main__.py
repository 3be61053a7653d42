"""The web process: `python -m inductorscope_server`, configured by environment variables."""

import sys

from inductorscope.errors import InWords
from inductorscope.processes.importing import without_collection

if __name__ == "__main__":
    try:
        with without_collection():
            from inductorscope_server.web.server import main
        main()
    except InWords as error:
        print(error.sentences(), file=sys.stderr)
        sys.exit(error.exit_code)
