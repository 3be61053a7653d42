"""tlparse in an environment of its own, so that it is nobody's dependency."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.measure import Finished, run

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
TLPARSE = "tlparse==0.4.3"


def tlparse() -> Path:
    """The program; installed from PyPI the first time."""
    program = ENVIRONMENT / "bin" / "tlparse"
    if not program.exists():
        print(f"Installing {TLPARSE} into {ENVIRONMENT.relative_to(HERE.parent)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        pip = [os.fspath(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", TLPARSE], check=True)
    return program


def parse(log: Path, work: Path) -> Finished:
    """One run of tlparse, into a fresh folder that is removed again."""
    out = work / "tlparse"
    shutil.rmtree(out, ignore_errors=True)
    command = [os.fspath(tlparse()), "--no-browser", "-o", os.fspath(out), os.fspath(log)]
    try:
        return run(command, work / "tlparse.log")
    finally:
        shutil.rmtree(out, ignore_errors=True)
