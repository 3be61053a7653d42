"""Profiles of a run joined to its graphs: which kernel of the code each kernel of a trace is."""

from __future__ import annotations

from .benchmarks import Benchmarks
from .graph import GraphRead
from .profiles import ProfileRead, compiled_profile
from .times import join_times


def join_profiles(
    profiles: list[ProfileRead], graphs: list[GraphRead], benchmarks: Benchmarks
) -> None:
    """Times of kernels come from the profile of the compiled program; without one, from those that
    modules made of themselves."""
    whole = compiled_profile(profiles)
    if whole is not None and graphs:
        _join(whole, graphs, write=True)
    for profile in profiles:
        if profile.graph is None or profile.trace is None:
            continue
        wall_ms = benchmarks.wall_ms.get(profile.graph)
        if wall_ms is not None:
            profile.facts["wall_ms"] = wall_ms
        own = [graph for graph in graphs if graph.source.slug == profile.graph]
        if own:
            _join(profile, own, write=whole is None)


def _join(profile: ProfileRead, graphs: list[GraphRead], *, write: bool) -> None:
    assert profile.trace is not None
    joined = join_times(profile.trace, graphs, profile.steps, write=write)
    if profile.kept is not None:
        profile.kept.tell(joined.kernels, joined.cpu_ops)
    profile.facts |= {
        "joined_to_code": write,
        "steps_used": joined.steps,
        "steps_from": joined.steps_from,
        "kernel_us": joined.kernel_us,
        "attributed_us": joined.attributed_us,
        "attributed_by": joined.by,
    }
