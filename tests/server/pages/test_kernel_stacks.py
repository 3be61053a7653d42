"""Torch's own stacks of kernels, in the log and in the trace, beside the lines of FX nodes."""

import gzip
import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from inductorscope.cli.local import read_paths
from inductorscope.formats.graph.provenance import innermost_places, places_of_calls
from inductorscope.settings import Settings
from starlette.testclient import TestClient

from tests.support.html import one_line

KERNEL = "triton_poi_fused_maximum_neg_0:1"


def test_stacks_of_the_log_and_the_trace_are_compared_with_the_nodes(
    tmp_path: Path,
    fixtures: Path,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> None:
    """The trace is of torch 2.11; its stacks were added by torch 2.14's `inductor_trace_handler`,
    and one line is changed here."""
    folder = shutil.copytree(fixtures / "cuda-foo1", tmp_path / "foo1")
    with gzip.open(fixtures / "stacks-of-2.14.trace.json.gz") as packed:
        text = packed.read().replace(b"line 9, in foo1", b"line 7, in foo1")
    (folder / "compiled.trace.json.gz").write_bytes(gzip.compress(text))
    settings = Settings(data=tmp_path / "data", database_url="")
    run = read_paths(
        settings, [folder], name="stacks", tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    with opened(settings) as client:
        address = f"/runs/{run}/graphs/model__0_inference_0.0/kernels/{KERNEL}"
        log, trace = client.get(f"/api{address}").json()["stacks"]
        page = one_line(client.get(address).text)
    assert [Path(place).name for place in log["places"]] == ["models.py:10", "models.py:9"]
    assert (log["source"], log["further"], log["lacking"]) == ("the log", [], [])
    assert trace["source"] == "the trace “compiled”"
    assert (trace["further"], trace["lacking"]) == (["models.py:7"], ["models.py:9"])
    assert "No FX node is from models.py:7. They lack models.py:9." in page


def test_without_fx_nodes_torch_alone_says_which_lines_a_kernel_computes(
    tmp_path: Path,
    fixtures: Path,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> None:
    (code,) = (fixtures / "cuda-foo1").rglob("output_code.py")
    shutil.copy(code, tmp_path)
    shutil.copy(fixtures / "stacks-of-2.14.trace.json.gz", tmp_path / "compiled.trace.json.gz")
    settings = Settings(data=tmp_path / "data", database_url="")
    files = [tmp_path / "output_code.py", tmp_path / "compiled.trace.json.gz"]
    run = read_paths(
        settings, files, name="stacks", tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    with opened(settings) as client:
        (graph,) = client.get(f"/api/runs/{run}").json()["graphs"]
        address = f"/runs/{run}/graphs/{graph['slug']}/kernels/{KERNEL}"
        answer = client.get(f"/api{address}").json()
        page = one_line(client.get(address).text)
    assert answer["fx_nodes"] == []
    assert [Path(place).name for place in answer["stacks"][0]["places"]] == [
        "models.py:10", "models.py:9",
    ]  # fmt: skip
    assert '<span class="chip">torch alone</span> Torch' in page
    assert "differs</span>" not in page
    assert "No FX node is from" not in page


def test_a_stack_stands_for_its_innermost_line() -> None:
    stack = '  File "/m/a.py", line 3, in f\n    g()\n  File "/m/b.py", line 5, in g\n    x.sin()\n'
    assert innermost_places([stack, stack, 7, "no stack"]) == ["/m/b.py:5"]
    assert innermost_places({"stack": stack}) == []
    said = {"k:2": [stack], "extern:mm": {"stack_traces": [stack]}, "odd": 3}
    assert places_of_calls(json.dumps(said).encode()) == {
        ("k", 2): ["/m/b.py:5"], ("extern:mm", None): ["/m/b.py:5"], ("odd", None): [],
    }  # fmt: skip
    assert places_of_calls(b"{") == places_of_calls(b"[1]") == {}
