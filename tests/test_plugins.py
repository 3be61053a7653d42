"""A package extends the tables by entry points: docs/extending.md."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from types import ModuleType

import pytest
from inductorscope import plugins
from inductorscope.plugins import PluginError, added

PLUGIN = Path(__file__).parent / "plugin"
SEEN = """
import json, pathlib, sys
from starlette.testclient import TestClient
from inductorscope.analyze.trial.catalogue import catalogue
from inductorscope.cli.local import read_paths
from inductorscope.formats.log.kinds import is_artifact, meaning, role_of
from inductorscope.formats.vocabulary import STAGES
from inductorscope.progress import silent
from inductorscope.settings import Settings
from toy import causes

def broken(evidence):
    raise ValueError("boom")

def wordless(evidence):
    return "toys"

causes.CHECKS += [broken, wordless]
from inductorscope_server.web.app import create_app

settings = Settings(data=pathlib.Path(sys.argv[1]), database_url="")
run = read_paths(settings, [pathlib.Path(sys.argv[2])], name="", tags=[], origin="ingest",
                 progress=silent).run_id
with TestClient(create_app(settings, alone=True)) as client:
    client.base_url = "http://127.0.0.1"
    path = f"/runs/{run}/toys"
    page, twin, markdown = client.get(path), client.get("/api" + path), client.get(path + ".md")
    nobody = client.get("/runs/0123456789abcdef/toys").status_code
    checks = client.get(f"/api/runs/{run}").json()["diagnosis"]["cleared"]
print(json.dumps({
    "stage": STAGES[-1].title, "kind": meaning("toy_tiling"), "role": role_of("toy_tiling"),
    "artifact": is_artifact("toy_note"), "fix": catalogue()[-1].title,
    "page": "3 toys" in page.text, "twin": twin.json()["toys"], "markdown": "Toys" in markdown.text,
    "nobody": nobody,
    "checks": [check["text"].replace(run, "RUN") for check in checks if "toy" in check["text"]],
}))
"""


def test_a_package_adds_to_each_table(tmp_path: Path, fixtures: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEEN, tmp_path, fixtures / "cuda-foo1"],
        env=os.environ | {"PYTHONPATH": str(PLUGIN)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "stage": "Tiling",
        "kind": "sizes of tiles",
        "role": "tiling",
        "artifact": True,
        "fix": "Toy",
        "page": True,
        "twin": 3,
        "markdown": True,
        "nobody": 404,
        "checks": [
            "Run RUN has no toys.",
            "toy 1.0: the check broken failed: ValueError: boom",
            "toy 1.0: the check wordless failed: TypeError: it returned 'toys'",
        ],
    }
    assert "ValueError: boom" in done.stderr  # with its traceback


@pytest.mark.parametrize("command", [["inductorscope", "serve"], ["inductorscope_server"]])
def test_a_server_says_in_one_line_what_does_not_fit(command: list[str], tmp_path: Path) -> None:
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    (tmp_path / "plugin" / "toy" / "kinds.py").write_text("INDUCTORSCOPE = '0.1'")
    done = subprocess.run(
        [sys.executable, "-m", *command],
        env=os.environ
        | {"PYTHONPATH": str(tmp_path / "plugin"), "INDUCTORSCOPE_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert re.fullmatch(r"toy 1\.0 cannot extend Inductorscope\..*\n", done.stderr)


def test_a_copy_of_the_package_adds_the_same() -> None:
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    (installed,) = distributions(name="toy", path=[str(PLUGIN)])
    assert {(point.group, point.name, point.value) for point in installed.entry_points} == {
        (group, name, value)
        for group, points in project["entry-points"].items()
        for name, value in points.items()
    }
    assert (project["name"], project["version"]) == ("toy", installed.version)
    assert project["dependencies"] == installed.requires


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ({"INDUCTORSCOPE": plugins.VERSION, "KINDS": ["toy"]}, "'toy' in KINDS is not a int."),
        ({"INDUCTORSCOPE": plugins.VERSION}, "KINDS is no list and no tuple."),
        ({"INDUCTORSCOPE": "0.1"}, 'it has INDUCTORSCOPE = "0.1", and "0.2" is needed.'),
        ({}, "it has no INDUCTORSCOPE"),
        (None, "ModuleNotFoundError: No module named 'toy_of_test'."),
    ],
)
def test_what_does_not_fit_is_refused_in_words(
    module: dict[str, object] | None, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("toy", "toy_of_test:KINDS", "inductorscope.kinds")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    if module is not None:
        made = ModuleType("toy_of_test")
        vars(made).update(module)
        monkeypatch.setitem(sys.modules, "toy_of_test", made)
    plugins._modules.cache_clear()
    with pytest.raises(PluginError) as refused:
        added("kinds", int)
    plugins._modules.cache_clear()
    assert refused.value.sentences().startswith("a package cannot extend Inductorscope")
    assert says in refused.value.sentences()
    assert "toy_of_test (inductorscope.kinds)" in refused.value.sentences()
