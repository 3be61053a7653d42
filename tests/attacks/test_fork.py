"""A graph of an uploaded run is hostile code: it runs only if its reader agrees, and confined."""

import shutil
import textwrap
from pathlib import Path

import httpx
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings

from tests.support.escapes import as_code, escapes, succeeded
from tests.support.places import FIXTURES
from tests.support.serving import Served

REPRO = """
class Repro(torch.nn.Module):
{escapes}
    def forward(self, arg0_1, arg1_1):
        neg = torch.ops.aten.neg.default(arg0_1)
        self.seen = neg
        return (torch.ops.aten.maximum.default(arg1_1, neg),)

def load_args(reader):
    pass
mod = Repro()
"""


def test_a_forked_upload_escapes_nothing(playing: Served, tmp_path: Path) -> None:
    tried = escapes(playing.data, playing.process.pid, str(playing.data / "kernels"))
    upload = tmp_path / "upload"
    shutil.copytree(FIXTURES / "cuda-foo1", upload)
    shutil.rmtree(upload / "torch_trace")  # it has the graph too
    (folder,) = upload.glob("torch_compile_debug/*/torchinductor/model__0_inference_0.0")
    for name in ("fx_graph_readable.py", "fx_graph_transformed.py"):
        (folder / name).unlink()
    text = REPRO.format(escapes=textwrap.indent(as_code(tried), "    "))
    (folder / "fx_graph_runnable.py").write_text(text)
    settings = Settings(playing.data, playing.database_url)
    run = read_paths(
        settings, [upload], name="hostile", tags=[], origin="upload",
        progress=lambda *_: None,
    ).run_id  # fmt: skip
    with httpx.Client(base_url=playing.url, timeout=120) as client:
        page = client.get(f"/api/runs/{run}/graphs/model__0_inference_0.0/fork").json()
        assert page["fork"]["uploaded"]
        body = {"code": page["fork"]["code"], "fork": run}
        assert "escaped" in body["code"]
        refused = client.post("/api/play/tries", json=body)
        assert refused.status_code == 403
        assert "not agreed" in refused.text
        walls = client.post("/api/play/ready").json()["protections"]
        agreed = client.post("/api/play/tries", json=body | {"agreed": True})
    if any(walls.values()):
        assert "cannot confine" in agreed.text
        return
    answer = agreed.json()
    assert answer["run"], answer
    assert not succeeded(tried, answer["printed"])
