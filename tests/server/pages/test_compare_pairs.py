"""Pairs of real runs: what their comparison says of each, and that the parts of a step sum."""

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from starlette.testclient import TestClient

from tests.support.html import one_line


class Opened(NamedTuple):
    """A client, and the settings of its installation."""

    client: TestClient
    settings: Settings


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> Iterator[Opened]:
    settings = Settings(data=tmp_path_factory.mktemp("pairs") / "data", database_url="")
    with opened(settings) as client:
        yield Opened(client, settings)


def read(installation: Opened, folder: Path, name: str | None = None) -> str:
    return read_paths(
        installation.settings, [folder], name=name, tags=[], origin="ingest",
        progress=lambda *_: None,
    ).run_id  # fmt: skip


def said_of(installation: Opened, one: str, other: str) -> dict[str, str]:
    """The sentences of two runs' comparison by label, in their order."""
    page = json.loads(installation.client.get(urls.api(urls.compare(one, other))).text)
    more = sum(bar["more_us"] for bar in page["bars"])
    assert more == pytest.approx(page["step"]["more_us"], abs=1e-6)
    return {line["label"]: line["text"].replace("\u202f", " ") for line in page["said"]}


def said(installation: Opened, one: Path, other: Path) -> dict[str, str]:
    return said_of(installation, *(read(installation, folder) for folder in (one, other)))


def test_max_autotune_is_named_before_what_it_costs(installation: Opened, shared: Path) -> None:
    traces = shared / "traces"
    found = said(installation, traces / "cuda-gpt-train", traces / "cuda-gpt-max-autotune")
    assert list(found) == [
        "inputs differ",
        "cannot tell",
        "where",
        "kernels differ",
        "compile time",
    ]
    assert found["inputs differ"] == "TORCHINDUCTOR_MAX_AUTOTUNE (not set → 1)."
    assert found["cannot tell"].startswith("A step of B is 702 µs (11.9 %) shorter: 5.91 ms → 5.21")
    assert "87.6 % of A's step and 86.6 % of B's are idle." in found["where"]
    kernel = "`extern_kernels.mm` → `triton_tem_fused_mm_8` changed (`models.py:29`, −2.08 µs)"
    assert kernel in found["kernels differ"]
    assert ". The largest of these: `extern_kernels.mm` and 1 more → " in found["kernels differ"]
    assert "The other 45 have the same code (−13.9 µs); the largest: " in found["kernels differ"]
    assert found["kernels differ"].endswith("`models.py:26`, −3.97 µs).")
    assert "autotuning differs most" in found["compile time"]


def test_the_same_code_is_slower_with_another_geometry(installation: Opened, shared: Path) -> None:
    names = ("cuda-gpt-max-autotune", "cuda-gpt-train")
    one, other = (read(installation, shared / "traces" / name) for name in names)
    page = json.loads(installation.client.get(urls.api(urls.compare(one, other))).text)
    text = one_line(installation.client.get(urls.compare(one, other)).text)
    assert "21 of 66 groups differ in code; 64 are listed, the largest difference first" in text
    assert "Generated kernels</span><b>57 → 42" in text
    first, second = page["groups"][:2]
    assert (first["change"], second["change"]) == ("same code", "same code")
    assert first["notes"] == [
        "other geometry: grid 24 × 64 threads → 6 × 256 threads on 132 multiprocessors, of which "
        "108 → 126 get no block; 4 → 1 configuration to choose from."
    ]
    assert second["notes"][0].startswith("other geometry: grid 128 × 64 threads → 8 × 256 threads")


def test_two_versions_of_torch_without_times_of_both(installation: Opened, shared: Path) -> None:
    name = "cpu-gpt-train"
    found = said(installation, shared / "traces" / name, shared / "truth" / name)
    assert list(found) == ["inputs differ", "graphs differ", "kernels differ", "cost unknown"]
    assert found["inputs differ"].startswith("torch (2.11.0+cu130 → 2.13.0+cpu), ")
    assert "at `models.py:40`" in found["graphs differ"]
    # Only one run has times, so nothing is said to be slower or faster.
    assert "µs" not in found["kernels differ"]
    assert "ms" not in found["kernels differ"]


def test_a_model_on_two_devices(installation: Opened, shared: Path) -> None:
    traces = shared / "traces"
    found = said(installation, traces / "cpu-gpt-train", traces / "cuda-gpt-train")
    assert list(found)[:3] == ["inputs differ", "cannot tell", "where"]
    assert found["inputs differ"].startswith("device (cpu → cuda), ")
    assert found["cannot tell"].startswith("A step of B is 42.0 ms (87.7 %) shorter")
    assert "`aten._scaled_dot_product_flash_attention_for_cpu" in found["kernels differ"]


def test_a_loss_by_hand_that_breaks_the_graph(
    installation: Opened, fixtures: Path, tmp_path: Path
) -> None:
    """A script captured on a CPU, as it is and with `--slow`; its source is in both captures."""
    with tarfile.open(fixtures / "slow-loss.tar.xz") as files:
        files.extractall(tmp_path, filter="data")
    found = said(installation, tmp_path / "fast", tmp_path / "slow")
    assert found["inputs differ"] == "args (not set → --slow)."
    broken = "train.py:24, `loss.item` in `loss_of`: Unsupported Tensor.item() call"
    assert found["graph break"].startswith(broken)
    assert found["graph break"].endswith(": 0 in A, 1 in B.")
    loss = found["kernels differ"]
    assert "4 new (+67.2 ms), 2 gone (−31.2 ms), 54.6 % of the difference together" in loss
    assert "`cpp_fused_exp_gat…unsqueeze_1` new (`train.py:23`, +47.0 ms)" in loss


def test_a_model_at_two_sizes(installation: Opened, fixtures: Path, tmp_path: Path) -> None:
    larger = shutil.copytree(fixtures / "cuda-foo1", tmp_path / "larger")
    for file in larger.glob("torch_compile_debug/*/torchinductor/*/*"):
        file.write_text(file.read_text().replace("8390", "16780").replace("67120", "134240"))
    found = said(installation, fixtures / "cuda-foo1", larger)
    assert found["inputs differ"] == (
        "arg1_1 of model__0_inference_0.0 (u8[8390, 8] → u8[16780, 8])."
    )
    assert "graphs differ" not in found
    assert "1 changed" in found["kernels differ"]


def test_runs_of_one_name_tell_a_new_level_from_noise(
    installation: Opened, fixtures: Path, tmp_path: Path
) -> None:
    runs = []
    for number, ms in enumerate((0.2, 0.203, 0.198, 0.201, 0.199, 0.24, 0.243, 0.238, 0.241)):
        folder = shutil.copytree(fixtures / "cuda-foo1", tmp_path / str(number))
        facts = json.loads((folder / "result.json").read_text())
        (folder / "result.json").write_text(json.dumps(facts | {"compiled_ms": ms}))
        runs.append(read(installation, folder, "model"))
    found = said_of(installation, runs[3], runs[6])
    assert found["a step"] == "A step of B is 42.0 µs (20.9 %) longer: 201 µs → 243 µs."
    assert found["another level"] == (
        "Among 9 runs of this name, a step changes its level between A and B: "
        "200 µs in 5 runs, 240 µs in 4."
    )
    found = said_of(installation, runs[0], runs[1])
    assert found["the same level"].startswith("Among 9 runs of this name, no change is found")
