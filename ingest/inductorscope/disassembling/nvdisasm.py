"""Runs `nvdisasm` on a cubin. What is uploaded is only disassembled, never run."""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import zstandard

from inductorscope.formats.sizes import MIB
from inductorscope.processes.dying import die_with
from inductorscope.settings import load

SECONDS = 8
MEMORY = 512 * MIB
MOST_PRINTED = 64 * MIB
LARGEST = 16 * MIB
MOST_KEPT = 256 * MIB
"""Bytes of the folder with what was printed; the oldest goes first."""
LINES = ("-gi", "-c")
LIVE = ("-lrm", "count", "-c")
MISSING = (
    "nvdisasm is not installed here, so machine code is not shown. "
    "pip install 'inductorscope[machine]' installs it, and Triton and the CUDA toolkit contain it."
)
_PACKAGES = (("nvidia", "*/bin/nvdisasm"), ("triton", "backends/nvidia/bin/nvdisasm"))


class NotDisassembled(ValueError):
    """The message is a sentence for the user."""


@cache
def nvdisasm() -> str | None:
    """Where the program is: of the package nvidia-cuda-nvdisasm, of Triton, or on the PATH."""
    for package, pattern in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for path in sorted(Path(folder).glob(pattern), reverse=True):
                if os.access(path, os.X_OK):
                    return str(path)
    return shutil.which("nvdisasm")


def printed(cubin: bytes, digest: str, options: tuple[str, ...]) -> str:
    """What nvdisasm prints of a cubin; kept by its digest. Raises NotDisassembled."""
    folder = load().data / "disassembled"
    kept = folder / f"{digest}{''.join(options)}.zst"
    try:
        return zstandard.ZstdDecompressor().decompress(
            kept.read_bytes(), max_output_size=MOST_PRINTED
        ).decode("utf-8", "replace")  # fmt: skip
    except (OSError, zstandard.ZstdError):
        text = _run(cubin, options)
    _keep(kept, text)
    return text.decode("utf-8", "replace")


def _run(cubin: bytes, options: tuple[str, ...]) -> bytes:
    if not cubin.startswith(b"\x7fELF"):
        raise NotDisassembled("This file is no cubin: it does not begin as an ELF file does.")
    if len(cubin) > LARGEST:
        raise NotDisassembled(f"Only cubins up to {LARGEST // MIB} MiB are disassembled.")
    program = nvdisasm()
    if program is None:
        raise NotDisassembled(MISSING)
    parent = os.getpid()

    def limited() -> None:
        die_with(parent)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_PRINTED, MOST_PRINTED))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryDirectory(prefix="inductorscope-") as folder:
        given, out = Path(folder) / "kernel.cubin", Path(folder) / "printed"
        given.write_bytes(cubin)
        try:
            with out.open("wb") as stream:
                done = subprocess.run(
                    [program, *options, str(given)],
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.PIPE,
                    cwd=folder,
                    env={},
                    timeout=SECONDS,
                    preexec_fn=limited,  # a process with one thread
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise NotDisassembled(
                f"nvdisasm takes longer than {SECONDS} seconds on this cubin."
            ) from None
        except OSError as error:
            raise NotDisassembled(f"nvdisasm cannot be run: {error.strerror}.") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").replace(str(given), "it").strip()
            reason = said.partition("\n")[0][:300] or f"it ended with {done.returncode}"
            raise NotDisassembled(f"nvdisasm cannot read this cubin: {reason}")
        return out.read_bytes()


def _keep(path: Path, text: bytes) -> None:
    """Writes it, and deletes the oldest texts where there are too many. A full disk keeps
    nothing."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as stream:
            stream.write(zstandard.compress(text, 3))
        Path(stream.name).replace(path)
        files = sorted(path.parent.iterdir(), key=lambda file: -file.stat().st_mtime)
        size = 0
        for file in files:
            size += file.stat().st_size
            if size > MOST_KEPT:
                file.unlink(missing_ok=True)
    except OSError:
        return
