"""The search for the failing component: each kind of end of a trial is its verdict."""

from pathlib import Path

import pytest
from inductorscope.capturing.permission import permit
from inductorscope.capturing.spec import CaptureSpec

pytestmark = pytest.mark.torch

HURTS = """
import faulthandler, os, signal, time, torch

def segfaults():
    faulthandler.disable()  # which pytest enables
    return lambda x: os.kill(os.getpid(), signal.SIGSEGV), (torch.ones(2),)

def takes_all_memory():
    return lambda x: torch.ones(1 << 40), (torch.ones(2),)

def hangs():
    return lambda x: time.sleep(600), (torch.ones(2),)
"""


@pytest.mark.parametrize(
    ("factory", "seconds", "said"),
    [
        ("segfaults", 60, "was ended by SIGSEGV"),
        ("takes_all_memory", 60, "can't allocate memory"),
        ("hangs", 2, "took longer than 2 s and was stopped"),
    ],
)
def test_each_kind_of_end_is_a_verdict(
    tmp_path: Path, factory: str, seconds: int, said: str
) -> None:
    pytest.importorskip("torch")
    from inductorscope.capturing.inside.diagnose.components.trial import Trial

    (tmp_path / "hurts.py").write_text(HURTS)
    spec = CaptureSpec(model=f"{tmp_path}/hurts.py:{factory}")
    trial = Trial(spec, permit(spec, [], trusted=True), tmp_path / "trials", seconds)
    assert said in trial.reference().said
