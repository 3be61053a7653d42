"""Modules of the front end, bundled for Node and run there."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

FRONT = Path(__file__).resolve().parents[2] / "frontend"


def bundled(name: str, folder: Path) -> Path:
    """`frontend/test/NAME.ts` with all that it imports."""
    if not (FRONT / "node_modules" / "esbuild").is_dir():
        pytest.skip("needs the packages of the front end")
    bundle = folder / f"{name}.mjs"
    command = ["node_modules/.bin/esbuild", f"test/{name}.ts", "--bundle", "--format=esm"]
    command += ["--platform=node", f"--outfile={bundle}", "--log-level=warning"]
    subprocess.run(command, cwd=FRONT, check=True)
    return bundle


def answer(bundle: Path, asked: object) -> Any:
    """What the bundle prints for its input, both as JSON."""
    done = subprocess.run(
        ["node", str(bundle)], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
