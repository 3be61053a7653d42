"""A package extends the tables by entry points: docs/extending.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
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
from inductorscope.answers.runs.diagnosis.diagnose import CHECKS
from inductorscope.formats.log.kinds import is_artifact, meaning, role_of
from inductorscope.formats.vocabulary import STAGES
from inductorscope.intake.sniff import role_of as role_of_file
from inductorscope.settings import Settings
from inductorscope_server.web.app import create_app

data = pathlib.Path(sys.argv[1])
with TestClient(create_app(Settings(data=data, database_url=""), alone=True)) as client:
    client.base_url = "http://127.0.0.1"
    path = "/runs/0123456789abcdef/toys"
    page, twin, markdown = client.get(path), client.get("/api" + path), client.get(path + ".md")
print(json.dumps({
    "stage": STAGES[-1].title, "kind": meaning("toy_tiling"), "role": role_of("toy_tiling"),
    "artifact": is_artifact("toy_note"), "cause": CHECKS[-1].__name__, "fix": catalogue()[-1].title,
    "page": "3 toys" in page.text, "twin": twin.json(), "markdown": "Toys" in markdown.text,
}))
"""


def test_a_package_adds_to_each_table(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEEN, tmp_path],
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
        "cause": "too_many_toys",
        "fix": "Toy",
        "page": True,
        "twin": {"run": "0123456789abcdef", "toys": 3},
        "markdown": True,
    }


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
