# mypy: allow-subclassing-any
"""How tests spread over the processes of `make test`: what stays together, and what begins first.

A file is a unit: its tests run one after the other in one process, which makes its fixtures once.
Files that look at the same server are one unit too. Long units begin first, so that only short
ones are left at the end, when there is no more to do for all processes.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

TOGETHER = (
    (
        "reading/test_counts.py", "reading/test_merging.py", "reading/test_streaming_lines.py",
        "reading/test_tlparse.py",
    ),
    (
        "browser/test_explorer.py", "browser/test_explorer_opening.py", "browser/test_beside.py",
        "browser/test_picture.py", "browser/test_search.py", "browser/test_times.py",
        "browser/test_timeline.py", "browser/test_ten_tasks.py", "browser/test_failing_requests.py",
        "browser/test_tutorial.py", "browser/test_explorer_chain.py", "browser/test_screenshots.py",
    ),
    (
        "browser/test_pages.py", "browser/test_compile.py", "browser/test_export.py",
        "browser/test_failures.py", "browser/test_upload.py", "browser/test_explorer_reading.py",
    ),
    (
        "attacks/test_event_streams.py", "attacks/test_parallel_writes.py",
        "attacks/test_slow_readers.py", "attacks/test_idle_connections.py",
        "attacks/test_log_floods.py", "attacks/test_large_bodies.py",
    ),
    (
        "jobs/test_supervisor.py", "jobs/test_hostile_uploads.py", "jobs/test_slow_sender.py",
        "jobs/test_checked_runs.py",
    ),
    (
        "browser/test_play.py", "attacks/test_fork.py", "capture/test_playground.py",
        "attacks/test_two_people.py",
    ),
)  # fmt: skip
"""Files with a fixture in common that takes long: `shared_runs`, a Chromium with the servers it
looks at, the servers that attacks share; tries of the playground, which count as one user's."""

LONGEST = (
    "browser/test_explorer.py",
    "browser/test_pages.py",
    "jobs/test_worker.py",
    "browser/test_play.py",
    "jobs/test_supervisor.py",
    "reading/test_counts.py",
    "jobs/test_benchmark.py",
    "contract/test_regressions.py",
    "attacks/test_event_streams.py",
    "attacks/test_full_disk.py",
    "capture/test_capture.py",
    "capture/test_trials.py",
    "capture/test_api.py",
    "attacks/test_machines_that_die.py",
    "server/pages/test_crawl.py",
    "capture/test_numbers.py",
    "server/web/test_accounts.py",
    "jobs/test_diagnosis.py",
    "contract/test_plugin.py",
    "jobs/test_crash.py",
    "server/api/test_openapi.py",
    "test_cli.py",
    "capture/test_script.py",
    "jobs/test_child.py",
    "jobs/test_relinking.py",
    "analyze/compile/test_story.py",
    "analyze/compile/test_remedies.py",
    "server/pages/test_recompiles.py",
    "test_wheel.py",
    "reading/test_apart.py",
    "server/pages/test_pages.py",
    "store/test_migrate.py",
    "capture/test_minify.py",
    "reading/test_read_run.py",
    "server/web/test_analysis.py",
    "reading/test_streaming.py",
    "store/test_objects.py",
    "fuzz/test_expressions.py",
    "attacks/test_absurd_figures.py",
    "attacks/test_guessing.py",
    "server/pages/test_compile.py",
    "server/pages/test_time.py",
    "correlate/test_annotate.py",
    "capture/test_measure.py",
    "store/test_search.py",
    "fuzz/test_growth.py",
    "analyze/time/test_breakdown.py",
    "correlate/test_truth.py",
    "jobs/test_machines.py",
    "reading/test_compiled.py",
)
"""Units of ten seconds and more, each by its first file, the longest first."""

_UNITS = {f"tests/{file}": f"tests/{files[0]}" for files in TOGETHER for file in files}
_PLACES = {f"tests/{file}": place for place, file in enumerate(LONGEST)}
_ORDER = list(_UNITS)


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
