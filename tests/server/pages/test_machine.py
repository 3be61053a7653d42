"""Machine code of captured kernels: compared by node, and profiled."""

from pathlib import Path

from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Graph, Job, Kernel, KernelCall
from sqlalchemy import select
from starlette.testclient import TestClient

from tests.support.triton import KERNEL, other_configuration


def test_machine_code_is_compared_and_kernels_are_profiled(
    client: TestClient, own_settings: Settings, fixtures: Path, tmp_path: Path
) -> None:
    cache = fixtures / "triton-cache"
    one, two = (
        read_paths(
            own_settings, [folder], name=None, tags=[], origin="capture", progress=lambda *_: None
        ).run_id
        for folder in (cache, other_configuration(cache, tmp_path / "other"))
    )
    compared = client.get(urls.compare(one, two)).text
    assert 'data-testid="machine-nodes"' in compared
    assert '<td class="code">add</td>' in compared

    engine = make_engine(own_settings)
    with sessions(engine)() as session:
        query = select(Graph.slug, KernelCall.handle).where(Graph.run_id == one)
        query = query.join(Kernel, Kernel.graph_id == Graph.id).join(
            KernelCall, KernelCall.kernel_id == Kernel.id
        )
        slug, handle = session.execute(query.where(Kernel.name == KERNEL)).one()
    where = urls.kernel(one, slug, KERNEL, handle)
    text = client.get(where).text
    assert "Profile with Nsight Compute" in text
    same = {"Origin": str(client.base_url)}
    asked = {"profile": True}
    started = client.post(f"{urls.api(where)}/benchmark", json=asked, headers=same)
    assert started.status_code == 202, started.text
    with sessions(engine)() as session:
        assert asked.items() <= session.get_one(Job, started.json()["job"]).spec.items()
    form = client.post(f"{where}/benchmark", data={"profile": "1"}, headers=same)
    assert form.headers["location"].startswith("/jobs/")
    engine.dispose()
