"""Finds a Chromium for the browser tests; run as a program, it gets one where there is none."""

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
    flags.append("--disable-gpu")  # a process would imitate one
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")
    return flags


def debians(name: str) -> bool:
    """Installs Debian's package where we may."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return False
    commands = (["update"], ["install", "-y", name])
    return not any(subprocess.call(["apt-get", "-qq", *command]) for command in commands)


def obtain() -> bool:
    """Gets the Chromium that needs least, also beside another one, or any."""
    if os.environ.get("INDUCTORSCOPE_CHROMIUM") or shutil.which(SHELL) or debians(SHELL):
        return True
    if executable() or debians("chromium"):
        return True
    subprocess.call([sys.executable, "-m", "playwright", "install", "chromium"])
    return executable() is not None


if __name__ == "__main__":
    if not obtain():
        sys.exit(
            "The browser tests need Chromium and none could be installed. Install one and name it: "
            "INDUCTORSCOPE_CHROMIUM=/path/to/chromium make test"
        )
