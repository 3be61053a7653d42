# mypy: allow-subclassing-any
"""How tests spread over the processes of `make test`: what stays together, and what begins first.

A file is a unit: its tests run one after the other in one process, which makes its fixtures once.
Files that look at the same server are one unit too. Long units begin first, so that only short
ones are left at the end, when there is no more to do for all processes.
"""

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
        "browser/test_timeline.py", "browser/test_tasks.py", "browser/test_failing_requests.py",
        "browser/test_tutorial.py", "browser/test_explorer_chain.py", "browser/test_screenshots.py",
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
    ),
)  # fmt: skip
"""Files with something in common that takes long: `shared_runs`, a Chromium with the servers it
looks at, the servers that attacks share; tries of the playground, which count as one user's; torch,
which their process imports, and with which nothing was compiled yet where the first three fork."""

LONGEST = (
    "browser/test_pages.py",
    "browser/test_play.py",
    "contract/test_regressions.py",
    "browser/test_explorer.py",
    "jobs/test_supervisor.py",
    "jobs/test_worker.py",
    "reading/test_counts.py",
    "attacks/test_heavy_texts.py",
    "capture/test_capture.py",
    "server/pages/test_crawl.py",
    "capture/test_script.py",
    "server/web/test_accounts.py",
    "attacks/test_full_disk.py",
    "survey/test_survey.py",
    "jobs/test_bisecting.py",
    "attacks/test_machines_that_die.py",
    "jobs/test_relinking.py",
    "test_wheel.py",
    "server/web/test_analysis.py",
    "store/test_objects.py",
    "test_cli.py",
    "contract/test_action.py",
    "server/pages/test_compile.py",
    "reading/test_streaming.py",
    "server/pages/test_time.py",
    "correlate/test_truth.py",
    "server/api/test_openapi.py",
    "fuzz/test_expressions.py",
    "fuzz/test_growth.py",
    "jobs/test_crash.py",
    "attacks/test_absurd_figures.py",
    "reading/test_read_run.py",
    "reading/test_compiled.py",
    "jobs/test_child.py",
    "fuzz/test_linear_work.py",
    "attacks/test_guessing.py",
    "store/test_search.py",
    "store/test_migrate.py",
    "server/pages/test_pages.py",
    "server/pages/test_compare_pairs.py",
    "capture/test_rewritten.py",
    "server/pages/test_sql.py",
    "reading/test_apart.py",
    "store/test_queries.py",
    "server/serving/test_agents.py",
    "server/pages/test_log.py",
    "formats/test_secrets.py",
    "test_arrow.py",
    "analyze/time/test_breakdown.py",
    "reading/test_log_graphs.py",
    "jobs/test_machines.py",
    "server/serving/test_tracing.py",
    "store/test_search_file.py",
    "fuzz/test_border.py",
)
"""Units of ten seconds and more, each by its first file, the longest first."""

WITH_SERVERS = {
    f"tests/{files[0]}" for files in TOGETHER if files[0].startswith(("attacks", "browser", "jobs"))
}
"""Units whose fixtures of a session nobody needs after them."""

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
