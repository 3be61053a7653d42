"""What a capture's process gets of the environment, and that no secret of it is published."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inductorscope.processes.programs import MARK, variables_for
from inductorscope.reading.run import read_run
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import sessions
from inductorscope.store.tables.models import Artifact
from sqlalchemy import Engine, select

from tests.conftest import ON_SQLITE

TOKEN, PASSWORD, CLOUD = "hiddent0ken", "hiddenpassw0rd", "hiddencl0ud"
SECRETS = {
    "INDUCTORSCOPE_TOKEN": TOKEN,
    "INDUCTORSCOPE_DATABASE_URL": f"postgresql://me:{PASSWORD}@db/runs",
    "TORCH_HUB_TOKEN": CLOUD,
    "HF_TOKEN": CLOUD,
    "AWS_SECRET_ACCESS_KEY": CLOUD,
    "SOMETHING_ELSE": CLOUD,
}

CAPTURE = """
import sys
from pathlib import Path
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings

spec = CaptureSpec(model="neg-maximum-cat", repeats=1, seconds=0.1, profile=False)
out, cache = Path(sys.argv[1]), Path(sys.argv[2])
settings = Settings(data=out, database_url="")
facts = run_capture(spec, out, settings, trusted=True, cache=cache)
assert facts.state == "complete", facts.error
"""


def test_a_list_says_what_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    passing = {
        "TORCHINDUCTOR_MAX_AUTOTUNE": "0", "TORCH_LOGS": "", "CUDA_VISIBLE_DEVICES": "0",
        "OMP_NUM_THREADS": "2", "LC_ALL": "C.UTF-8", "HF_HOME": "/hub", MARK: "job",
    }  # fmt: skip
    for name, value in passing.items():
        monkeypatch.setenv(name, value)
    given = variables_for(trusted=False)
    assert passing.items() <= given.items()
    assert given["PATH"] == os.environ["PATH"]
    assert not SECRETS.keys() & given.keys()


def test_a_persons_program_gets_all_but_our_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    ours = {name for name in SECRETS if name.startswith("INDUCTORSCOPE_")}
    given = variables_for(trusted=True)
    assert given.keys() >= SECRETS.keys() - ours
    assert not any(name.startswith("INDUCTORSCOPE_") for name in given)


@ON_SQLITE
@pytest.mark.torch
def test_a_capture_publishes_no_secret(engine: Engine, cache: Path, tmp_path: Path) -> None:
    """Of a person, whose program gets all of these variables."""
    out = tmp_path / "out"
    subprocess.run(
        [sys.executable, "-c", CAPTURE, str(out), str(cache)],
        env=os.environ | SECRETS | {"TORCH_HUB_TOKEN": ""}, check=True, timeout=600,
    )  # fmt: skip
    secrets = [secret.encode() for secret in (TOKEN, PASSWORD, CLOUD)]
    written = [path for path in out.rglob("*") if path.is_file()]
    assert any(b"os.environ[" in path.read_bytes() for path in written)
    for path in written:
        assert not any(secret in path.read_bytes() for secret in secrets), path
    read_run(out, session_factory=sessions(engine), origin="capture")
    with sessions(engine)() as session:
        for digest in session.scalars(select(Artifact.digest)):
            plain = read_blob(session, digest) or b""
            assert not any(secret in plain for secret in secrets)
