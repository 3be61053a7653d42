"""Pages of what a diagnosis found, as the server shows them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.diagnoses import write_diagnosis
from inductorscope_server.web.app import create_app
from starlette.testclient import TestClient

from tests.support.html import one_line
from tests.support.places import FIXTURES


def shown(kind: str, found: dict[str, Any], data: Path) -> tuple[str, str]:
    """The page of the diagnosis, and that of the run's failures."""
    settings = Settings(data=data, database_url="")
    run = read_paths(
        settings, [FIXTURES / "cuda-foo1"], name="foo1", tags=[], origin="capture",
        progress=lambda *_: None,
    ).run_id  # fmt: skip
    engine = make_engine(settings)
    with sessions(engine).begin() as session:
        write_diagnosis(
            session, run, kind, f"{kind}-1", datetime.now(UTC), complete=True, result=found
        )
    engine.dispose()
    with TestClient(create_app(settings, alone=True), base_url="http://127.0.0.1:8765") as client:
        pages = [client.get(path) for path in (urls.failure_part(run, kind), urls.failures(run))]
    assert [page.status_code for page in pages] == [200, 200]
    one, other = (one_line(page.text) for page in pages)
    return one, other
