"""A quantity reads the same wherever it stands: pages format in Python and in the browser."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from inductorscope import units

from tests.support.bundled import answer, bundled


def test_pages_and_scripts_format_figures_alike(tmp_path: Path) -> None:
    chosen = random.Random(1)
    values = [10 ** chosen.uniform(-5, 13) for _ in range(3000)]
    values += [chosen.random() for _ in range(300)] + [0, 1, 0.9999, 999.6, 1023, 120e6, 157_300]
    shown = answer(bundled("formatted", tmp_path), values)
    for value, texts in zip(values, shown, strict=True):
        expected = [units.microseconds(value), units.size_in_bytes(value), units.percent(value)]
        assert texts[:2] == expected[:2], value
        assert value > 1 or texts[2] == expected[2], value  # larger ones are no share
        assert texts[3] == units.bandwidth(value), value
        assert texts[5] == units.spread([value, 20, 30]), value


def test_pages_and_scripts_say_alike_how_long_ago(tmp_path: Path) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    passed = [-5, 0, 59, 60, 3599, 3600, *(86_400 * days for days in (1, 2, 13, 14, 59, 60, 800))]
    shown = answer(bundled("formatted", tmp_path), passed)
    for seconds, texts in zip(passed, shown, strict=True):
        assert texts[4] == units.age(now - timedelta(seconds=seconds), now), seconds
