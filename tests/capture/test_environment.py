"""What a capture's process gets of the environment, and that no secret of it is published."""

import os
from pathlib import Path

import pytest
from inductorscope.processes.programs import MARK, variables_for
from inductorscope.reading.run import read_run
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import sessions
from inductorscope.store.tables.models import Artifact
from sqlalchemy import Engine, select

from tests.capture.conftest import CLOUD, PASSWORD, SECRETS, TOKEN
from tests.conftest import ON_SQLITE


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
def test_a_capture_publishes_no_secret(engine: Engine, captured_script: Path) -> None:
    """Of a person, whose program gets all of these variables."""
    out = captured_script
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
