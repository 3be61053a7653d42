"""Where tests find their inputs."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
SHARED = Path(os.environ.get("INDUCTORSCOPE_SHARED", ROOT.parent / "shared"))
"""Further real traces, beside the checkout; tests that need them are skipped without."""
