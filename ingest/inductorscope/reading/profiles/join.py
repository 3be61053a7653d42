"""Joins profiles of a run to its graphs: which kernel of the code each kernel of a trace is."""

from inductorscope.analyze.time.eager_compiled import Entry, compare
from inductorscope.reading.graphs.graph import GraphRead
from inductorscope.reading.profiles.benchmarks import Benchmarks
from inductorscope.reading.profiles.profiles import (
    EAGER,
    ProfileRead,
    compiled_profile,
    rank_of_profile,
)
from inductorscope.reading.profiles.times import join_times

MOST_OPS = 300


def join_profiles(
    profiles: list[ProfileRead], graphs: list[GraphRead], benchmarks: Benchmarks
) -> None:
    """Gives kernels their times: from the profile of the compiled program, or if there is none,
    from the modules' own benchmarks."""
    whole = compiled_profile(profiles)
    if whole is not None and graphs:
        # Kernels of other ranks have the same names.
        rank = rank_of_profile(whole)
        of_rank = [graph for graph in graphs if rank is not None and graph.source.rank == rank]
        _join(whole, of_rank or graphs, write=True)
    if whole is not None:
        _compare(profiles, whole)
    for profile in profiles:
        if profile.graph is None or profile.trace is None:
            continue
        wall_ms = benchmarks.wall_ms.get(profile.graph)
        if wall_ms is not None:
            profile.facts.wall_ms = wall_ms
        own = [graph for graph in graphs if graph.source.slug == profile.graph]
        if own:
            _join(profile, own, write=whole is None)


def _join(profile: ProfileRead, graphs: list[GraphRead], *, write: bool) -> None:
    assert profile.trace is not None
    orders = profile.kept.orders if profile.kept is not None else []
    joined = join_times(profile.trace, graphs, profile.steps, orders, write=write)
    if profile.kept is not None:
        profile.kept.set_kernels(joined.kernels, joined.cpu_ops)
    facts = profile.facts
    facts.joined_to_code = write
    facts.steps_used, facts.steps_from = joined.steps, joined.steps_from
    facts.kernel_us = joined.kernel_us
    facts.attributed_us, facts.attributed_by = joined.attributed_us, joined.by


def _compare(profiles: list[ProfileRead], compiled: ProfileRead) -> None:
    """Adds to the compiled profile how it differs from the eager one, per step."""
    eager = next((row for row in profiles if row.label == EAGER and row.kept is not None), None)
    if eager is None or compiled.kept is None:
        return
    steps = compiled.steps or compiled.facts.steps_used or 1
    eager_steps = eager.steps or steps
    found = compare(_entries(eager, eager_steps), _entries(compiled, steps))
    found.steps, found.eager_steps = steps, eager_steps
    found.eager_steps_told = eager.steps is not None
    found.on_device = compiled.kept.breakdown.on_device
    found.ops = found.ops[:MOST_OPS]
    compiled.facts.comparison = found


def _entries(profile: ProfileRead, steps: int) -> list[Entry]:
    if profile.kept is None:
        return []
    return [
        Entry(row.name, row.op, row.category, row.calls / steps, row.total_us / steps)
        for row in profile.kept.kernels
    ]
