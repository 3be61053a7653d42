"""Machine code of captured kernels: compared by node, compiled without an operation, profiled."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
from inductorscope import urls
from inductorscope.answers.explorer.benchmark import add_benchmark
from inductorscope.answers.machine.left_out import LeftOut, Taken
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Graph, Job, Kernel, KernelCall
from sqlalchemy import select
from starlette.testclient import TestClient

from tests.support.html import one_line
from tests.support.triton import KERNEL, other_configuration


def test_machine_code_is_compared_and_operations_are_left_out(
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
        query = select(Graph.id, Graph.slug, KernelCall.handle).where(Graph.run_id == one)
        query = query.join(Kernel, Kernel.graph_id == Graph.id).join(
            KernelCall, KernelCall.kernel_id == Kernel.id
        )
        graph, slug, handle = session.execute(query.where(Kernel.name == KERNEL)).one()
    where = urls.kernel(one, slug, KERNEL, handle)
    text = client.get(where).text
    assert "Profile with Nsight Compute" in text
    lines = client.get(urls.api(where)).json()["machine"]["lines"]
    line = next(row for row in lines if row["without"])
    assert f'name="without" value="{line["line"]}"' in one_line(text)
    with sessions(engine).begin() as session:
        found = LeftOut(line["line"], "", line["without"], missing="The kernel does not compile.")
        add_benchmark(
            session, graph, KERNEL, handle, "no", datetime.now(UTC), msgspec.to_builtins(found)
        )
    text = client.get(where).text
    assert 'title="The kernel does not compile.">failed</a>' in text
    assert "Try again</button>" in text
    with sessions(engine).begin() as session:
        before, after = Taken(40, 12, 168, 160), Taken(30, 0, 96, 90)
        found = LeftOut(line["line"], line["text"], line["without"], "XBLOCK: 512", before, after)
        add_benchmark(
            session, graph, KERNEL, handle, "job", datetime.now(UTC), msgspec.to_builtins(found)
        )
    text = one_line(client.get(where).text)
    for part in ("168 → 96 registers", "12 → 0 spills", "40 → 30 instructions"):
        assert part in text
    assert "168 → 96 registers" in client.get(urls.markdown(where)).text
    same = {"Origin": str(client.base_url)}
    for asked in ({"without": line["line"]}, {"profile": True}):
        started = client.post(f"{urls.api(where)}/benchmark", json=asked, headers=same)
        assert started.status_code == 202, started.text
        with sessions(engine)() as session:
            assert asked.items() <= session.get_one(Job, started.json()["job"]).spec.items()
    form = client.post(f"{where}/benchmark", data={"without": "7"}, headers=same)
    assert form.headers["location"].startswith("/jobs/")
    engine.dispose()
