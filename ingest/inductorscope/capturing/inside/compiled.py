"""Keeps what Triton compiled of the captured kernels."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from inductorscope.capturing.inside.environment import DEBUG_FOLDER
from inductorscope.formats.machine.metadata import source_named
from inductorscope.formats.sizes import KIB, MIB
from inductorscope.formats.vocabulary import OF_KERNELS, TTIR

FOLDER = "triton"
MOST = 128 * MIB
HEAD = 64 * KIB
_PATH = re.compile(r"# kernel path: .*/(c[a-z2-7]{40,60})\.\w+$", re.M)
_ENDINGS = {*OF_KERNELS.values(), ".json"}


def keep_compiled(cache: Path, out: Path) -> None:
    """Copies the configurations of the kernels in the captured code, as far as there is room for
    them, and what autotuning chose. A CPU has none."""
    if not (cache / FOLDER).is_dir():
        return
    wanted = {
        name
        for code in (out / DEBUG_FOLDER).glob("**/output_code.py")
        for name in _PATH.findall(code.read_text("utf-8", "replace"))
    }
    taken = 0
    for compiled in sorted((cache / FOLDER).glob(f"*/*{OF_KERNELS[TTIR]}")):
        with compiled.open("rb") as stream:
            source = source_named(stream.read(HEAD).decode("utf-8", "replace"))
        files = [file for file in compiled.parent.iterdir() if file.suffix in _ENDINGS]
        taken += sum(file.stat().st_size for file in files)
        if source in wanted and taken <= MOST:
            folder = out / FOLDER / compiled.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            for file in files:
                if not file.name.startswith("__grp__"):
                    shutil.copyfile(file, folder / file.name)
    if (out / FOLDER).is_dir():
        for chosen in cache.glob("*/*.best_config"):
            shutil.copyfile(chosen, out / FOLDER / chosen.name)
