"""The wheel, in an empty environment without torch and without Node, reads and serves."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

from tests.support.serving import serve

ROOT = Path(__file__).resolve().parent.parent


PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def built(source: Path, place: Path, *targets: str) -> Path:
    """Builds a source tree; returns its wheel."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(place), *targets]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = place.glob("inductorscope-*.whl")
    return wheel


def get(address: str) -> httpx.Response:
    return httpx.get(address, timeout=60)  # what the server imports is not compiled yet


def contents(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as packed:
        return {item.filename: item.CRC for item in packed.infolist()}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment that holds the wheel and what it says it needs, nothing else."""
    place = tmp_path_factory.mktemp("wheel")
    wheel = built(ROOT, place)  # and an archive of sources
    (archive,) = place.glob("inductorscope-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    unpacked = place / archive.name.removesuffix(".tar.gz")
    # The bundle of these sources is there already; from others, it would be made again.
    shutil.copytree(ROOT / "frontend" / "dist", unpacked / "frontend" / "dist")
    assert contents(built(unpacked, place / "again", "-t", "wheel")) == contents(wheel)
    venv.create(place / "venv")
    python = place / "venv" / "bin" / "python"
    install = ["install", "--no-compile", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*PIP, "--python", str(python), *install], check=True)
    (packages,) = (place / "venv").glob("lib/*/site-packages")
    (installed,) = Distribution.discover(name="inductorscope", path=[str(packages)])
    known: dict[str, Distribution] = {}
    collect(installed, set(), known)
    for package in known.values():
        link(package, packages)
    return python


def collect(package: Distribution, extras: set[str], known: dict[str, Distribution]) -> None:
    """What a package says that it needs, as it is installed here."""
    for text in package.requires or []:
        needed = Requirement(text)
        asked = needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if asked and str(needed) not in known:
            known[str(needed)] = distribution(needed.name)
            collect(known[str(needed)], needed.extras, known)


def link(package: Distribution, packages: Path) -> None:
    """Puts a package into an environment, compiled as it is: installing all again takes half a
    minute."""
    for file in package.files or []:
        place = packages / file
        if ".." not in file.parts and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(file.locate())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_reads_and_serves(python: Path, fixtures: Path, tmp_path: Path) -> None:
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    (packages,) = python.parents[1].glob("lib/*/site-packages")
    names = {package.name for package in Distribution.discover(path=[str(packages)])}
    assert "inductorscope" in names
    assert "torch" not in names
    data = tmp_path / "data"
    command = [str(python), "-m", "inductorscope", "ingest", "--json", "--data", str(data)]
    done = subprocess.run(
        [*command, str(fixtures / "cuda-foo1")],
        capture_output=True,
        text=True,
        check=True,
        env=bare,
        cwd=tmp_path,
    )
    run = json.loads(done.stdout)["run"]
    unset = dict.fromkeys(("PYTHONPATH", "VIRTUAL_ENV"), "")
    env = {**unset, "PATH": bare["PATH"]}
    with serve(data, "--workers", "0", env=env, python=str(python)) as served:
        page = get(f"{served.url}/runs/{run}").text
        assert "cuda-foo1" in page
        explorer = get(f"{served.url}/runs/{run}/graphs/model__0_inference_0.0").text
        assets = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', explorer))
        assert {address.partition(".")[2].partition("?")[0] for address in assets} >= {"js", "css"}
        assert "# Inductorscope for coding agents" in get(f"{served.url}/docs/agents.md").text
        for address in assets:
            assert get(served.url + address).status_code == 200, address
