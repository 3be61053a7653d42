"""The promise of the whole: one line of FX ↔ IR ↔ kernel ↔ source."""

from pathlib import Path

import pytest
from inductorscope.correlate.directory import read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.model import GraphLinks


@pytest.fixture
def folder(fixtures: Path) -> Path:
    (file,) = (fixtures / "cuda-foo1").rglob("output_code.py")
    return file.parent


def lines_of(links: GraphLinks, stage: str, entity: str) -> list[int]:
    wanted = links.entities.index(entity)
    columns = links.stages[stage]
    pairs = zip(columns.lines, columns.entities, strict=True)
    return [line for line, entity in pairs if entity == wanted]


def texts_of(folder: Path, name: str, lines: list[int]) -> list[str]:
    text = (folder / name).read_text().split("\n")
    return [text[line - 1].strip() for line in lines]


def test_neg_is_the_same_everywhere(folder: Path) -> None:
    links = graph_links(read_texts(folder / "output_code.py"))
    post = texts_of(folder, "fx_graph_transformed.py", lines_of(links, "post_grad", "fx:neg"))
    assert any(text.startswith("neg: ") for text in post)
    ir = texts_of(folder, "ir_post_fusion.txt", lines_of(links, "ir_post", "op:op0.neg"))
    assert ir == ["neg = ops.neg(load_1)"]
    kernel = texts_of(folder, "output_code.py", lines_of(links, "code", "op:op0.neg"))
    assert kernel == ["tmp2 = -tmp1"]
    assert "tmp2 = -tmp1" in texts_of(folder, "output_code.py", lines_of(links, "code", "fx:neg"))
    assert lines_of(links, "source:/home/user/models/models.py", "fx:neg") == [9]


def test_the_call_knows_its_buffers_and_nodes(folder: Path) -> None:
    links = graph_links(read_texts(folder / "output_code.py"))
    (line,) = lines_of(links, "code", "call:triton_poi_fused_maximum_neg_0:1")
    assert line in lines_of(links, "code", "fx:maximum")
    assert line in lines_of(links, "code", "buf:buf0")


def test_columns_are_sorted_and_equally_long(folder: Path) -> None:
    links = graph_links(read_texts(folder / "output_code.py"))
    for columns in links.stages.values():
        assert columns.lines == sorted(columns.lines)
        lengths = {len(columns.lines), len(columns.entities), len(columns.call)}
        assert lengths == {len(columns.confidence)}
        assert all(-1 <= call < len(links.entities) for call in columns.call)
