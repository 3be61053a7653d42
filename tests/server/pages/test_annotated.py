"""Annotated code to download."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from starlette.testclient import TestClient


def test_the_line_style_is_the_tutorials(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}/annotated.py")
    assert answer.status_code == 200
    assert 'filename="output_code.annotated_line.py"' in answer.headers["content-disposition"]
    assert "# Corresponding FX code line: neg = torch.ops.aten.neg.default(arg0_1)" in answer.text
    ast.parse(answer.text)


def test_the_kernel_style_lists_the_users_lines(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}/annotated.py", params={"style": "kernel"})
    assert (
        "# Computes 2 FX nodes:\n#   /home/user/models/models.py:9  a = torch.neg(x1)"
        in answer.text
    )
    ast.parse(answer.text)


def test_what_is_not_there_is_said(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}x/annotated.py")
    assert answer.status_code == 404
    assert "has no graph" in answer.json()["error"]["what"]
    assert filled.get(f"/api{graph}/annotated.py", params={"style": "words"}).status_code == 422


@pytest.mark.parametrize("style", ["line", "kernel"])
def test_explorer_and_kernel_page_lead_there(filled: TestClient, graph: str, style: str) -> None:
    page = filled.get(graph).text
    hrefs = [part.split('"')[0] for part in page.split('href="') if "annotated.py" in part[:300]]
    wanted = f"/api{graph}/annotated.py" + ("?style=kernel" if style == "kernel" else "")
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
