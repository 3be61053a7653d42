"""Samples of the lines in which a program's thread is."""

import math
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from inductorscope.capturing.script.sampling import Sampler
from inductorscope.formats.capture_facts import LineShare

WORK = """
import time

def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(100))
"""


def sampled(path: str, function: str = "work") -> list[LineShare]:
    """Returns the lines in which work in a file of this path was seen. Few samples, as on a busy
    machine, say nothing: then it works for longer."""
    names: dict[str, Any] = {}
    exec(compile(WORK.replace("work", function), path, "exec"), names)
    for seconds in (0.4, 4.0):
        sampler = Sampler(threading.get_ident(), lambda: 0.0)
        names[function](seconds)
        if lines := sampler.stop():
            return lines
    return []


def test_time_belongs_to_the_innermost_line_of_the_users_files(tmp_path: Path) -> None:
    own = str(tmp_path / "train.py")
    lines = sampled(own)
    # On a busy machine, starting the sampler is seen too.
    assert sum(line.share for line in lines if line.path == own and line.line in (6, 7)) > 0.8
    assert 0.9 < sum(line.share for line in lines) <= 1.0001
    [library, *_] = sampled("/venv/lib/python3.11/site-packages/data/loading.py")
    assert library.path == __file__


@pytest.mark.parametrize(
    ("path", "function", "again"),
    [
        ("torch/utils/data/dataloader.py", "_shutdown_workers", "loader"),
        ("torch/utils/data/dataloader.py", "_next_data", ""),
        ("torch/nn/modules/linear.py", "__init__", "modules"),
        ("torch/nn/modules/linear.py", "forward", ""),
    ],
)
def test_what_a_library_does_again_is_told_by_its_function(
    path: str, function: str, again: str
) -> None:
    lines = sampled(f"/lib/python3.11/site-packages/{path}", function)
    assert lines[0].again == again


def test_time_in_compiled_code_belongs_to_no_line() -> None:
    lines = sampled("/venv/site-packages/torch/_inductor/output_code.py")
    assert {line.path for line in lines} <= {__file__}  # before and after the work
    assert sum(line.share for line in lines) < 0.2


def test_what_happens_between_steps_counts_for_no_line(tmp_path: Path) -> None:
    """The observer of a capture works there, called from the line that ends a step."""
    files = [str(tmp_path / name) for name in ("between.py", "step.py")]
    between, step = dict[str, Any](), dict[str, Any]()
    for names, path in zip((between, step), files, strict=True):
        exec(compile(WORK, path, "exec"), names)
    since = math.inf
    sampler = Sampler(threading.get_ident(), lambda: since)
    between["work"](0.3)
    since = time.perf_counter()
    step["work"](1.0)
    lines = sampler.stop()
    assert {line.path for line in lines} >= {files[1]}
    assert files[0] not in {line.path for line in lines}


def test_few_samples_say_nothing() -> None:
    sampler = Sampler(threading.get_ident(), lambda: 0.0)
    time.sleep(0.03)
    assert sampler.stop() == []
