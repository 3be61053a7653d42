"""Annotated code to download."""

import ast
import re
from pathlib import Path

from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from starlette.testclient import TestClient


def test_it_is_written_as_in_the_tutorial(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}/annotated.py")
    assert answer.status_code == 200
    assert 'filename="output_code.annotated.py"' in answer.headers["content-disposition"]
    assert "# Corresponding FX code line: neg = torch.ops.aten.neg.default(arg0_1)" in answer.text
    ast.parse(answer.text)


def test_what_is_not_there_is_said(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}x/annotated.py")
    assert answer.status_code == 404
    assert "has no graph" in answer.json()["error"]["what"]


def test_the_explorer_leads_there(filled: TestClient, graph: str) -> None:
    page = filled.get(graph).text
    hrefs = [part.split('"')[0] for part in page.split('href="') if "annotated.py" in part[:300]]
    wanted = f"/api{graph}/annotated.py"
    assert wanted in hrefs
    assert filled.get(wanted).status_code == 200


def test_no_link_without_the_graph_that_it_needs(
    client: TestClient, own_settings: Settings, fixtures: Path
) -> None:
    code = fixtures / "output-code" / "cuda-user.py"
    quiet = lambda step, done, total, unit: None  # noqa: E731
    run = read_paths(
        own_settings, [code], name="a", tags=[], origin="ingest", progress=quiet
    ).run_id
    pages = re.findall(
        rf'href="(/runs/{run}/graphs/[^"?/]+(?:/kernels/[^"?]+)?)', client.get(f"/runs/{run}").text
    )
    pages += re.findall(
        rf'href="(/runs/{run}/graphs/[^"?/]+/kernels/[^"?]+)',
        client.get(f"/runs/{run}/kernels").text,
    )
    assert any("/kernels/" in page for page in pages)
    assert not [page for page in pages if "annotated.py" in client.get(page).text]
