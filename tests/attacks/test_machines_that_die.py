"""A small form of `machines_that_die`, without dying workers, whose folders take minutes to go."""

from pathlib import Path

import pytest

from tests.attacks.machines_that_die import run
from tests.support.postgres import binaries
from tests.support.seaweed import weed

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.timeout(480)]


def test_every_upload_ends_once(tmp_path: Path) -> None:
    if binaries() is None or weed() is None:
        pytest.skip("needs PostgreSQL and SeaweedFS")
    dying = ("store", "database", "web")
    assert run(tmp_path, 3, 2, between=1.0, workers=1, kinds=dying) == []
