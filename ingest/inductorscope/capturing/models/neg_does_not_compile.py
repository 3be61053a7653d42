"""The tutorial's compile error: `neg` loses its cast, and the C++ compiler rejects the kernel."""

from typing import Any

from inductorscope.capturing.faults import neg_does_not_compile
from inductorscope.capturing.models import neg_maximum_cat


def make(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    neg_does_not_compile.install()
    return neg_maximum_cat.make()
