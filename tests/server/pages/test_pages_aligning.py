"""A complete run whose kernels' lines are still to be aligned, as pages tell it."""

from pathlib import Path

from inductorscope import urls
from inductorscope.reading.graphs.relink import relink
from inductorscope.reading.run import read_run
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from starlette.testclient import TestClient

from tests.support.html import one_line


def test_lines_to_come_are_told_until_they_are_there(
    client: TestClient, own_settings: Settings, fixtures: Path
) -> None:
    engine = make_engine(own_settings)
    factory = sessions(engine)
    root = fixtures / "cuda-adam"
    run = read_run(root, session_factory=factory, origin="ingest", aligned_at_once=0).run_id
    state = client.get(f"/api{urls.run_state(run)}").json()
    assert (state["state"], state["lines"]) == ("complete", {"aligned": 0, "graphs": 1})
    page = client.get(f"/api{urls.run(run)}").json()
    (graph,) = page["graphs"]
    assert page["reading"] is None
    assert graph["aligning"]
    shown = one_line(client.get(urls.run(run)).text)
    assert "lines still being aligned" in shown
    assert "0 of 1 graph aligned" in shown
    asked = urls.run_state(run, graphs=1, lines="1")
    assert asked.replace("&", "&amp;") in shown
    assert "HX-Refresh" not in client.get(asked).headers
    explorer = f"/api{urls.graph(run, graph['slug'])}/explorer"
    before = client.get(explorer).json()
    assert before["aligning"]
    assert before["coverage"]["lines_inferred"] == 0
    assert before["kernels"]
    pages = (urls.fusing(run), urls.roofline(run))
    for path in pages:
        told = client.get(f"/api{path}").json()
        assert told["unfinished"]["lines"] == {"aligned": 0, "graphs": 1}
        assert told["notes"] == ["1 of 1 graph will be here once the lines of kernels are aligned."]
        waiting = client.get(path).text
        assert asked.replace("&", "&amp;") in waiting
        assert "No two kernels" not in waiting
        assert "No profile names" not in waiting

    assert relink(engine, run=run).done == 1
    engine.dispose()
    assert client.get(f"/api{urls.run_state(run)}").json()["lines"] is None
    assert client.get(asked).headers["HX-Refresh"] == "true"
    after = client.get(explorer).json()
    assert not after["aligning"]
    assert after["coverage"]["lines_inferred"] > 0
    assert "still being aligned" not in client.get(urls.run(run)).text
    for path in pages:
        told = client.get(f"/api{path}").json()
        assert told["unfinished"] is None
        assert told["notes"] == []
        assert told.get("unfused") or told.get("kernels")
