"""Stores the compiled forms of the captured kernels."""

import re
import shutil
from pathlib import Path

from inductorscope.capturing.inside.environment import DEBUG_FOLDER
from inductorscope.formats.machine.metadata import hash_of, kernel_of_library, source_named
from inductorscope.formats.sizes import KIB, MIB
from inductorscope.formats.vocabulary import ASSEMBLY, OF_KERNELS, TTIR

FOLDER = "triton"
LIBRARIES = "libraries"
MOST = 128 * MIB
HEAD = 64 * KIB
_PATH = re.compile(r"# kernel path: .*/(c[a-z2-7]{40,60})\.\w+$", re.M)
_ENDINGS = {*OF_KERNELS.values(), ".json"}


def keep_compiled(cache: Path, out: Path) -> None:
    """Copies the configurations of the kernels in the captured code, as far as there is room, and
    records which ones autotuning chose. Each C++ kernel's library is named by the hash of its
    source."""
    codes = [
        code.read_text("utf-8", "replace")
        for code in (out / DEBUG_FOLDER).glob("**/output_code.py")
    ]
    taken = 0
    for library in sorted(cache.glob(f"*/*{OF_KERNELS[ASSEMBLY]}")):
        text = library.with_suffix(".cpp")
        kernel = kernel_of_library(text.read_text("utf-8", "replace")) if text.is_file() else ""
        if kernel and any(kernel in code for code in codes):
            taken += library.stat().st_size
            if taken <= MOST:
                (out / LIBRARIES).mkdir(exist_ok=True)
                name = hash_of(kernel) + OF_KERNELS[ASSEMBLY]
                shutil.copyfile(library, out / LIBRARIES / name)
    if not (cache / FOLDER).is_dir():
        return
    wanted = {name for code in codes for name in _PATH.findall(code)}
    for compiled in sorted((cache / FOLDER).rglob(f"*{OF_KERNELS[TTIR]}")):
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
