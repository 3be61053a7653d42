"""Finds a Chromium for the browser tests; run as a program, it gets one where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

Scheme = Literal["light", "dark"]
SHELL = "chromium-headless-shell"
"""Debian's Chromium without windows, which needs a third less of the processor."""
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def executable() -> str | None:
    """Path of a Chromium: the one named by INDUCTORSCOPE_CHROMIUM, the machine's, Playwright's."""
    named = os.environ.get("INDUCTORSCOPE_CHROMIUM")
    if named:
        return named
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if path and Path(path).exists() else None


def arguments() -> list[str]:
    """Flags that keep Chromium quiet, and let it run as root, where its sandbox cannot."""
    flags = ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")
    return flags


def install() -> bool:
    """Debian's package where we may install one, else Playwright's own build."""
    attempts = []
    if shutil.which("apt-get") and os.geteuid() == 0:
        update = ["apt-get", "update", "-qq"]
        attempts = [[update, ["apt-get", "install", "-y", "-qq", name]] for name in NAMES[:2]]
    attempts.append([[sys.executable, "-m", "playwright", "install", "chromium"]])
    for commands in attempts:
        if all(subprocess.run(command, check=False).returncode == 0 for command in commands):
            return True
    return False


if __name__ == "__main__":
    if executable() is None and not (install() and executable()):
        sys.exit(
            "The browser tests need Chromium and none could be installed. Install one and name it: "
            "INDUCTORSCOPE_CHROMIUM=/path/to/chromium make test"
        )
