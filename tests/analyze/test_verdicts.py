"""What is said of a run ahead of its numbers."""

import pytest
from inductorscope.analyze.verdicts import Busy, Facts, verdicts
from inductorscope.units import THIN
from msgspec.structs import replace

FACTS = Facts(None, 20.0, 10.0, 0, 0, 0)


def plain(text: str) -> str:
    return text.replace(THIN, " ")


def labels(facts: Facts) -> list[tuple[str, str]]:
    return [(verdict.level, verdict.label) for verdict in verdicts(facts)]


def test_a_profile_that_agrees_with_the_timings_is_not_spoken_of() -> None:
    for kernel_us in (None, 9_000.0, 29_000.0):
        told = labels(replace(FACTS, kernel_us=kernel_us))
        assert told == [("good", "faster"), ("good", "no breaks")]


def test_kernels_that_take_longer_than_their_step_are() -> None:
    found = verdicts(replace(FACTS, eager_ms=0.0139, compiled_ms=0.0292, kernel_us=7_470.0))
    (warned,) = [verdict for verdict in found if verdict.level == "warn"]
    assert warned.label == "profile slowed down"
    assert plain(warned.text).startswith(
        "Kernels of a profiled step took 7.47 ms, but a timed step takes only 29.2 µs:"
    )


def test_steps_without_compiled_code_are_not_called_faster() -> None:
    assert labels(replace(FACTS, uncompiled=True))[0] == ("warn", "runs uncompiled")


def test_a_disturbed_run_is_not_called_slow_nor_fast_unless_its_times_lie_apart() -> None:
    slow = replace(FACTS, compiled_ms=154.0)
    assert labels(slow)[0] == ("bad", "slower than eager")
    assert labels(replace(slow, disturbed=True))[0] == ("warn", "disturbed")
    wide = replace(FACTS, eager_spread=(60.0, 300.0), compiled_spread=(10.0, 70.0))
    assert labels(wide)[0] == ("good", "faster")
    assert labels(replace(wide, disturbed=True))[0] == ("warn", "disturbed")
    apart = replace(wide, compiled_spread=(10.0, 50.0), disturbed=True)
    assert labels(apart)[0] == ("good", "faster")


@pytest.mark.parametrize("compiled", [None, 0.0])
def test_without_timings_nothing_is_compared(compiled: float | None) -> None:
    facts = replace(FACTS, compiled_ms=compiled, kernel_us=7_470.0)
    assert "profile slowed down" not in [label for _, label in labels(facts)]


def test_a_trace_says_how_busy_the_device_was_if_nothing_was_timed() -> None:
    facts = replace(FACTS, eager_ms=None, graph_breaks=None, recompiles=None)
    assert labels(facts) == [("note", "no timings")]
    device, thread = Busy(True, 250.0, 1000.0), Busy(False, 1.0, 1000.0)
    (said,) = verdicts(replace(facts, busy=device))
    assert (said.level, said.label) == ("fact", "device 25.0\u202f% busy")
    assert plain(said.text) == "The device had work for 250 µs of the trace's 1.00 ms."
    assert labels(replace(facts, busy=thread)) == [("fact", "thread 0.1\u202f% busy")]
    assert labels(replace(FACTS, busy=device)) == [("good", "faster"), ("good", "no breaks")]


def test_timings_whose_runs_overlap_show_no_difference() -> None:
    slower = replace(FACTS, eager_ms=11.8, compiled_ms=12.0)
    apart = replace(slower, eager_spread=(11.7, 11.9), compiled_spread=(11.95, 12.1))
    assert labels(apart)[0] == ("note", "as fast as eager")
    for eager, compiled in ((11.8, 12.0), (13.0, 9.0), (9.0, 13.0)):
        wide = replace(
            FACTS, eager_ms=eager, compiled_ms=compiled, eager_spread=(8.0, 17.0),
            compiled_spread=(8.5, 16.0),
        )  # fmt: skip
        assert labels(wide)[0] == ("note", "no difference measured")
    (first, *_) = verdicts(wide)
    assert "13.0 ms compiled (8.50 ms to 16.0 ms)" in plain(first.text)


def test_a_program_that_compiled_nothing_says_so_and_compares_nothing() -> None:
    told = labels(replace(FACTS, nothing_compiled=True, graph_breaks=None, recompiles=None))
    assert told == [("warn", "nothing compiled")]
