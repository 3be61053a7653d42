"""The pytest plugin: the fixture `inductor`, and the option `--inductor-update`.

Every test session of an environment with Inductorscope loads this module, so it imports nothing
else until a test uses the fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from inductorscope.testing.compiled import Inductor

UPDATE = "--inductor-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("inductorscope").addoption(
        UPDATE, action="store_true", help="write what compiles are now to the locks of the tests"
    )


@pytest.fixture
def inductor(request: pytest.FixtureRequest, tmp_path: Path) -> Inductor:
    """Compiles functions and models, and asserts what their compiles are."""
    from inductorscope.testing.compiled import Inductor

    lock = request.path.with_suffix(".inductor.lock")
    return Inductor(request.node.name, lock, tmp_path, request.config.getoption(UPDATE))
