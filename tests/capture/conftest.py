"""A script that is captured once for all tests."""

import fcntl
from pathlib import Path

import pytest
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings

SCRIPT = Path(__file__).with_name("small_script.py")
TOKEN, PASSWORD, CLOUD = "hiddent0ken", "hiddenpassw0rd", "hiddencl0ud"
SECRETS = {
    "INDUCTORSCOPE_TOKEN": TOKEN,
    "INDUCTORSCOPE_DATABASE_URL": f"postgresql://me:{PASSWORD}@db/runs",
    "TORCH_HUB_TOKEN": CLOUD,
    "HF_TOKEN": CLOUD,
    "AWS_SECRET_ACCESS_KEY": CLOUD,
    "SOMETHING_ELSE": CLOUD,
}


@pytest.fixture(scope="session")
def captured_script(between: Path, cache: Path) -> Path:
    """The script of the tests, captured by a person whose environment holds secrets."""
    out = between / "script"
    with (between / "script.lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, value in {**SECRETS, "TORCH_HUB_TOKEN": ""}.items():
            patch.setenv(name, value)
        if not (out / "capture.json").exists():
            spec = CaptureSpec(model=str(SCRIPT), args=("100000",), seconds=0.2)
            run_capture(spec, out, Settings(data=out, database_url=""), trusted=True, cache=cache)
    return out
