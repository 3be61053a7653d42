"""The process that reads saved tensors.

Start it with `python -m inductorscope.reading.profiles.tensors_child FOLDER`.

`asked.json` in the folder lists the files; their values are written to `values.txt`. Uploaded files
may be hostile: torch loads only weights, which runs no code, and this process has limits.
"""

import json
import os
import resource
import sys
from pathlib import Path

from inductorscope.analyze.values.printing import printed
from inductorscope.formats.sizes import GIB
from inductorscope.processes.dying import die_with

ASKED, FOUND, REFUSED = "asked.json", "values.txt", "refused.json"
MEMORY = 4 * GIB


def main(folder: Path) -> None:
    die_with(os.getppid())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import torch

    refused = {}
    with (folder / FOUND).open("w", encoding="utf-8") as found:
        for path, when, kernel, argument in json.loads((folder / ASKED).read_text("utf-8")):
            try:
                value = torch.load(path, map_location="cpu", weights_only=True)
                if not isinstance(value, torch.Tensor):
                    refused[path] = f"it holds {type(value).__name__}, not a tensor"
                    continue
                found.write(printed(when, kernel, argument, value))
            except Exception as error:  # noqa: BLE001  # a damaged or hostile file can cause any
                refused[path] = str(error).partition("\n")[0][:300] or type(error).__name__
    (folder / REFUSED).write_text(json.dumps(refused), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
