"""The tutorial's accuracy problem: `neg` doubles, so eager and compiled give different numbers."""

from typing import Any

import torch

from inductorscope.capturing.faults import neg_doubles
from inductorscope.capturing.models.neg_maximum_cat import foo1


def make(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    neg_doubles.install()
    return foo1, (torch.randn((1, 8)), torch.randn((8390, 8)))
