"""Any level of a debug directory may be given."""

import shutil
from pathlib import Path

import pytest
from inductorscope.correlate.directory import NoGraphs, links_of_path

KERNEL = "triton_poi_fused_maximum_neg_0"


def test_every_level_answers_the_same(fixtures: Path) -> None:
    (code,) = (fixtures / "cuda-foo1").rglob("output_code.py")
    expected = links_of_path(code.parent)
    assert [graph["name"] for graph in expected["graphs"]] == ["model__0_inference_0.0"]
    for path in (code, *list(code.parents)[:5]):
        assert links_of_path(path) == expected
    (kernel,) = expected["graphs"][0]["kernels"]
    assert kernel["name"] == KERNEL
    line = next(line for line in kernel["lines"] if "op0.neg.neg" in line["ops"])
    assert (line["fx"], line["confidence"]) == (["neg"], "inferred")


def test_equal_names_of_several_processes_are_told_apart(fixtures: Path, tmp_path: Path) -> None:
    (code,) = (fixtures / "cuda-foo1").rglob("output_code.py")
    for process in ("run_a", "run_b"):
        shutil.copytree(code.parent, tmp_path / process / "torchinductor" / code.parent.name)
    names = [graph["name"] for graph in links_of_path(tmp_path)["graphs"]]
    assert names == ["model__0_inference_0.0", "model__0_inference_0.0~2"]


def test_a_lone_output_code_has_no_lines_but_kernels(fixtures: Path, tmp_path: Path) -> None:
    (code,) = (fixtures / "cuda-foo1").rglob("output_code.py")
    shutil.copy(code, tmp_path / "saved.py")
    (graph,) = links_of_path(tmp_path / "saved.py")["graphs"]
    assert graph["name"] == "saved"
    assert [kernel["name"] for kernel in graph["kernels"]] == [KERNEL]


def test_nothing_to_link_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoGraphs, match=r"output_code\.py"):
        links_of_path(tmp_path)
    with pytest.raises(NoGraphs, match="does not exist"):
        links_of_path(tmp_path / "nowhere")
