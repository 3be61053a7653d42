"""Runs a program that disassembles a file, with limits, and keeps its output."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import zstandard

from inductorscope.formats.sizes import MIB
from inductorscope.processes.dying import die_with
from inductorscope.settings import load

SECONDS = 12
MEMORY = 512 * MIB
MOST_PRINTED = 64 * MIB
LARGEST = 16 * MIB
MOST_KEPT = 256 * MIB
"""Most bytes in the folder of kept outputs; the oldest are deleted first."""


class NotDisassembled(ValueError):
    """A file cannot be disassembled; the message is a sentence for the user."""


def printed_by(
    programs: Sequence[str],
    missing: str,
    content: bytes,
    digest: str,
    options: tuple[str, ...],
    magic: bytes = b"\x7fELF",
) -> str:
    """Returns the output of the first program that can read a file, by default an ELF file; kept by
    the file's digest. `programs`: their names or paths; `missing`: the sentence if there is none.
    Raises NotDisassembled."""
    folder = load().data / "disassembled"
    kept = folder / f"{digest}{''.join(options)}.zst"
    try:
        return zstandard.ZstdDecompressor().decompress(
            kept.read_bytes(), max_output_size=MOST_PRINTED
        ).decode("utf-8", "replace")  # fmt: skip
    except (OSError, zstandard.ZstdError):
        text = _printed(programs, missing, content, options, magic)
    _keep(kept, text)
    return text.decode("utf-8", "replace")


def _printed(
    programs: Sequence[str], missing: str, content: bytes, options: tuple[str, ...], magic: bytes
) -> bytes:
    if not content.startswith(magic):
        raise NotDisassembled(
            "This file is no compiled kernel: it does not begin as an ELF file does."
        )
    if len(content) > LARGEST:
        raise NotDisassembled(f"Only files up to {LARGEST // MIB} MiB are disassembled.")
    failed: NotDisassembled | None = None
    for program in filter(None, map(shutil.which, programs)):
        try:
            return _run(program, content, options)
        except NotDisassembled as error:
            failed = failed or error  # the newest program's error
    raise failed or NotDisassembled(missing)


def _run(program: str, content: bytes, options: tuple[str, ...]) -> bytes:
    name, parent = Path(program).name, os.getpid()

    def limited() -> None:
        die_with(parent)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_PRINTED, MOST_PRINTED))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryDirectory(prefix="inductorscope-") as folder:
        given, out = Path(folder) / "kernel", Path(folder) / "printed"
        given.write_bytes(content)
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
                    preexec_fn=limited,  # safe: this process has a single thread
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise NotDisassembled(
                f"{name} takes longer than {SECONDS} seconds on this kernel."
            ) from None
        except OSError as error:
            raise NotDisassembled(f"{name} cannot be run: {error.strerror}.") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").replace(str(given), "it").strip()
            lines = sorted(said.splitlines(), key=lambda line: "warning" in line)
            reason = lines[0][:300] if lines else f"it ended with {done.returncode}"
            raise NotDisassembled(f"{name} cannot read this kernel: {reason}")
        return out.read_bytes()


def _keep(path: Path, text: bytes) -> None:
    """Writes a text, and deletes the oldest ones if they take too much room. Keeps nothing if the
    disk is full."""
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
