"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces beside the checkout; tests that need it are skipped without it."""
    folder = Path(os.environ.get("INDUCTORSCOPE_SHARED", ROOT.parent / "shared"))
    if not (folder / "traces").is_dir():
        pytest.skip("needs the folder of shared traces beside the checkout")
    return folder


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Small captures of our own, part of the checkout."""
    return ROOT / "tests" / "fixtures"
