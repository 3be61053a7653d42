# mypy: allow-subclassing-any
"""How tests spread over the processes of `make test`: what stays together, and what begins first.

A file is a unit: its tests run one after the other in one process, which makes its fixtures once.
Files that look at the same server are one unit too. Long units begin first, so that only short
ones are left at the end, when there is no more to do for all processes.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

BEGIN_FIRST_S, NOTED_S = 10, 2
TOGETHER = (
    (
        "reading/test_counts.py", "reading/test_merging.py", "reading/test_streaming_lines.py",
        "reading/test_tlparse.py",
    ),
    (
        "browser/test_explorer.py", "browser/test_explorer_opening.py", "browser/test_beside.py",
        "browser/test_picture.py", "browser/test_search.py", "browser/test_times.py",
        "browser/test_timeline.py", "browser/test_tasks.py", "browser/test_failing_requests.py",
        "browser/test_tutorial.py", "browser/test_explorer_chain.py", "browser/test_judging.py",
        "browser/test_screenshots.py",
    ),
    (
        "browser/test_pages.py", "browser/test_compile.py", "browser/test_export.py",
        "browser/test_failures.py", "browser/test_upload.py", "browser/test_explorer_reading.py",
    ),
    (
        "attacks/test_heavy_texts.py", "attacks/test_event_streams.py",
        "attacks/test_parallel_writes.py", "attacks/test_slow_readers.py",
        "attacks/test_idle_connections.py", "attacks/test_log_floods.py",
        "attacks/test_large_bodies.py",
    ),
    (
        "jobs/test_supervisor.py", "jobs/test_hostile_uploads.py", "jobs/test_slow_sender.py",
        "jobs/test_checked_runs.py", "jobs/test_diagnosis.py", "capture/test_api.py",
    ),
    (
        "browser/test_play.py", "attacks/test_fork.py", "capture/test_playground.py",
        "attacks/test_two_people.py",
    ),
    (
        "contract/test_regressions.py", "contract/test_plugin.py",
        "server/pages/test_recompiles.py",
        "analyze/compile/test_remedies.py", "capture/test_numbers.py", "capture/test_trials.py",
        "jobs/test_benchmark.py", "capture/test_minify.py", "capture/test_components.py",
        "capture/test_measure.py", "correlate/test_annotate.py", "capture/test_options.py",
        "analyze/test_bytes.py", "analyze/test_blame.py", "analyze/compile/test_branches.py",
        "formats/graph/test_fx.py", "formats/code/test_wrapper_lines.py",
        "test_public.py", "capture/test_wasted.py", "capture/test_pieces.py",
        "capture/test_judging.py",
    ),
)  # fmt: skip
"""Files with something in common that takes long: `shared_runs`, a Chromium with the servers it
looks at, the servers that attacks share; tries of the playground, which count as one user's; torch,
which their process imports, and with which nothing was compiled yet where the first three fork."""

WITH_SERVERS = {
    f"tests/{files[0]}" for files in TOGETHER if files[0].startswith(("attacks", "browser", "jobs"))
}
"""Units whose fixtures of a session nobody needs after them."""

SECONDS = Path(__file__).with_name("seconds.json")
"""Seconds of each file that takes two or more: `make test PYTEST_ARGS=--write-seconds`."""

_UNITS = {f"tests/{file}": f"tests/{files[0]}" for files in TOGETHER for file in files}
_ORDER = list(_UNITS)


def longest(seconds: Mapping[str, int]) -> list[str]:
    """Units of ten seconds and more, each by its first file, the longest first."""
    units = Counter[str]()
    for file, took in seconds.items():
        units[_UNITS.get(f"tests/{file}", f"tests/{file}")] += took
    return [unit for unit, took in units.most_common() if took >= BEGIN_FIRST_S]


LONGEST = longest(json.loads(SECONDS.read_text()))
_PLACES = {file: place for place, file in enumerate(LONGEST)}


def write_seconds(reports: Iterable[pytest.TestReport]) -> None:
    """Notes how long each file took that ran, with its fixtures."""
    took: dict[str, float] = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    ran: dict[str, float] = defaultdict(float)
    for report in reports:
        ran[report.nodeid.partition("::")[0].removeprefix("tests/")] += report.duration
    noted = {file: round(seconds) for file, seconds in (took | ran).items() if seconds >= NOTED_S}
    SECONDS.write_text(json.dumps(noted, indent=1, sort_keys=True) + "\n")


def unit(nodeid: str) -> str:
    """Of a test, by its name."""
    file = nodeid.partition("::")[0]
    return _UNITS.get(file, file)


def place(nodeid: str) -> tuple[int, int]:
    """To sort tests by: units in the order they begin, and the files of a unit one by one."""
    file = nodeid.partition("::")[0]
    within = _ORDER.index(file) if file in _UNITS else 0
    return _PLACES.get(unit(nodeid), len(LONGEST)), within


class Spreading(LoadScopeScheduling):
    """Hands out units as late as can be: who has a long one before it gets nothing besides."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        # A process begins a test when it knows the next one, so one more is given with the last.
        if node.shutting_down or not self.workqueue:
            super()._reschedule(node)
        elif self._pending_of(self.assigned_work[node]) <= 1:
            self._assign_work_unit(node)
