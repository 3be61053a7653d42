"""The tabs of a run: which have nothing to show, and what would fill them."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.facts import ProfileFacts
from inductorscope.answers.explorer.benchmark import is_captured_here
from inductorscope.store.database.once import once
from inductorscope.store.runs.compile_story import STORY
from inductorscope.store.tables.models import READING, CompileStory, Profile, Run

GRAPHS = "No compiled graph in this run: add the folder that TORCH_COMPILE_DEBUG=1 writes."
KERNELS = "No kernel in this run: add the folder that TORCH_COMPILE_DEBUG=1 writes, or a GPU trace."
TIMES = "No times in this run: add a trace that torch.profiler exported."
COMPILES = "No compile in this run: add the folder that TORCH_TRACE=folder writes."
NOTHING_FAILED = "Nothing failed in this run."


class RunTabs(msgspec.Struct, frozen=True):
    """What the navigation of a run says about its tabs."""

    lacks: dict[str, str] = {}
    """Title of a tab with nothing to show → which file would fill it. Empty while the run is being
    read, since more may come."""
    ranks: int = 0
    failed: bool = False
    reading: bool = False


@once
def run_tabs(session: Session, run_id: str) -> RunTabs:
    run = session.get(Run, run_id)
    if run is None or run.state == READING:
        return RunTabs(reading=run is not None)
    profiles = list(session.scalars(select(Profile.facts).where(Profile.run_id == run_id)))
    on_device = any(profile.breakdown and profile.breakdown.on_device for profile in profiles)
    story = CompileStory.run_id == run_id, CompileStory.part == STORY, CompileStory.count > 0
    compiles = session.scalar(select(CompileStory.count).where(*story))
    lacks = {
        "Explorer": "" if run.graph_count else GRAPHS,
        "Kernels": "" if run.graph_count or on_device else KERNELS,
        "Time": "" if profiles or run.timings else TIMES,
        "Memory": "" if run.graph_count else GRAPHS,
        "Compiling": "" if compiles else COMPILES,
        "Failures": "" if run.failure or is_captured_here(run) else NOTHING_FAILED,
    }
    return RunTabs(
        lacks={tab: why for tab, why in lacks.items() if why},
        ranks=_ranks(run, profiles),
        failed=run.failure is not None,
    )


def _ranks(run: Run, profiles: list[ProfileFacts]) -> int:
    """Returns the number of ranks in the logs, or in the traces if these have more."""
    logged = {rank for log in run.report.logs for rank in log.ranks}
    calls = [profile.collectives for profile in profiles if profile.collectives is not None]
    return max(len(logged), len({call.rank for call in calls}))
