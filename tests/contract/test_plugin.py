"""The pytest plugin in a project of real torch."""

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.support.forked import forked
from tests.support.places import FIXTURES

# Only our plugin and those that the test names: the others found here take seconds to import. A
# checkout that was installed before the plugin came does not know its entry point.
INSTALLED = any(point.name == "inductorscope" for point in entry_points(group="pytest11"))
PLUGIN = "inductorscope" if INSTALLED else "inductorscope.testing.plugin"


OPTIONS = ("-q", "--tb=short", "--disable-plugin-autoload", "-p", PLUGIN)


def run_pytest(folder: Path, cache: Path, *words: str) -> tuple[int, str]:
    """In a fork, where torch is imported already."""
    said, variables = folder / "said", {"TORCHINDUCTOR_CACHE_DIR": str(cache)}
    status = forked(lambda: pytest.main([*OPTIONS, *words]), said, folder, variables)
    return status, said.read_text()


@pytest.mark.torch
def test_a_project_locks_its_compiles(tmp_path: Path, cache: Path) -> None:
    tests = tmp_path / "test_small.py"
    shutil.copyfile(FIXTURES / "plugin-project" / "small.py", tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    code, output = run_pytest(tmp_path, cache, "--inductor-update")
    assert code == 1, output
    assert "2 failed, 1 passed" in output
    assert "line 13 of test_small.py in `breaking`" in output
    assert "`x.size(0)` changed 4 → 5" in output
    assert "inductorscope serve --data" in output
    lock = tmp_path / "test_small.inductor.lock"
    assert '"lines 7, 8 of test_small.py → 1 kernel"' in lock.read_text()
    lock.write_text(lock.read_text().replace("kernels = 1", "kernels = 0"))
    code, output = run_pytest(tmp_path, cache, "-k", "test_block")
    assert code == 1, output
    assert "worse: launches of generated kernels: 0 → 1" in output


def test_it_costs_nothing_when_it_is_not_used(tmp_path: Path) -> None:
    """By its users' command, and in the processes of pytest-xdist."""
    test = tmp_path / "test_nothing.py"
    test.write_text(
        "import sys\n\n\ndef test_nothing(pytestconfig):\n"
        "    ours = [name for name in sys.modules if name.startswith('inductorscope')]\n"
        "    assert sorted(ours) == [\n"
        "        'inductorscope', 'inductorscope.testing', 'inductorscope.testing.plugin'\n    ]\n"
        "    assert 'torch' not in sys.modules\n"
        "    assert pytestconfig.getoption('--inductor-update')\n"
    )
    command = [sys.executable, "-m", "pytest", *OPTIONS, "--inductor-update", "-p", "xdist"]
    done = subprocess.run([*command, "-n", "1", str(test)], cwd=tmp_path, check=False)
    assert done.returncode == 0
