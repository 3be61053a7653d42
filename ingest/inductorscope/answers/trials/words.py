"""Trials in words."""

from inductorscope.analyze.measure.judge import Judged
from inductorscope.analyze.trial.numerics import Numerics
from inductorscope.analyze.trial.result import Improvement, Structure, Trial, changed_counts
from inductorscope.units import milliseconds, plural, ratio, size_in_bytes
from inductorscope.units import seconds as in_seconds

NAMES = {
    "graphs": "graphs", "breaks": "graph breaks", "recompiles": "recompiles",
    "operations": "operations compiled", "kernels": "kernels", "launches": "launches",
}  # fmt: skip
EQUAL = "results are equal"
LEAST_S = 0.1
"""Shortest difference of compile times that is worth a word."""
LARGE = 1 / 2**20
"""Smallest share of memory that is worth a word."""


def outcome(trial: Trial) -> str:
    """Returns what came of a trial, as a phrase that begins with `tried`."""
    if trial.answer == "running":
        return "being tried"
    if trial.answer in ("no effect", "refused", "failed"):
        said = f"tried: {trial.answer}. {trial.why}"
        return f"{said} {numerics(trial.numerics)}" if trial.answer == "refused" else said
    if trial.judged is None:
        return f"tried: cannot tell. {trial.why}".strip()
    parts = [f"tried: {trial.answer}, {times(trial.judged)}"]
    if trial.numerics is not None:
        parts.append(numerics(trial.numerics))
    return ", ".join(parts)


def times(judged: Judged) -> str:
    """Returns both times, and the interval of the second."""
    low, high = (milliseconds(judged.a_ms * (1 + end)) for end in (judged.low, judged.high))
    arrow = f"{milliseconds(judged.a_ms)} → {milliseconds(judged.b_ms)}"
    return f"{arrow} (95 %: {low} to {high}; {plural(judged.processes, 'process', 'processes')})"


def numerics(found: Numerics | None) -> str:
    if found is None or found.answer == "unknown":
        return f"results not compared: {found.why if found else 'none were recorded.'}"
    if found.answer == "equal":
        return EQUAL
    beside = "eager's" if found.beside_eager else "today's"
    apart = f"results differ from {beside} by {found.error:.1e} of their norm"
    if found.answer == "outside":
        return (
            f"{apart} (`{found.worst}`; without the change {found.before:.1e}, {found.bound:.0e} "
            "allowed)"
        )
    return f"{apart} at most (without the change {found.before:.1e})"


def structure(trial: Trial) -> str:
    """Returns what a change alters in counts, such as `graph breaks 3 → 0`."""
    counts = [f"{NAMES[name]} {before} → {after}" for name, before, after in changed_counts(trial)]
    if trial.before and trial.after and trial.after.cuda_graphs > trial.before.cuda_graphs:
        counts.append("CUDA graphs are replayed")
    return ", ".join(counts)


def costs(before: Structure | None, after: Structure | None) -> str:
    """Returns what compile time and memory become."""
    if before is None or after is None:
        return ""
    parts: list[str] = []
    more = 0.0
    if before.compile_s is not None and after.compile_s is not None:
        more = after.compile_s - before.compile_s
    if abs(more) >= LEAST_S:
        parts.append(f"compile {'+' if more >= 0 else '−'}{in_seconds(abs(more))}")
    if before.peak_bytes and after.peak_bytes:
        more_bytes = after.peak_bytes - before.peak_bytes
        if abs(more_bytes) > before.peak_bytes * LARGE:
            sign = "+" if more_bytes >= 0 else "−"
            parts.append(f"peak memory {sign}{size_in_bytes(abs(more_bytes))}")
    return ", ".join(parts)


def verdict(found: Improvement) -> str:
    """Returns the answer of a search as sentences."""
    judged, tried = found.judged, found.trials
    without = sum(trial.answer == "no effect" for trial in tried)
    counted = f"{plural(len(tried), 'change was', 'changes were')} tried"
    counted += f", {without} without effect" if without else ""
    if found.gain <= 1.0 or judged is None:
        ended = f" {found.stopped}" if found.stopped else ""
        so_far = "No change makes it faster" if found.complete else "None so far"
        so_far = "No change is known to make it faster" if found.stopped else so_far
        return f"{so_far}: {counted}.{ended}"
    low, high = 1 / (1 + judged.high), 1 / (1 + judged.low)
    said = f"{ratio(found.gain)} (95 %: {low:.2f} to {high:.2f}) over the program as it is: "
    said += f"{' and '.join(found.kept)}; {counted}"
    payback = found.payback_steps
    more = costs(found.before, found.after)
    said += f"; {more}" if more else ""
    said += f", pays back after {plural(payback, 'step')}" if payback else ""
    return f"{said}. The {numerics(found.numerics)}." + (
        f" {found.stopped}" if found.stopped else ""
    )
